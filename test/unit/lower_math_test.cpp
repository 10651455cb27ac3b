// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The errors that LowerMath.cpp documents. Each op is lowered as for the GPU, compiled for this processor with models
// of the hardware's approximate instructions in their place, and compared with the C library in double: over all of
// f32 in steps, densely where the function is interesting, and with the instructions at both ends of their error.

#include "Conversions.h"
#include "Passes.h"
#include "Translate.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// The approximate instructions, with the largest errors of the PTX ISA (9.0, section 9.7.3)
//===----------------------------------------------------------------------===//

/// -1, 0 or 1: how much of its largest error every instruction makes.
double errorSign = 0;

/// A unit in the last place of f32 at `value`.
double unitAt(double value) { return std::ldexp(1.0, std::max(value == 0 ? -126 : std::ilogb(value), -126) - 23); }

float withRelativeError(double exact, double largest) { return static_cast<float>(exact * (1 + errorSign * largest)); }
float withUnits(double value, double units) {
  return std::isfinite(value) ? static_cast<float>(value + errorSign * units * unitAt(value)) : value;
}

// Two units from the correctly rounded result.
float ex2Approx(float x) { return withUnits(static_cast<float>(std::exp2(double(x))), 2); }
float sqrtApprox(float x) { return withRelativeError(std::sqrt(double(x)), 0x1p-23); }
float rsqrtApprox(float x) { return withRelativeError(1 / std::sqrt(double(x)), std::exp2(-22.9)); }
float rcpApprox(float x) { return withUnits(1 / double(x), 1); }
// The lowering takes only infinities and NaN from it; a finite logarithm is made wrong to prove that. Flushes
// subnormals.
float lg2Approx(float x) {
  double exact = std::log2(std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : double(x));
  return std::isfinite(exact) ? 1e30f : static_cast<float>(exact);
}

const std::pair<const char *, float (*)(float)> instructions[] = {
    {"llvm.nvvm.ex2.approx.f32", ex2Approx},   {"llvm.nvvm.ex2.approx.ftz.f32", ex2Approx},
    {"llvm.nvvm.lg2.approx.ftz.f", lg2Approx}, {"llvm.nvvm.rcp.approx.ftz.f", rcpApprox},
    {"llvm.nvvm.rsqrt.approx.f", rsqrtApprox}, {"llvm.nvvm.sqrt.approx.f", sqrtApprox}};

//===----------------------------------------------------------------------===//
// From an op to machine code
//===----------------------------------------------------------------------===//

constexpr const char *loopOverOp = R"mlir(
gpu.module @kernels {{
  llvm.func @apply(%in: !llvm.ptr, %out: !llvm.ptr, %count: i64) {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    scf.for %i = %zero to %count step %one : i64 {{
      %source = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %x = llvm.load %source : !llvm.ptr -> f32
      %y = math.{0} %x : f32
      %destination = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %y, %destination : f32, !llvm.ptr
    } {1}
    llvm.return
  }
})mlir";

using Apply = void(const float *, float *, int64_t);

/// Compiles one op; null when a step fails.
class CompiledOp {
public:
  explicit CompiledOp(const std::string &op, const std::string &loopAttributes = "") {
    context.loadDialect<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, gpu::GPUDialect>();
    DialectRegistry registry;
    sparsec::registerConversions(registry);
    sparsec::registerTranslations(registry);
    context.appendDialectRegistry(registry);
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(llvm::formatv(loopOverOp, op, loopAttributes).str(), &context);
    PassManager passes(&context);
    passes.addPass(sparsec::createLowerMathPass());
    sparsec::addGpuConversionPasses(passes);
    if (!module || failed(passes.run(*module)))
      return;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto llvmModule = translateModuleToLLVMIR(*module->getOps<gpu::GPUModuleOp>().begin(), *llvmContext);
    if (llvmModule)
      compile({std::move(llvmModule), std::move(llvmContext)});
  }

  Apply *apply = nullptr;

private:
  void compile(llvm::orc::ThreadSafeModule module) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::orc::SymbolMap models;
    module.withModuleDo([&](llvm::Module &body) {
      for (auto [name, model] : instructions) {
        llvm::Function *instruction = body.getFunction(name);
        if (!instruction)
          continue;
        std::string modelName = "model." + std::string(name);
        auto *replacement =
            llvm::Function::Create(instruction->getFunctionType(), llvm::Function::ExternalLinkage, modelName, body);
        instruction->replaceAllUsesWith(replacement);
        instruction->eraseFromParent();
        models[jit->mangleAndIntern(modelName)] = {llvm::orc::ExecutorAddr::fromPtr(model),
                                                   llvm::JITSymbolFlags::Exported};
      }
      body.setTargetTriple(jit->getTargetTriple());
      body.setDataLayout(jit->getDataLayout());
    });
    llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(models)));
    llvm::cantFail(jit->addIRModule(std::move(module)));
    apply = llvm::cantFail(jit->lookup("apply")).toPtr<Apply>();
  }

  MLIRContext context;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

