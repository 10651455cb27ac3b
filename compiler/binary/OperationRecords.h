// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The records of what a kernel computes: its operation, with operands, attributes and regions.

#ifndef SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H
#define SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H

#include "LaunchInfoWriter.h"
#include "SparsecDialect.h"

namespace sparsec {

/// The record of the kernel's anchor. Regions that give back their first value are left out.
OperationRecord describeOperation(KernelOp kernel);

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_OPERATIONRECORDS_H
