# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""list_bundle.py FILE: target and format of every image of a bundle, read by the layout in launch_info.h."""

import pathlib
import struct
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
magic, major, minor, count, offset, size, total = struct.unpack_from("<8sHHIIIQ", data)
assert magic == b"SPRCBNDL" and (major, minor) == (1, 0) and total == len(data)
for entry in range(count):
    target, form, _, start, length, info_start, info_length = struct.unpack_from("<64sIIQQQQ", data,
                                                                                 offset + entry * size)
    image = data[start:start + length]
    if form == 1:
        assert image.startswith(b"\x7fELF")
    else:
        assert b".version" in image and image.endswith(b"\0")
        assert data[info_start:info_start + info_length].startswith(b"SPRCINFO")
    print(target.rstrip(b"\0").decode(), {1: "ELF", 2: "PTX"}[form])