struct MathCase {
  const char *op;
  double (*exact)(double);
  double bound;     // units in the last place
  float begin, end; // where to look densely
};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The distance in units in the last place of f32 at `exact`; infinity counts as 2^128.
double distance(float got, double exact) {
  auto finite = [](double value) { return std::isinf(value) ? std::copysign(0x1p128, value) : value; };
  return std::abs(finite(got) - finite(std::abs(exact) > 0x1p128 ? std::copysign(INFINITY, exact) : exact)) /
         unitAt(exact);
}

std::vector<float> arguments(const MathCase &test) {
  std::vector<float> values;
  constexpr uint64_t step = 2039; // prime, so that the low bits of the mantissa vary
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step)
    values.push_back(fromBits(static_cast<uint32_t>(bits)));
  constexpr int dense = 200000;
  for (int i = 0; i <= dense; ++i)
    values.push_back(test.begin + (test.end - test.begin) * (static_cast<float>(i) / dense));
  for (float special : {0.0f, 1.0f, INFINITY, NAN, 0x1p-149f, 0x1p-126f, 0x1.fffffep127f, 0x1p-25f, 32768.0f,
                        0x1.000002p15f, 88.72283f, 88.72284f, -87.33655f, -103.97208f, 128.0f, -126.0f, -149.0f})
    values.insert(values.end(), {special, -special});
  return values;
}

class LowerMath : public testing::TestWithParam<MathCase> {};

TEST_P(LowerMath, StaysWithinTheDocumentedError) {
  const MathCase &test = GetParam();
  CompiledOp op(test.op);
  ASSERT_TRUE(op.apply);
  std::vector<float> in = arguments(test), out(in.size());
  double worst = 0;
  for (double sign : {-1.0, 0.0, 1.0}) {
    errorSign = sign;
    op.apply(in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      double exact = test.exact(in[i]);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(out[i])) << test.op << "(" << in[i] << ") gives " << out[i];
        continue;
      }
      double error = distance(out[i], exact);
      ASSERT_LE(error, test.bound) << test.op << "(" << in[i] << ") gives " << out[i] << ", expected " << exact;
      worst = std::max(worst, error);
    }
  }
  RecordProperty("units_in_the_last_place", std::to_string(worst));
}

TEST_P(LowerMath, CallGivesTheSame) {
  CompiledOp op(GetParam().op), called(GetParam().op, "{sparsec.calls_math}");
  ASSERT_TRUE(op.apply && called.apply);
  std::vector<float> all = arguments(GetParam()), in;
  for (size_t i = 0; i < all.size(); i += 997)
    in.push_back(all[i]);
  std::vector<float> out(in.size()), outCalled(in.size());
  op.apply(in.data(), out.data(), in.size());
  called.apply(in.data(), outCalled.data(), in.size());
  EXPECT_EQ(std::memcmp(out.data(), outCalled.data(), out.size() * sizeof(float)), 0);
}

double rsqrt(double x) { return 1 / std::sqrt(x); }

// As in the table of LowerMath.cpp.
const MathCase cases[] = {
    {"exp2", std::exp2, 5, -2, 2},     {"exp", std::exp, 5, -2, 2},     {"expm1", std::expm1, 2, -2, 2},
    {"tanh", std::tanh, 3, -2, 2},     {"log", std::log, 1, 0.5, 2},    {"log2", std::log2, 2, 0.5, 2},
    {"log1p", std::log1p, 2, -0.9, 2}, {"sqrt", std::sqrt, 3, 0, 4},    {"rsqrt", rsqrt, 3, 0, 4},
    {"erf", std::erf, 2, -4, 4},       {"sin", std::sin, 3, -32, 32},   {"cos", std::cos, 3, -32, 32},
    {"absf", std::fabs, 0, -1, 1},     {"floor", std::floor, 0, -9, 9}, {"ceil", std::ceil, 0, -9, 9},
};

INSTANTIATE_TEST_SUITE_P(AllOps, LowerMath, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.op); });

TEST(LowerMathOfZero, KeepsTheSign) {
  for (const char *name : {"expm1", "tanh", "log1p", "sqrt", "erf"}) {
    CompiledOp op(name);
    ASSERT_TRUE(op.apply);
    float in = -0.0f, out = 1;
    op.apply(&in, &out, 1);
    EXPECT_TRUE(out == 0 && std::signbit(out)) << name << "(-0) gives " << out;
  }
}

} // namespace
