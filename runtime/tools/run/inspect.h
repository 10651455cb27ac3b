// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the launch info of a compiled file; needs no GPU.

#ifndef SPARSEC_TOOLS_RUN_INSPECT_H
#define SPARSEC_TOOLS_RUN_INSPECT_H

#include "launch_info_view.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace sparsec::run {

/// The launch info of every image as JSON: kernels, arguments, variants, parameters and tensor maps. What ptxas has not
/// measured is null.
llvm::json::Value describeImages(llvm::ArrayRef<ImageView> images);

/// The same for people.
void printImages(llvm::raw_ostream &stream, llvm::ArrayRef<ImageView> images);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_INSPECT_H
