# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse layers and attention on arrays of JAX. Needs JAX 0.10 or later, which `import sparsec` does not import.

Importing this package makes BSR and the lists of sparsec.patterns trees of JAX (see `trees`).
"""

from sparsec.jax.attention import attention
from sparsec.jax.linear import linear
from sparsec.jax.merging import merge

__all__ = ["attention", "linear", "merge"]
