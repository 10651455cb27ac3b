// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host kernels from text to object: what the object holds (HostObject.cpp), and that the machine code computes the
// product (HostProducts.h) in every layout, type and broadcast, with blocks and tiles that reach over the edges.

#include "HostObject.h"
#include "host_kernels.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// Contents of the object
//===----------------------------------------------------------------------===//

constexpr const char *everyMathOp = R"mlir(
sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>, %c: tensor<?x?xf16>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %c full epilogue (%acc: f32, %h: f16) {
    %a0 = arith.extf %h : f16 to f32
    %a1 = math.fma %a0, %acc, %a0 : f32
    %a2 = math.absf %a1 : f32
    %a3 = math.sqrt %a2 : f32
    %a4 = math.rsqrt %a3 : f32
    %a5 = math.exp %a4 : f32
    %a6 = math.exp2 %a5 : f32
    %a7 = math.expm1 %a6 : f32
    %a8 = math.log %a7 : f32
    %a9 = math.log2 %a8 : f32
    %b0 = math.log1p %a9 : f32
    %b1 = math.tanh %b0 : f32
    %b2 = math.erf %b1 : f32
    %b3 = math.sin %b2 : f32
    %b4 = math.cos %b3 : f32
    %b5 = math.floor %b4 : f32
    %b6 = math.ceil %b5 : f32
    %b7 = arith.maximumf %b6, %acc : f32
    %b8 = arith.minnumf %b7, %acc : f32
    %c0 = arith.truncf %b8 : f32 to bf16
    %c1 = arith.extf %c0 : bf16 to f32
    %c2 = arith.truncf %c1 : f32 to f16
    %c3 = arith.extf %c2 : f16 to f32
    sparsec.yield %c3 : f32
  } : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>, tensor<?x?xf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
})mlir";

class HostObject : public testing::Test {
protected:
  void SetUp() override {
    bytes = compile(everyMathOp);
    ASSERT_FALSE(bytes.empty());
    auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "k"));
    ASSERT_TRUE(bool(file));
    object.emplace(std::move(*file));
  }

  std::string bytes;
  std::optional<llvm::object::ELF64LEObjectFile> object;
};

TEST_F(HostObject, HasOnly64BitAbsoluteRelocations) {
  int count = 0;
  for (llvm::object::ELFSectionRef section : object->sections()) {
    auto relocated = llvm::cantFail(section.getRelocatedSection());
    if (relocated == object->section_end() ||
        !(llvm::object::ELFSectionRef(*relocated).getFlags() & llvm::ELF::SHF_ALLOC))
      continue;
    for (const llvm::object::RelocationRef &relocation : section.relocations()) {
      EXPECT_EQ(relocation.getType(), uint64_t(llvm::ELF::R_X86_64_64)) << "at " << relocation.getOffset();
      ++count;
    }
  }
  EXPECT_GT(count, 0) << "the calls of libm need relocations";
}

/// The symbols that the object refers to and does not hold.
std::vector<std::string> undefinedSymbols(const std::string &bytes) {
  auto object = llvm::cantFail(llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "k")));
  std::vector<std::string> undefined;
  for (const llvm::object::SymbolRef &symbol : object.symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      undefined.push_back(llvm::cantFail(symbol.getName()).str());
  return undefined;
}

TEST_F(HostObject, ImportsOnlyTheCLibrary) {
  // absf, sqrt, rsqrt, floor, ceil and fma are instructions; exp, tanh and erf are arithmetic; no compiler-runtime
  // helper such as __truncsfbf2 is there.
  std::vector<std::string> undefined = undefinedSymbols(bytes);
  EXPECT_THAT(undefined, testing::IsSupersetOf({"exp2f", "expm1f", "logf", "log2f", "log1pf", "sinf", "cosf"}));
  for (const std::string &name : undefined)
    EXPECT_THAT(name,
                testing::AnyOf("exp2f", "expm1f", "logf", "log2f", "log1pf", "sinf", "cosf", "memset", "memcpy", ""));
}

