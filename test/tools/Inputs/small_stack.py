# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""small_stack.py BYTES COMMAND...: runs a command on a stack of this size."""

import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_STACK, (int(sys.argv[1]), int(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
