# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""growth.py LIMIT CHIP ARGUMENTS OF long_region.py...: compiles the region to PTX with 100 and with 200 ops, and fails
if one op becomes more than LIMIT lines."""

import os
import subprocess
import sys

limit, chip, region, op, *rest = sys.argv[1:]
generator = os.path.join(os.path.dirname(__file__), "long_region.py")


def lines(count):
    text = subprocess.run([sys.executable, generator, region, op, str(count), *rest], check=True, capture_output=True)
    ptx = subprocess.run(["sparsec", "-", "--emit=ptx", "--arch=" + chip], input=text.stdout, check=True,
                         capture_output=True)
    return ptx.stdout.count(b"\n")


growth = (lines(200) - lines(100)) / 100
if not 0 < growth <= int(limit):
    sys.exit(f"expected an op to become at most {limit} lines, but got {growth}")