/// Results that LLVM moves away from their stores: the operand is one number, so that a maximum with it may be one too.
/// And extensions that it moves behind an op, which is then one of f16.
TEST(HostObjectSymbols, RoundingIsNoCall) {
  const char *epilogues[] = {
      "%r = arith.maximumf %acc, %e : f32",
      "%r = arith.minnumf %acc, %e : f32",
      "%r = arith.addf %e, %e : f32",
      "%n = arith.cmpf uno, %acc, %e : f32 %r = arith.select %n, %e, %acc : f32",
      "%h = arith.truncf %e : f32 to bf16 %g = arith.extf %h : bf16 to f32 %r = arith.maximumf %acc, %g : f32",
      "%h = arith.truncf %acc : f32 to f16 %g = arith.extf %h : f16 to f32 %r = arith.maximumf %g, %e : f32",
      "%h = arith.truncf %acc : f32 to f16 %g = arith.extf %h : f16 to f32 "
      "%i = arith.truncf %e : f32 to f16 %j = arith.extf %i : f16 to f32 %r = arith.maxnumf %g, %j : f32",
      "%h = arith.truncf %acc : f32 to f16 %g = arith.extf %h : f16 to f32 "
      "%i = arith.truncf %e : f32 to f16 %j = arith.extf %i : f16 to f32 %r = arith.minnumf %g, %j : f32"};
  for (const char *type : {"bf16", "f16"})
    for (const char *epilogue : epilogues) {
      std::string text = llvm::formatv(R"mlir(
sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %s: f32) -> (y: tensor<?x?x{0}>) {{
  %y = sparsec.spmm %w, %x, %s scalar x_layout(nk) y_layout(nm) epilogue (%acc: f32, %e: f32) {{
    {1}
    sparsec.yield %r : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, f32) -> tensor<?x?x{0}>
  sparsec.return %y : tensor<?x?x{0}>
})mlir",
                                       type, epilogue);
      std::string object = compile(text);
      ASSERT_FALSE(object.empty()) << text;
      for (const std::string &name : undefinedSymbols(object))
        EXPECT_THAT(name, testing::AnyOf("memset", "memcpy", "")) << text;
    }
}

/// The code that the back end makes of a function that calls another one.
std::string errorOf(llvm::TargetMachine &machine, const char *callee) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "k.host", module);
  function->setDoesNotThrow();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", function));
  b.CreateCall(module.getOrInsertFunction(callee, type));
  b.CreateRetVoid();
  auto object = sparsec::emitHostObject(module, machine);
  return object ? "" : llvm::toString(object.takeError());
}

TEST(HostObjectSymbols, UnknownOnesAreRefused) {
  auto machine = sparsec::createHostTargetMachine();
  EXPECT_EQ(errorOf(*machine, "tanhf"), "");
  EXPECT_EQ(errorOf(*machine, "__truncsfbf2"),
            "the host object refers to __truncsfbf2, which the runtime does not provide");
  EXPECT_EQ(errorOf(*machine, "tanh"), "the host object refers to tanh, which the runtime does not provide");
}

TEST(HostObjectSymbols, OtherRelocationsAreRefused) {
  auto machine = sparsec::createHostTargetMachine();
  machine->setCodeModel(llvm::CodeModel::Small);
  EXPECT_EQ(errorOf(*machine, "tanhf"),
            "the host object has a relocation of type R_X86_64_PLT32, which the runtime does not know");
}

TEST_F(HostObject, HoldsTheLaunchInfoInRodata) {
  for (const llvm::object::ELFSymbolRef symbol : object->symbols()) {
    if (llvm::cantFail(symbol.getName()) != SPARSEC_LAUNCH_INFO_SYMBOL)
      continue;
    EXPECT_EQ(symbol.getELFType(), llvm::ELF::STT_OBJECT);
    auto section = llvm::cantFail(symbol.getSection());
    EXPECT_EQ(llvm::cantFail(section->getName()), ".rodata");
    sparsec_launch_info_t info;
    llvm::StringRef contents = llvm::cantFail(section->getContents()).drop_front(llvm::cantFail(symbol.getValue()));
    ASSERT_GE(contents.size(), sizeof(info));
    std::memcpy(&info, contents.data(), sizeof(info));
    EXPECT_EQ(info.magic, SPARSEC_LAUNCH_INFO_MAGIC);
    EXPECT_EQ(symbol.getSize(), info.total_size);
    return;
  }
  FAIL() << "no symbol " SPARSEC_LAUNCH_INFO_SYMBOL;
}

