# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""send_signal.py SIGNAL COMMAND...: sends a signal to a command that reads its standard input, and exits as it does."""

import signal
import subprocess
import sys

process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
# More than a pipe holds: the write returns once the command has read some of it, and waits for the rest.
process.stdin.write(b"\n" * (1 << 20))
process.stdin.flush()
process.send_signal(getattr(signal, sys.argv[1]))
code = process.wait()
sys.exit(f"ended by signal {-code}" if code < 0 else code)
