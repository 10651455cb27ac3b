# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""block_states.py FILE.npy TYPE SHAPE STATE...: writes the states of blocks as a NumPy array, without NumPy."""

import sys

path, dtype, shape, *states = sys.argv[1:]
header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape},), }}\n".encode()
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(map(int, states)))