TEST_F(HostObject, HasNoUnwindTables) {
  for (const llvm::object::SectionRef &section : object->sections())
    EXPECT_NE(llvm::cantFail(section.getName()), ".eh_frame");
}

//===----------------------------------------------------------------------===//
// Results of the code
//===----------------------------------------------------------------------===//

/// A matrix in a row-major buffer with a leading dimension larger than its width.
struct Buffer {
  Buffer(int64_t rows, int64_t columns, const Format &format, int64_t padding)
      : format(format), rows(rows), columns(columns), stride(columns + padding),
        bytes(std::max<int64_t>(rows * stride * format.bytes, 1), 0x7f) {}

  double at(int64_t row, int64_t column) const {
    uint32_t bits = 0;
    std::memcpy(&bits, &bytes[(row * stride + column) * format.bytes], format.bytes);
    return decode(bits, format);
  }
  void set(int64_t row, int64_t column, double value) {
    uint32_t bits = encode(value, format);
    std::memcpy(&bytes[(row * stride + column) * format.bytes], &bits, format.bytes);
  }

  Format format;
  int64_t rows, columns, stride;
  std::vector<unsigned char> bytes;
};

struct ProductCase {
  std::string name;
  Format input, output;
  int blockRows, blockColumns;
  bool denseTransposed, resultTransposed;
  int rows, columns, width;              // M, K, N
  std::optional<Format> otherDense = {}; // the type of X where it is not that of W
};

/// y = (W x + bias[m] + 2 full[m, n]) * scale[n] + shift, everything in small integers: all sums are exact in f32, so
/// the only rounding is that of the result.
class Product : public testing::TestWithParam<ProductCase> {
protected:
  const ProductCase &p = GetParam();
  int blockRowCount = (p.rows + p.blockRows - 1) / p.blockRows;
  int blockColumnCount = (p.columns + p.blockColumns - 1) / p.blockColumns;
  Format dense = p.otherDense.value_or(p.input);
  Buffer x = p.denseTransposed ? Buffer(p.width, p.columns, dense, 3) : Buffer(p.columns, p.width, dense, 5);
  Buffer y = p.resultTransposed ? Buffer(p.width, p.rows, p.output, 2) : Buffer(p.rows, p.width, p.output, 7);
  Buffer full = p.resultTransposed ? Buffer(p.width, p.rows, bf16, 1) : Buffer(p.rows, p.width, bf16, 1);
  Buffer bias = Buffer(1, p.rows, f32, 0), scale = Buffer(1, p.width, f16, 0), shift = Buffer(1, 1, f32, 0);
  Buffer w = Buffer(0, 0, p.input, 0);
  std::vector<int32_t> rowPtr{0}, colIdx;
  float factor = 3;

