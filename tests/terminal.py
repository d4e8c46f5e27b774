"""Runs a command on a terminal of its own: terminal.py ANSWERS COMMAND…

ANSWERS is a JSON list; each is typed when a prompt waits. Prints all that the terminal showed, and ends as the
command did.
"""

import json
import os
import pty
import sys

answers = json.loads(sys.argv[1])
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
        os.write(terminal, answers.pop(0).encode() + b"\n")
print(shown.decode(), end="")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
