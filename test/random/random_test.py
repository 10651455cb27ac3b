#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random tests of the compiler and of its kernels on the host. Cases are numbered, and each follows from the seed and
its number alone. A case that fails is saved with a script that repeats it."""
import argparse
import collections
import os
import pathlib
import sys

import checks
import chips
import harness
import images
import schedules
import texts

# A check, and the least share that what it counts as `part` has in what it counts as `whole`: were there less, the
# generator would no longer reach what is to be tested.
Kind = collections.namedtuple("Kind", "check part whole share")
KINDS = {
    "texts": Kind(texts.check_texts, "accepted", "cases", 0.05),
    "chips": Kind(chips.check_chips, "kernels", "cases", 1.0),
    "schedules": Kind(schedules.check_schedules, "compiled", "cases", 0.5),
    "regions": Kind(checks.check_regions, "sharp", "elements", 0.6),
    "kernels": Kind(checks.check_kernels, "sharp", "elements", 0.8),
    "images": Kind(images.check_images, "refused", "changes", 1.0),
}
FEWEST_CASES = 20  # of which a share says something


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of sparsec and sparsec-run")
    parser.add_argument("--seed", default="1", help="another seed, other cases (default 1)")
    parser.add_argument("--cases", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--minutes", type=float, help="as many as this time allows, instead of a number of cases")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--keep", type=pathlib.Path, default="random-failures", help="folder for cases that fail")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one per processor)")
    options = parser.parse_args()
    options.bin, options.keep = options.bin.resolve(), options.keep.resolve()
    return options


def is_thin(kind, counts, cases):
    """Whether too few cases were what the test is about."""
    return cases >= FEWEST_CASES and counts[kind.part] < kind.share * {**counts, "cases": cases}.get(kind.whole, 0)


def main():
    options = parse()
    kind = KINDS[options.kind]
    counts, cases, failed = harness.run_all(kind.check, options, options.kind)
    for name in sorted(counts):
        print(f"{options.kind}: {counts[name]} {name}")
    print(f"{options.kind}: {cases} cases, {failed} failed")
    if is_thin(kind, counts, cases):
        sys.exit(f"{options.kind}: expects {kind.part} to be at least {kind.share:.0%} of {kind.whole}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