  std::string text() {
    return llvm::formatv(
               R"mlir(
sparsec.kernel @product(%w: !sparsec.bsr<?x?x{0}, block = {2}x{3}>, %x: tensor<?x?x{6}>, %bias: tensor<?xf32>,
    %full: tensor<?x?xbf16>, %scale: tensor<?xf16>, %shift: tensor<f32>, %factor: f32) -> (y: tensor<?x?x{1}>) {{
  %y = sparsec.spmm %w, %x, %bias per_row, %full full, %scale per_column, %shift scalar, %factor scalar
      x_layout({4}) y_layout({5}) epilogue (%acc: f32, %b: f32, %f: bf16, %s: f16, %t: f32, %c: f32) {{
    %f32 = arith.extf %f : bf16 to f32
    %s32 = arith.extf %s : f16 to f32
    %0 = arith.addf %acc, %b : f32
    %1 = math.fma %f32, %c, %0 : f32
    %2 = arith.mulf %1, %s32 : f32
    %3 = arith.addf %2, %t : f32
    sparsec.yield %3 : f32
  } : (!sparsec.bsr<?x?x{0}, block = {2}x{3}>, tensor<?x?x{6}>, tensor<?xf32>, tensor<?x?xbf16>, tensor<?xf16>,
       tensor<f32>, f32) -> tensor<?x?x{1}>
  sparsec.return %y : tensor<?x?x{1}>
})mlir",
               p.input.name, p.output.name, p.blockRows, p.blockColumns, p.denseTransposed ? "nk" : "kn",
               p.resultTransposed ? "nm" : "mn", dense.name)
        .str();
  }

  void SetUp() override {
    std::mt19937 random(1);
    auto fill = [&](Buffer &buffer) {
      for (int64_t row = 0; row < buffer.rows; ++row)
        for (int64_t column = 0; column < buffer.columns; ++column)
          buffer.set(row, column, int(random() % 9) - 4);
    };
    for (Buffer *buffer : {&x, &full, &bias, &scale, &shift})
      fill(*buffer);
    for (int row = 0; row < blockRowCount; ++row) { // every second block, descending; the last block row is empty
      for (int column = blockColumnCount - 1; column >= 0 && row + 1 < blockRowCount; --column)
        if ((row + column) % 2 == 0)
          colIdx.push_back(column);
      rowPtr.push_back(colIdx.size());
    }
    w = Buffer(colIdx.size() * p.blockRows, p.blockColumns, p.input, 0);
    fill(w);
    for (int row = 0; row < blockRowCount; ++row) // what edge blocks hold beyond the matrix does not count
      for (int block = rowPtr[row]; block < rowPtr[row + 1]; ++block)
        for (int i = 0; i < p.blockRows; ++i)
          for (int j = 0; j < p.blockColumns; ++j)
            if (row * p.blockRows + i >= p.rows || colIdx[block] * p.blockColumns + j >= p.columns)
              w.set(block * p.blockRows + i, j, NAN);
  }

  double exact(int m, int n) {
    double sum = 0;
    int blockRow = m / p.blockRows;
    for (int block = rowPtr[blockRow]; block < rowPtr[blockRow + 1]; ++block)
      for (int j = 0; j < p.blockColumns; ++j) {
        int k = colIdx[block] * p.blockColumns + j;
        if (k < p.columns)
          sum += w.at(block * p.blockRows + m % p.blockRows, j) * (p.denseTransposed ? x.at(n, k) : x.at(k, n));
      }
    double residual = p.resultTransposed ? full.at(n, m) : full.at(m, n);
    return (sum + bias.at(0, m) + factor * residual) * scale.at(0, n) + shift.at(0, 0);
  }

  uint64_t slotOf(const sparsec_parameter_info_t &parameter, int64_t panels) {
    const Buffer *arguments[] = {&w, &x, &bias, &full, &scale, &shift, nullptr, &y};
    const Buffer *argument = arguments[parameter.index];
    uint64_t slot = 0xaaaaaaaaaaaaaaaa;
    auto setLow = [&](auto value) { std::memcpy(&slot, &value, sizeof(value)); };
    if (parameter.source == SPARSEC_SOURCE_PANELS) {
      setLow(int32_t(panels));
      return slot;
    }
    EXPECT_EQ(parameter.source, uint32_t(SPARSEC_SOURCE_ARGUMENT));
    switch (parameter.field) {
    case SPARSEC_FIELD_DATA:
      setLow(argument->bytes.data());
      break;
    case SPARSEC_FIELD_FULL_STARTS:
      setLow(rowPtr.data());
      break;
    case SPARSEC_FIELD_FULL_INDICES:
      setLow(colIdx.data());
      break;
    case SPARSEC_FIELD_SIZE:
      if (parameter.index == 0)
        setLow(int32_t(parameter.dimension == 0 ? p.rows : p.columns));
      else
        setLow(int32_t(parameter.dimension == 0 ? argument->rows : argument->columns));
      break;
    case SPARSEC_FIELD_STRIDE:
      setLow(argument->stride);
      break;
    case SPARSEC_FIELD_SCALAR:
      setLow(factor);
      break;
    default:
      ADD_FAILURE() << "field " << parameter.field;
    }
    return slot;
  }

  /// Fills the slots as the launch info says and runs all tiles.
  void run(llvm::orc::LLJIT &jit) {
    auto *info = llvm::cantFail(jit.lookup(SPARSEC_LAUNCH_INFO_SYMBOL)).toPtr<const sparsec_launch_info_t *>();
    const auto &stage = sparsec::recordsOf<sparsec_stage_info_t>(*info)[0];
    EXPECT_EQ(stage.tile_m, unsigned(p.blockRows));
    EXPECT_EQ(stage.cluster, 1u);
    EXPECT_EQ(sparsec::recordsOf<sparsec_variant_info_t>(*info)[0].alignment, uint32_t(p.input.bytes));
    const int64_t panels = (p.width + stage.tile_n - 1) / stage.tile_n;
    std::vector<uint64_t> slots;
    for (const auto &parameter : sparsec::recordsOf<sparsec_parameter_info_t>(*info))
      slots.push_back(slotOf(parameter, panels));
    auto kernel = llvm::cantFail(jit.lookup(stage.symbol)).toPtr<sparsec_host_kernel_t>();
    int64_t tiles = blockRowCount * panels;
    kernel(slots.data(), tiles / 2, tiles); // in two parts, as two threads would
    kernel(slots.data(), 0, tiles / 2);
  }
};

TEST_P(Product, IsTheRoundedExactProduct) {
  std::string object = compile(text());
  ASSERT_FALSE(object.empty());
  std::unique_ptr<llvm::orc::LLJIT> jit = load(object);
  Buffer untouched = y;
  run(*jit);
  for (int m = 0; m < p.rows; ++m)
    for (int n = 0; n < p.width; ++n)
      ASSERT_EQ(p.resultTransposed ? y.at(n, m) : y.at(m, n), round(exact(m, n), p.output)) << m << ", " << n;
  for (int64_t row = 0; row < y.rows; ++row)
    for (int64_t i = (row * y.stride + y.columns) * y.format.bytes; i < (row + 1) * y.stride * y.format.bytes; ++i)
      ASSERT_EQ(y.bytes[i], untouched.bytes[i]) << "padding of row " << row;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    testing::Values(ProductCase{"layouts_kn_mn", bf16, bf16, 64, 32, false, false, 150, 90, 131},
                    ProductCase{"layouts_nk_mn", bf16, bf16, 64, 32, true, false, 150, 90, 131},
                    ProductCase{"layouts_kn_nm", bf16, bf16, 64, 32, false, true, 150, 90, 131},
                    ProductCase{"layouts_nk_nm", bf16, bf16, 64, 32, true, true, 150, 90, 131},
                    ProductCase{"f16_to_f16", f16, f16, 16, 16, false, false, 40, 50, 70},
                    ProductCase{"f16_to_f32", f16, f32, 16, 48, true, false, 40, 50, 70},
                    ProductCase{"largest_block", bf16, f16, 256, 256, false, true, 300, 600, 65},
                    ProductCase{"one_column", bf16, bf16, 32, 32, false, false, 64, 64, 1},
                    ProductCase{"one_element", bf16, bf16, 16, 16, true, true, 1, 1, 1},
                    ProductCase{"exact_tiles", bf16, f32, 32, 32, false, false, 96, 64, 128},
                    ProductCase{"e4m3", f8E4M3FN, bf16, 64, 32, true, false, 150, 90, 131},
                    ProductCase{"e5m2", f8E5M2, f16, 16, 48, false, true, 40, 50, 70},
                    ProductCase{"e4m3_e5m2", f8E4M3FN, f32, 128, 128, true, true, 150, 200, 65, f8E5M2},
                    ProductCase{"e5m2_e4m3", f8E5M2, bf16, 32, 32, false, false, 64, 64, 33, f8E4M3FN}),
    [](const auto &info) { return info.param.name; });

/// 1 * x for all 256 x of both types: as W, and as X. Nothing is lost on the way to f32.
TEST(HostKernel, WidensEveryF8) {
  for (const Format &format : {f8E4M3FN, f8E5M2}) {
    std::string object = compile(llvm::formatv(R"mlir(
sparsec.kernel @plain(%w: !sparsec.bsr<256x16x{0}, block = 256x16>, %x: tensor<16x256x{0}>)
    -> (y: tensor<256x256xf32>) {{
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<256x16x{0}, block = 256x16>, tensor<16x256x{0}>) -> tensor<256x256xf32>
  sparsec.return %y : tensor<256x256xf32>
})mlir",
                                               format.name)
                                     .str());
    ASSERT_FALSE(object.empty());
    std::unique_ptr<llvm::orc::LLJIT> jit = load(object);
    auto kernel = llvm::cantFail(jit->lookup("plain.host")).toPtr<sparsec_host_kernel_t>();
    const int32_t rowPtr[] = {0, 1}, colIdx[] = {0};
    auto slot = [](const void *data) { return uint64_t(reinterpret_cast<uintptr_t>(data)); };
    for (bool isMatrix : {true, false}) {
      Buffer w(256, 16, format, 0), x(16, 256, format, 0), y(256, 256, f32, 0);
      std::fill(w.bytes.begin(), w.bytes.end(), 0);
      std::fill(x.bytes.begin(), x.bytes.end(), 0);
      for (int i = 0; i < 256; ++i) {
        w.bytes[i * w.stride] = isMatrix ? i : encode(1, format);
        x.bytes[i] = isMatrix ? encode(1, format) : i;
      }
      // M, row_ptr, col_idx, K, values, X, its stride, N, Y, its stride, M, N
      const uint64_t slots[] = {256,
                                slot(rowPtr),
                                slot(colIdx),
                                16,
                                slot(w.bytes.data()),
                                slot(x.bytes.data()),
                                256,
                                256,
                                slot(y.bytes.data()),
                                256,
                                256,
                                256};
      kernel(slots, 0, 4);
      for (int i = 0; i < 256; ++i) {
        const double expected = decode(i, format), got = isMatrix ? y.at(i, 7) : y.at(7, i);
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << format.name << " " << i;
      }
    }
  }
}

