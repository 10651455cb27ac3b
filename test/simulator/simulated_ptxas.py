#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for ptxas where the simulator is to run the file: writes a cubin without machine code, which holds the
launch info and, in a section of its own, the PTX. SPARSEC_PTXAS names this program. It assembles nothing, so that
kernels for the simulator compile in a fraction of the time, and without the CUDA toolkit."""
import pathlib
import re
import struct
import sys

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
CUDA_MACHINE = 190
LAUNCH_INFO = "sparsec_launch_info"
PTX_SECTION = ".sparsec.ptx"
DEFAULT_REGISTERS = 32


def launch_info_of(ptx):
    """The bytes of the launch info, which are a constant of the PTX."""
    match = re.search(rf"{LAUNCH_INFO}\[(\d+)\] = {{([0-9, ]*)}};", ptx)
    if not match:
        sys.exit(f"simulated ptxas: the PTX has no {LAUNCH_INFO}")
    return bytes(map(int, match[2].split(","))).ljust(int(match[1]), b"\0")


class Names:
    """A table of strings."""

    def __init__(self):
        self.bytes = b"\0"

    def add(self, name):
        self.bytes += name.encode() + b"\0"
        return len(self.bytes) - len(name) - 1


def cubin_of(ptx):
    names = Names()
    launch_info = launch_info_of(ptx)
    # A null symbol, and the launch info at the start of section 1.
    symbols = SYMBOL.pack(0, 0, 0, 0, 0, 0) + SYMBOL.pack(names.add(LAUNCH_INFO), 0x11, 0, 1, 0, len(launch_info))
    contents = [(".nv.global.init", PROGBITS, launch_info, 0, 0), (PTX_SECTION, PROGBITS, ptx.encode(), 0, 0),
                (".symtab", SYMTAB, symbols, 4, SYMBOL.size)]
    places = [names.add(name) for name, *_ in contents] + [names.add(".strtab")]
    contents.append((".strtab", STRTAB, names.bytes, 0, 0))
    data, table = bytearray(HEADER.size), SECTION.pack(*[0] * 10)
    for place, (_, kind, content, link, entry) in zip(places, contents):
        data.extend(bytes(-len(data) % 16))
        table += SECTION.pack(place, kind, 0, 0, len(data), len(content), link, 1 if kind == SYMTAB else 0, 16, entry)
        data.extend(content)
    data.extend(bytes(-len(data) % 16))
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    HEADER.pack_into(data, 0, ident, 2, CUDA_MACHINE, 1, 0, 0, len(data), 0, HEADER.size, 0, 0, SECTION.size,
                     len(contents) + 1, len(contents))
    return bytes(data) + table


def report(ptx, chip):
    """What the compiler reads of ptxas: the registers of each kernel, here as many as its PTX allows."""
    for kernel in re.finditer(r"\.entry (\S+?)\((.*?)\{", ptx, re.DOTALL):
        limit = re.search(r"\.maxnreg (\d+)", kernel[2])
        registers = limit[1] if limit else DEFAULT_REGISTERS
        print(f"ptxas info    : Compiling entry function '{kernel[1]}' for '{chip}'\n"
              "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
              f"ptxas info    : Used {registers} registers, 0 bytes smem", file=sys.stderr)


def main(arguments):
    source = pathlib.Path(next(argument for argument in arguments if argument.endswith(".ptx")))
    chip = next(argument for argument in arguments if argument.startswith("-arch=")).removeprefix("-arch=")
    ptx = source.read_text()
    pathlib.Path(arguments[arguments.index("-o") + 1]).write_bytes(cubin_of(ptx))
    report(ptx, chip)


if __name__ == "__main__":
    main(sys.argv[1:])
