"""Runs a command on a terminal of its own: terminal.py ANSWERS COMMAND…

ANSWERS is a JSON list; each is typed when a prompt waits, and Enter behind it unless it ends with Ctrl-C. Prints all
that the terminal showed, says on standard error whether it shows what is typed afterwards, and ends as the command did,
with 128 and the number of the signal if one ended it.
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
        # The command has ended, and its terminal with it.
        break
    if shown.endswith(b": ") and answers:
        answer = answers.pop(0)
        os.write(terminal, answer if answer.endswith(CONTROL_C) else answer + b"\n")
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
echoes = termios.tcgetattr(terminal)[3] & termios.ECHO
print(shown.decode(), end="")
print("the terminal shows what is typed" if echoes else "the terminal is left silent", file=sys.stderr)
sys.exit(code if code >= 0 else 128 - code)
