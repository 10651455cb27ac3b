#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a C header with its comments in the form that Doxygen reads.

The headers have plain comments. A comment behind code on its line belongs to that code, any other one to the
declaration below it. A banner, `---- Launch ----`, begins a section, which becomes a group of Doxygen.
"""

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
BANNER = re.compile(r"\s*-{4} (.+?) -{4,}\s*")
NO_DOCUMENT = re.compile(r"\s*(?:SPDX-|NOLINT)")


def group_of(header, title):
    """The name of the group of a section."""
    return f"{Path(header).stem}_{re.sub(r'[^a-z0-9]+', '_', title.lower()).strip('_')}"


def sections(text):
    """The titles of a header's sections, in their order."""
    return [match[1] for comment in COMMENT.findall(text) if (match := BANNER.fullmatch(comment))]


def summary(text):
    """The text of the first comment that is no licence, without the stars: what the header is."""
    comments = (comment for comment in COMMENT.findall(text) if not NO_DOCUMENT.match(comment))
    return "\n".join(line.lstrip(" *").rstrip() for line in next(comments, "").strip().splitlines())


def filtered(text, header):
    """The header for Doxygen."""
    is_first, is_open = True, False

    def replacement(match):
        nonlocal is_first, is_open
        body = match[1]
        if NO_DOCUMENT.match(body):
            return match[0]
        if banner := BANNER.fullmatch(body):
            end = "/** @} */ " if is_open else ""
            is_open = True
            return f"{end}/** @defgroup {group_of(header, banner[1])} {banner[1]} */ /** @{{ */"
        if is_first:
            is_first = False
            return f"/** @file */ /*{body}*/"
        code = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        return f"/**{'< ' if code else ''}{body}*/"

    # The end of a line of preprocessor commands, or of an include guard, is no declaration.
    result = COMMENT.sub(replacement, text)
    return result + ("/** @} */\n" if is_open else "")


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[1]))
