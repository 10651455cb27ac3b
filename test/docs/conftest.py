# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests import what makes the site."""

import sys
from pathlib import Path

for _folder in ("docs/site", "bench", "bench/suite"):
    sys.path.insert(0, str(Path(__file__).parents[2] / _folder))
