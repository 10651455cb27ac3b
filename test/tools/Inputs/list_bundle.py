# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""list_bundle.py FILE: target and format of every image of a bundle, read by the layout in launch_info.h; checks all
checksums.
"""

import pathlib
import struct
import sys
import zlib


def crc_without(data, begin, end):
    """CRC-32 of data in which the bytes [begin, end) count as zero."""
    return zlib.crc32(data[:begin] + bytes(end - begin) + data[end:])


def check_launch_info(info, image_checksum):
    total, in_info, of_info = struct.unpack_from("<12x3I", info)
    assert in_info == image_checksum
    assert of_info == crc_without(info[:total], 20, 24)


data = pathlib.Path(sys.argv[1]).read_bytes()
magic, major, minor, count, offset, size, total, checksum = struct.unpack_from("<8sHHIIIQI", data)
assert magic == b"SPRCBNDL" and (major, minor) == (2, 0) and total == len(data)
assert checksum == crc_without(data, 32, 36)
for entry in range(count):
    target, form, _, start, length, info_start, info_length = struct.unpack_from("<64sIIQQQQ", data,
                                                                                 offset + entry * size)
    image = data[start:start + length]
    if form == 1:
        assert image.startswith(b"\x7fELF")
        place = image.index(b"SPRCINFO")
        check_launch_info(image[place:], crc_without(image, place + 16, place + 24))
    else:
        assert b".version" in image and image.endswith(b"\0")
        assert data[info_start:info_start + info_length].startswith(b"SPRCINFO")
        check_launch_info(data[info_start:info_start + info_length], zlib.crc32(image))
    print(target.rstrip(b"\0").decode(), {1: "ELF", 2: "PTX"}[form])
