// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything, for mlir-tblgen.
include "SparsecKernelOps.td"
include "SparsecTileOps.td"
include "SparsecWalkOps.td"
include "SparsecRingOps.td"
include "SparsecScaleOps.td"
include "SparsecStreamOps.td"
include "SparsecCutOps.td"
include "SparsecAttentionTileOps.td"
