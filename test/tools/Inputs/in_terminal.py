# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""in_terminal.py TEXT FILE COMMAND...: runs a command in a terminal and prints all that it writes, with a line for
every return of the cursor. Makes FILE when the command has written TEXT; fails if the command ends without TEXT."""

import os
import pty
import sys

text, file, *command = sys.argv[1:]
process, terminal = pty.fork()
if process == 0:
    os.execvp(command[0], command)
written = ""
while True:
    try:
        part = os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        part = b""
    if not part:
        break
    written += part.decode()
    if text in written and not os.path.exists(file):
        open(file, "w").close()
os.waitpid(process, 0)
print(written.replace("\r\n", "\n").replace("\r", "\n").replace("\033[K", "<erased>"))
sys.exit(0 if text in written else f"expected '{text}'")