/// Without an epilogue the result is the accumulator; infinities and NaN of X go their way.
TEST(HostKernel, PassesOnInfinityAndNan) {
  std::string object = compile(R"mlir(
sparsec.kernel @plain(%w: !sparsec.bsr<16x16xbf16, block = 16x16>, %x: tensor<16x4xbf16>) -> (y: tensor<16x4xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<16x16xbf16, block = 16x16>, tensor<16x4xbf16>) -> tensor<16x4xbf16>
  sparsec.return %y : tensor<16x4xbf16>
})mlir");
  ASSERT_FALSE(object.empty());
  std::unique_ptr<llvm::orc::LLJIT> jit = load(object);
  auto kernel = llvm::cantFail(jit->lookup("plain.host")).toPtr<sparsec_host_kernel_t>();

  Buffer w(16, 16, bf16, 0), x(16, 4, bf16, 0), y(16, 4, bf16, 0);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column)
      w.set(row, column, 1);
    for (int column = 0; column < 4; ++column)
      x.set(row, column, 1);
  }
  x.set(3, 0, NAN);
  x.set(5, 1, INFINITY);
  x.set(6, 2, INFINITY);
  x.set(7, 2, -INFINITY);
  const int32_t rowPtr[] = {0, 1}, colIdx[] = {0};
  auto slot = [](const void *data) { return uint64_t(reinterpret_cast<uintptr_t>(data)); };
  // M, row_ptr, col_idx, K, values, X, its stride, N, Y, its stride, M, N
  const uint64_t slots[] = {
      16, slot(rowPtr), slot(colIdx), 16, slot(w.bytes.data()), slot(x.bytes.data()), 4, 4, slot(y.bytes.data()), 4, 16,
      4};
  kernel(slots, 0, 1);
  for (int row = 0; row < 16; ++row) {
    EXPECT_TRUE(std::isnan(y.at(row, 0)));
    EXPECT_EQ(y.at(row, 1), INFINITY);
    EXPECT_TRUE(std::isnan(y.at(row, 2)));
    EXPECT_EQ(y.at(row, 3), 16);
  }
}

} // namespace
