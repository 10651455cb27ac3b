# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m sparsec bench: times a product or attention on this machine beside the other ways to compute it."""
