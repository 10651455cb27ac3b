# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The option of a bench that selects groups of cases."""

import argparse


def parser_of(groups):
    """Gives a function that makes a list of names of groups from names that are separated by commas."""

    def parse(text):
        names = text.split(",")
        if unknown := [name for name in names if name not in groups]:
            raise argparse.ArgumentTypeError(f"expects some of {', '.join(groups)}, but got {', '.join(unknown)}")
        return names

    return parse
