# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of results: SVG files, and PNG files that tell which SVG they were drawn from. PNG needs cairosvg."""

import hashlib
import struct
import zlib
from pathlib import Path

PNG_KEY = b"source-sha256"


def png_with_source(png: bytes, svg: str) -> bytes:
    """A PNG file that tells the SHA-256 of the picture that it was drawn from, in a text chunk behind its header."""
    body = b"tEXt" + PNG_KEY + b"\0" + hashlib.sha256(svg.encode()).hexdigest().encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = 8 + 4 + 4 + 13 + 4  # the signature and the header
    return png[:end] + chunk + png[end:]


def source_of_png(png: bytes) -> str:
    """The SHA-256 of the picture that a PNG file was drawn from, or nothing."""
    _, _, rest = png.partition(b"tEXt" + PNG_KEY + b"\0")
    return rest[:64].decode()


def write(folder: Path, name: str, svg: str, *, draw_png: bool) -> None:
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    if draw_png:
        import cairosvg

        png = cairosvg.svg2png(svg.encode(), scale=2)
        (folder / f"{name}.png").write_bytes(png_with_source(png, svg))
