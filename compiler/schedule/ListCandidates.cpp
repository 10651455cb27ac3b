// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ListCandidates.h"

#include "Selection.h"
#include "TargetInfo.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace sparsec;

static std::string print(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream);
  return text;
}

LogicalResult sparsec::listCandidates(ModuleOp module, const Expectations &expected, std::string &lines) {
  const Chip &chip = *findChip(module->getAttrOfType<TargetAttr>("sparsec.target").getChip());
  llvm::raw_string_ostream stream(lines);
  for (auto kernel : module.getOps<KernelOp>()) {
    FailureOr<std::unique_ptr<Selection>> selection = familyOf(kernel).select(kernel, expected, chip);
    if (failed(selection))
      return failure();
    for (const Candidate &candidate : (*selection)->sweep()) {
      llvm::json::OStream row(stream);
      row.object([&] {
        row.attribute("kernel", kernel.getSymName());
        row.attribute("chip", llvm::StringRef(chip.name));
        row.attribute("problem", (*selection)->problem());
        row.attribute("schedule", print(toAttribute(module.getContext(), candidate.schedule)));
        row.attribute("name", toString(candidate.schedule));
        row.attribute("predicted", candidate.cost.usefulFlopsPerClock);
      });
      stream << "\n";
    }
  }
  return success();
}
