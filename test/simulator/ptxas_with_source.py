#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ptxas and adds the PTX to its cubin, as a section that a GPU does not load and the simulator executes.

SPARSEC_PTXAS names this program for a compiler whose files the simulator is to run. SPARSEC_SIMULATOR_PTXAS names the
real ptxas (default: ptxas on the PATH)."""
import os
import pathlib
import struct
import subprocess
import sys

SECTION = b".sparsec.ptx"
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
PROGBITS = 1


def with_section(cubin, content):
    """The ELF file with one section more. Its table of sections and their names move to the end."""
    header = list(HEADER.unpack_from(cubin))
    table, count, names_index = header[6], header[12], header[13]
    sections = [list(SECTION_HEADER.unpack_from(cubin, table + i * SECTION_HEADER.size)) for i in range(count)]
    _, _, _, _, names_offset, names_size = sections[names_index][:6]
    names = cubin[names_offset:names_offset + names_size]
    out = bytearray(cubin)

    def append(data):
        out.extend(bytes(-len(out) % 16))
        offset = len(out)
        out.extend(data)
        return offset

    sections.append([len(names), PROGBITS, 0, 0, append(content), len(content), 0, 0, 1, 0])
    names += SECTION + b"\0"
    sections[names_index][4:6] = append(names), len(names)
    header[6], header[12] = append(b"".join(SECTION_HEADER.pack(*section) for section in sections)), len(sections)
    HEADER.pack_into(out, 0, *header)
    return bytes(out)


def main(arguments):
    ptxas = os.environ.get("SPARSEC_SIMULATOR_PTXAS", "ptxas")
    code = subprocess.run([ptxas, *arguments], check=False).returncode
    if code != 0 or "-o" not in arguments:
        return code
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    source = next(pathlib.Path(argument) for argument in arguments if argument.endswith(".ptx"))
    output.write_bytes(with_section(output.read_bytes(), source.read_bytes()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
