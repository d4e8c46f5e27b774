"""Runs a command on a pseudo-terminal: terminal.py ANSWERS COMMAND…

ANSWERS is a JSON list. Each answer is typed at a prompt, followed by Enter unless it ends with Ctrl-C. Prints the
terminal's output, reports on standard error whether the terminal echoes input afterwards, and exits with the command's
exit code, or 128 plus the signal that ended it.
"""

import json
import os
import pty
import sys
import termios

CONTROL_C = b"\x03"

answers = [answer.encode() for answer in json.loads(sys.argv[1])]
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = b""
while True:
    try:
        shown += os.read(terminal, 1024)
    except OSError:
        # The command has ended.
        break
    if shown.endswith(b": ") and answers:
        answer = answers.pop(0)
        os.write(terminal, answer if answer.endswith(CONTROL_C) else answer + b"\n")
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
echoes = termios.tcgetattr(terminal)[3] & termios.ECHO
print(shown.decode(), end="")
print("the terminal echoes input" if echoes else "the terminal does not echo input", file=sys.stderr)
sys.exit(code if code >= 0 else 128 - code)
