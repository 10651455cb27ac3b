// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host_kernels.h"

#include "Conversions.h"
#include "HostObject.h"
#include "Passes.h"
#include "Pipeline.h"
#include "Translate.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>

using namespace mlir;

namespace sparsec::test {

std::string compile(const std::string &text) {
  MLIRContext context;
  context.loadDialect<sparsec::SparsecDialect>();
  DialectRegistry registry;
  sparsec::registerConversions(registry);
  sparsec::registerTranslations(registry);
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  sparsec::addHostPasses(passes, sparsec::Stage::Llvm);
  sparsec::addHostConversionPasses(passes);
  sparsec::addCastRemovalPass(passes);
  if (!module || failed(passes.run(*module)))
    return {};
  std::unique_ptr<llvm::TargetMachine> machine = sparsec::createHostTargetMachine();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule = sparsec::translateHostToLLVM(*module, llvmContext, *machine);
  if (!llvmModule)
    return {};
  sparsec::optimize(*llvmModule, *machine, sparsec::hostPasses);
  llvm::Expected<std::string> object = sparsec::emitHostObject(*llvmModule, *machine);
  if (object)
    return *object;
  llvm::logAllUnhandledErrors(object.takeError(), llvm::errs());
  return {};
}

std::unique_ptr<llvm::orc::LLJIT> load(const std::string &object) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)));
  return jit;
}

double round(double value, const Format &format) {
  if (value == 0 || !std::isfinite(value))
    return value;
  double unit = std::ldexp(1.0, std::ilogb(value) - format.fractionBits);
  return std::nearbyint(value / unit) * unit;
}

uint32_t encode(double value, const Format &format) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t sign = uint32_t(std::signbit(value)) << (format.bytes * 8 - 1);
  if (value == 0)
    return sign;
  if (!std::isfinite(value) && !format.hasInfinity)
    return (1u << (format.bytes * 8 - 1)) - 1;
  if (!std::isfinite(value))
    return sign | ((1u << format.exponentBits) - 1) << format.fractionBits | (std::isnan(value) ? 1 : 0);
  int exponent = std::ilogb(value);
  auto significand = static_cast<uint32_t>(std::ldexp(std::abs(value), format.fractionBits - exponent));
  return sign | uint32_t(exponent + bias) << format.fractionBits | (significand & ((1u << format.fractionBits) - 1));
}

double decode(uint32_t bits, const Format &format) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t fraction = bits & ((1u << format.fractionBits) - 1);
  int exponent = (bits >> format.fractionBits) & ((1 << format.exponentBits) - 1);
  double sign = bits >> (format.bytes * 8 - 1) ? -1 : 1;
  if (exponent == (1 << format.exponentBits) - 1 && format.hasInfinity)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == (1 << format.exponentBits) - 1 && fraction == (1u << format.fractionBits) - 1)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - format.fractionBits);
  return sign * std::ldexp((1u << format.fractionBits) | fraction, exponent - bias - format.fractionBits);
}

} // namespace sparsec::test
