// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IrDump.h"

#include "WriteFile.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace sparsec;

OpPrintingFlags sparsec::dumpFlags() { return OpPrintingFlags().printNameLocAsPrefix(); }

llvm::Error IrDump::create() {
  if (!isEnabled())
    return llvm::Error::success();
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createFileError(folder, code);
  return llvm::Error::success();
}

void IrDump::write(const Twine &name, StringRef contents) {
  if (!isEnabled() || !error.empty())
    return;
  SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::formatv("{0,0+2}-{1}", count++, name.str()).str());
  if (llvm::Error failure = writeFile(path, contents))
    error = llvm::toString(std::move(failure));
}

llvm::Error IrDump::takeError() {
  if (error.empty())
    return llvm::Error::success();
  return llvm::createStringError(error);
}

void DumpAfterPass::runAfterPass(Pass *pass, Operation *op) {
  // The adaptors that run nested passes have no name.
  if (pass->getArgument().empty())
    return;
  std::string name = pass->getArgument().str();
  if (auto symbol = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
    name += "-" + symbol.str();
  while (Operation *parent = op->getParentOp())
    op = parent;
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, dumpFlags());
  dump.write(name + ".mlir", text);
}
