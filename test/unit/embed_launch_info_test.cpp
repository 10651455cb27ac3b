// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sparsec-embed-launch-info writes for a kernel, record by record.

#include "LaunchInfoWriter.h"
#include "Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sparsec;

namespace {

// Two variants in reverse order; epilogue operands in another order than the kernel's arguments.
constexpr const char *gpuModule = R"mlir(
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  sparsec.kernel @linear(%w: !sparsec.bsr<?x64xbf16, block = 64x32>, %scale: f32, %x: tensor<?x64xbf16>,
      %residual: tensor<8x?xf16>, %bias: tensor<?xf32>) -> (y: tensor<8x?xf16>) {
    %y = sparsec.spmm %w, %x, %bias per_row, %residual full, %scale scalar x_layout(nk) y_layout(nm)
        epilogue (%acc: f32, %b: f32, %r: f16, %s: f32) {
      %half = arith.constant 0.5 : f32
      %wide = arith.extf %r : f16 to f32
      %sum = math.fma %acc, %s, %b : f32
      %positive = arith.cmpf ogt, %sum, %half : f32
      %chosen = arith.select %positive, %sum, %wide : f32
      %narrow = arith.truncf %chosen : f32 to bf16
      %last = arith.extf %narrow : bf16 to f32
      %unused = math.tanh %last : f32
      sparsec.yield %chosen : f32
    } : (!sparsec.bsr<?x64xbf16, block = 64x32>, tensor<?x64xbf16>, tensor<?xf32>, tensor<8x?xf16>, f32)
        -> tensor<8x?xf16>
    sparsec.return %y : tensor<8x?xf16>
  }
  gpu.module @kernels {
    llvm.func @linear_1(%p: !llvm.ptr<1>) attributes {sparsec.kernel = @linear, sparsec.variant = 1 : i64,
        sparsec.alignment = 2 : i64, sparsec.threads = 128 : i64,
        sparsec.schedule = #sparsec.schedule<instruction = mma_sync, copy = gather, tile_m = 64, tile_n = 128,
          tile_k = 32, stages = 2, consumers_m = 2, consumers_n = 2>,
        sparsec.parameters = [#sparsec.parameter<kind = row_ptr, argument = 0>]} {
      llvm.return
    }
    llvm.func @linear_0(%p: !llvm.ptr<1>, %n: i32) attributes {sparsec.kernel = @linear, sparsec.variant = 0 : i64,
        sparsec.alignment = 16 : i64, sparsec.threads = 384 : i64, sparsec.shared_memory = 200000 : i64,
        sparsec.schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64,
          stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, raster = 8, tiles_per_cta = 3>,
        sparsec.parameters = [#sparsec.parameter<kind = tensor_map, index = 1>,
          #sparsec.parameter<kind = size, argument = 2, index = 1>],
        sparsec.tensor_maps = [#sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 32]>,
          #sparsec.tensor_map<kind = bsr_values, argument = 0, swizzle = 64, box = [32, 64, 1]>,
          #sparsec.tensor_map<kind = bsr_edge_values, argument = 0, swizzle = 64, box = [32, 64, 1]>]} {
      llvm.return
    }
  }
})mlir";

class LaunchInfoOfModule : public testing::Test {
protected:
  /// Runs the pass and takes the global from the module or its gpu.module.
  void embed(StringRef text) {
    context.loadDialect<SparsecDialect, gpu::GPUDialect, LLVM::LLVMDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.addPass(createEmbedLaunchInfoPass());
    ASSERT_TRUE(succeeded(passes.run(*module)));
    LLVM::GlobalOp global;
    module->walk([&](LLVM::GlobalOp op) { global = op; });
    ASSERT_TRUE(global);
    ASSERT_EQ(global.getSymName(), SPARSEC_LAUNCH_INFO_SYMBOL);
    auto bytes = cast<DenseElementsAttr>(global.getValueAttr()).getRawData();
    info.assign(bytes.begin(), bytes.end());
    header = *reinterpret_cast<const sparsec_launch_info_t *>(info.data());
  }

  template <typename Record> const Record &at(uint32_t offset, uint32_t index) {
    return reinterpret_cast<const Record *>(info.data() + offset)[index];
  }
  const sparsec_argument_info_t &argument(unsigned index) {
    return at<sparsec_argument_info_t>(header.argument_offset, index);
  }
  const sparsec_variant_info_t &variant(unsigned index) {
    return at<sparsec_variant_info_t>(header.variant_offset, index);
  }

  /// Compares the steps from `first` on with `expected`.
  void expectSteps(uint32_t first, ArrayRef<sparsec_step_info_t> expected) {
    for (auto [index, want] : llvm::enumerate(expected)) {
      auto &step = at<sparsec_step_info_t>(header.step_offset, first + index);
      EXPECT_EQ(std::tie(step.op, step.a, step.b, step.c, step.immediate),
                std::tie(want.op, want.a, want.b, want.c, want.immediate))
          << "step " << index;
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string info;
  sparsec_launch_info_t header = {};
};

class EmbedLaunchInfo : public LaunchInfoOfModule {
protected:
  void SetUp() override { embed(gpuModule); }
};

TEST_F(EmbedLaunchInfo, Target) {
  EXPECT_EQ(header.target_kind, SPARSEC_TARGET_CUDA);
  EXPECT_EQ(header.compute_capability, 90u);
  EXPECT_EQ(header.arch_specific, 1u);
  EXPECT_STREQ(header.target, "sm_90a");
  EXPECT_STREQ(header.compiler, "sparsec " SPARSEC_VERSION);
}

TEST_F(EmbedLaunchInfo, Kernel) {
  ASSERT_EQ(header.kernel_count, 1u);
  auto &kernel = at<sparsec_kernel_info_t>(header.kernel_offset, 0);
  EXPECT_STREQ(kernel.name, "linear");
  EXPECT_EQ(kernel.family, SPARSEC_FAMILY_SPMM);
  EXPECT_EQ(kernel.argument_count, 6u);
  EXPECT_EQ(kernel.variant_count, 2u);
}

TEST_F(EmbedLaunchInfo, MatrixArgument) {
  const sparsec_argument_info_t &w = argument(0);
  EXPECT_STREQ(w.name, "w");
  EXPECT_EQ(w.kind, SPARSEC_ARGUMENT_BSR);
  EXPECT_EQ(w.role, SPARSEC_ROLE_MATRIX);
  EXPECT_EQ(w.dtype, SPARSEC_DTYPE_BF16);
  EXPECT_EQ(w.rank, 2u);
  EXPECT_EQ(w.sizes[0], SPARSEC_DYNAMIC);
  EXPECT_EQ(w.sizes[1], 64);
  EXPECT_EQ(w.block_rows, 64u);
  EXPECT_EQ(w.block_columns, 32u);
  EXPECT_EQ(w.layout, SPARSEC_LAYOUT_NONE);
}

TEST_F(EmbedLaunchInfo, DenseArguments) {
  const sparsec_argument_info_t &x = argument(2), &y = argument(5);
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.kind, SPARSEC_ARGUMENT_DENSE);
  EXPECT_EQ(x.role, SPARSEC_ROLE_DENSE);
  EXPECT_EQ(x.layout, SPARSEC_LAYOUT_TRANSPOSED);
  EXPECT_EQ(x.broadcast, SPARSEC_BROADCAST_NONE);
  EXPECT_STREQ(y.name, "y");
  EXPECT_EQ(y.role, SPARSEC_ROLE_RESULT);
  EXPECT_EQ(y.dtype, SPARSEC_DTYPE_F16);
  EXPECT_EQ(y.layout, SPARSEC_LAYOUT_TRANSPOSED);
  EXPECT_EQ(y.sizes[0], 8);
  EXPECT_EQ(y.sizes[1], SPARSEC_DYNAMIC);
}

TEST_F(EmbedLaunchInfo, EpilogueArguments) {
  const sparsec_argument_info_t &scale = argument(1), &residual = argument(3), &bias = argument(4);
  EXPECT_EQ(scale.kind, SPARSEC_ARGUMENT_SCALAR);
  EXPECT_EQ(scale.dtype, SPARSEC_DTYPE_F32);
  EXPECT_EQ(scale.role, SPARSEC_ROLE_EPILOGUE);
  EXPECT_EQ(scale.broadcast, SPARSEC_BROADCAST_SCALAR);
  EXPECT_EQ(scale.rank, 0u);
  EXPECT_EQ(residual.broadcast, SPARSEC_BROADCAST_FULL);
  EXPECT_EQ(residual.layout, SPARSEC_LAYOUT_TRANSPOSED);
  EXPECT_EQ(residual.dtype, SPARSEC_DTYPE_F16);
  EXPECT_EQ(bias.broadcast, SPARSEC_BROADCAST_PER_ROW);
  EXPECT_EQ(bias.layout, SPARSEC_LAYOUT_NONE);
  EXPECT_EQ(bias.rank, 1u);
}

TEST_F(EmbedLaunchInfo, Epilogue) {
  // Values: 0 the accumulator, 1 scale, 2 residual, 3 bias (the order of the arguments), 4... the steps.
  const sparsec_step_info_t expected[] = {
      {SPARSEC_STEP_CONSTANT, 0, 0, 0, 0.5}, {SPARSEC_STEP_COPY, 2, 0, 0, 0.0},
      {SPARSEC_STEP_FMA, 0, 1, 3, 0.0},      {SPARSEC_STEP_COMPARE, 6, 4, SPARSEC_COMPARE_OGT, 0.0},
      {SPARSEC_STEP_SELECT, 7, 6, 5, 0.0},   {SPARSEC_STEP_ROUND_BF16, 8, 0, 0, 0.0},
      {SPARSEC_STEP_COPY, 9, 0, 0, 0.0},     {SPARSEC_STEP_TANH, 10, 0, 0, 0.0},
      {SPARSEC_STEP_COPY, 8, 0, 0, 0.0}, // the region does not yield its last op
  };
  ASSERT_EQ(header.step_count, std::size(expected));
  expectSteps(0, expected);
}

TEST_F(EmbedLaunchInfo, VariantsAreInOrderOfPreference) {
  const sparsec_variant_info_t &first = variant(0), &second = variant(1);
  EXPECT_STREQ(first.symbol, "linear_0");
  EXPECT_EQ(first.alignment, 16u);
  EXPECT_EQ(first.threads, 384u);
  EXPECT_EQ(first.dynamic_shared_memory, 200000u);
  EXPECT_EQ(first.cluster, 2u);
  EXPECT_EQ(first.ctas_per_sm, 1u);
  EXPECT_EQ(std::tuple(first.tile_m, first.tile_n, first.tile_k), std::tuple(128u, 256u, 64u));
  EXPECT_EQ(first.stages, 4u);
  EXPECT_EQ(first.raster, 8u);
  EXPECT_EQ(first.tiles_per_cta, 3u);
  EXPECT_TRUE(StringRef(first.schedule).starts_with("wgmma tma 128x256x64 stages 4")) << first.schedule;
  EXPECT_STREQ(second.symbol, "linear_1");
  EXPECT_EQ(second.alignment, 2u);
  EXPECT_EQ(second.dynamic_shared_memory, 0u);
  EXPECT_EQ(second.tiles_per_cta, 1u);
}

TEST_F(EmbedLaunchInfo, Parameters) {
  ASSERT_EQ(variant(0).parameter_count, 2u);
  auto &map = at<sparsec_parameter_info_t>(header.parameter_offset, 0);
  EXPECT_EQ(map.kind, SPARSEC_PARAMETER_TENSOR_MAP);
  EXPECT_EQ(map.index, 1u);
  auto &size = at<sparsec_parameter_info_t>(header.parameter_offset, 1);
  EXPECT_EQ(size.kind, SPARSEC_PARAMETER_SIZE);
  EXPECT_EQ(size.argument, 2u);
  EXPECT_EQ(size.index, 1u);
}

TEST_F(EmbedLaunchInfo, TensorMaps) {
  ASSERT_EQ(header.tensor_map_count, 3u);
  auto &dense = at<sparsec_tensor_map_info_t>(header.tensor_map_offset, 0);
  EXPECT_EQ(dense.kind, SPARSEC_TENSOR_MAP_DENSE);
  EXPECT_EQ(dense.argument, 2u);
  EXPECT_EQ(dense.rank, 2u);
  EXPECT_EQ(dense.swizzle, SPARSEC_SWIZZLE_128B);
  EXPECT_EQ(dense.box[0], 64u);
  EXPECT_EQ(dense.box[1], 32u);
  auto &values = at<sparsec_tensor_map_info_t>(header.tensor_map_offset, 1);
  EXPECT_EQ(values.kind, SPARSEC_TENSOR_MAP_BSR_VALUES);
  EXPECT_EQ(values.rank, 3u);
  EXPECT_EQ(values.swizzle, SPARSEC_SWIZZLE_64B);
  EXPECT_EQ(at<sparsec_tensor_map_info_t>(header.tensor_map_offset, 2).kind, SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

// All options; the operands of the op in another order than the kernel's arguments; the second kernel has none.
constexpr const char *attentionModule = R"mlir(
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @attention(%ids: tensor<?x?xi32>, %v: tensor<2x?x?x128xf16>, %k: tensor<2x?x?x128xf16>, %c: f32,
      %q: tensor<2x?x?x128xf16>, %t: tensor<?xf16>, %p: !sparsec.pattern<128x64>)
      -> (o: tensor<2x?x?x128xf32>, lse: tensor<2x?x?xf32>) {
    %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%t, %ids) causal window = [1024, -1]
        score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %slopes: tensor<?xf16>, %documents: tensor<?x?xi32>) {
      %slope = sparsec.element %slopes[%h] : tensor<?xf16>
      %wide = arith.extf %slope : f16 to f32
      %distance = arith.subi %j, %i : i32
      %d = arith.sitofp %distance : i32 to f32
      %biased = math.fma %wide, %d, %s : f32
      sparsec.yield %biased : f32
    } mask (%b: i32, %h: i32, %i: i32, %j: i32, %slopes: tensor<?xf16>, %documents: tensor<?x?xi32>) {
      %minus = arith.constant -7 : i32
      %dj = sparsec.element %documents[%b, %j] : tensor<?x?xi32>
      %di = sparsec.element %documents[%i, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %dj, %di : i32
      %positive = arith.cmpi sgt, %dj, %minus : i32
      %both = arith.andi %same, %positive : i1
      %bits = arith.andi %dj, %minus : i32
      %chosen = arith.select %both, %bits, %dj : i32
      sparsec.yield %both : i1
    } : (tensor<2x?x?x128xf16>, tensor<2x?x?x128xf16>, tensor<2x?x?x128xf16>, !sparsec.pattern<128x64>, f32,
         tensor<?xf16>, tensor<?x?xi32>) -> (tensor<2x?x?x128xf32>, tensor<2x?x?xf32>)
    sparsec.return %o, %lse : tensor<2x?x?x128xf32>, tensor<2x?x?xf32>
  }
  sparsec.kernel @plain(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
      -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v
        score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
      sparsec.yield %s : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
  llvm.func @attention_0() attributes {sparsec.kernel = @attention, sparsec.parameters = [
      #sparsec.parameter<kind = pattern_field, argument = 6, index = 5>]} {
    llvm.return
  }
  llvm.func @attention_pattern() attributes {sparsec.kernel = @attention, sparsec.pattern_builder,
      sparsec.parameters = [#sparsec.parameter<kind = size, argument = 4, index = 2>], sparsec.threads = 512 : i64} {
    llvm.return
  }
  llvm.func @plain_0() attributes {sparsec.kernel = @plain, sparsec.parameters = []} {
    llvm.return
  }
})mlir";

class EmbedAttention : public LaunchInfoOfModule {
protected:
  void SetUp() override { embed(attentionModule); }
  const sparsec_kernel_info_t &kernel(unsigned index) { return at<sparsec_kernel_info_t>(header.kernel_offset, index); }
  const sparsec_attention_info_t &attentionOf(unsigned index) {
    return at<sparsec_attention_info_t>(header.attention_offset, kernel(index).detail);
  }
};

TEST_F(EmbedAttention, PatternBuilder) {
  EXPECT_EQ(header.variant_count, 3u);
  EXPECT_EQ(kernel(0).variant_count, 1u);
  EXPECT_EQ(kernel(1).variant_count, 1u);
  ASSERT_EQ(attentionOf(0).builder_count, 1u);
  const auto &builder = at<sparsec_variant_info_t>(header.variant_offset, attentionOf(0).builder_first);
  EXPECT_STREQ(builder.symbol, "attention_pattern");
  EXPECT_EQ(builder.threads, 512u);
  EXPECT_EQ(builder.parameter_count, 1u);
  EXPECT_EQ(attentionOf(1).builder_count, 0u);
}

TEST_F(EmbedAttention, Kernels) {
  ASSERT_EQ(header.kernel_count, 2u);
  EXPECT_EQ(header.attention_count, 2u);
  EXPECT_EQ(header.attention_size, sizeof(sparsec_attention_info_t));
  for (unsigned index : {0, 1}) {
    EXPECT_EQ(kernel(index).family, SPARSEC_FAMILY_ATTENTION);
    EXPECT_EQ(kernel(index).step_count, 0u);
  }
  EXPECT_EQ(attentionOf(0).head_dimension, 128u);
  EXPECT_EQ(attentionOf(0).causal, 1u);
  EXPECT_EQ(attentionOf(0).window_left, 1024);
  EXPECT_EQ(attentionOf(0).window_right, -1);
  EXPECT_EQ(attentionOf(1).head_dimension, 64u);
  EXPECT_EQ(attentionOf(1).causal, 0u);
  EXPECT_EQ(attentionOf(1).window_left, -1);
  EXPECT_EQ(attentionOf(1).window_right, -1);
}

TEST_F(EmbedAttention, Roles) {
  const std::pair<const char *, uint32_t> expected[] = {
      {"ids", SPARSEC_ROLE_REGION}, {"v", SPARSEC_ROLE_VALUE},  {"k", SPARSEC_ROLE_KEY},     {"c", SPARSEC_ROLE_SCALE},
      {"q", SPARSEC_ROLE_QUERY},    {"t", SPARSEC_ROLE_REGION}, {"p", SPARSEC_ROLE_PATTERN}, {"o", SPARSEC_ROLE_RESULT},
      {"lse", SPARSEC_ROLE_LSE},    {"q", SPARSEC_ROLE_QUERY},  {"k", SPARSEC_ROLE_KEY},     {"v", SPARSEC_ROLE_VALUE},
      {"o", SPARSEC_ROLE_RESULT}};
  ASSERT_EQ(header.argument_count, std::size(expected));
  for (auto [index, want] : llvm::enumerate(expected)) {
    EXPECT_STREQ(argument(index).name, want.first);
    EXPECT_EQ(argument(index).role, want.second) << want.first;
    EXPECT_EQ(argument(index).layout, SPARSEC_LAYOUT_NONE) << want.first;
    EXPECT_EQ(argument(index).broadcast, SPARSEC_BROADCAST_NONE) << want.first;
  }
}

TEST_F(EmbedAttention, Types) {
  const sparsec_argument_info_t &ids = argument(0), &scale = argument(3), &q = argument(4), &pattern = argument(6),
                                &o = argument(7), &lse = argument(8);
  EXPECT_EQ(std::tuple(ids.kind, ids.dtype, ids.rank), std::tuple(SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_I32, 2u));
  EXPECT_EQ(std::tuple(scale.kind, scale.dtype, scale.rank),
            std::tuple(SPARSEC_ARGUMENT_SCALAR, SPARSEC_DTYPE_F32, 0u));
  EXPECT_EQ(std::tuple(q.kind, q.dtype, q.rank), std::tuple(SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F16, 4u));
  EXPECT_EQ(std::tuple(q.sizes[0], q.sizes[2], q.sizes[3]), std::tuple(2, SPARSEC_DYNAMIC, 128));
  EXPECT_EQ(std::tuple(pattern.kind, pattern.dtype, pattern.rank),
            std::tuple(SPARSEC_ARGUMENT_PATTERN, SPARSEC_DTYPE_I32, 0u));
  EXPECT_EQ(std::tuple(pattern.block_rows, pattern.block_columns), std::tuple(128u, 64u));
  EXPECT_EQ(std::tuple(o.kind, o.dtype, o.rank), std::tuple(SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F32, 4u));
  EXPECT_EQ(std::tuple(lse.kind, lse.dtype, lse.rank), std::tuple(SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F32, 3u));
}

TEST_F(EmbedAttention, Score) {
  // Values: 0 the score, 1 batch, 2 head, 3 query, 4 key, 5... the steps. Tensors go by their number in the kernel.
  ASSERT_EQ(attentionOf(0).score_step_count, 5u);
  expectSteps(attentionOf(0).score_step_first, {{SPARSEC_STEP_LOAD, 5, 2, 0, 0.0},
                                                {SPARSEC_STEP_COPY, 5, 0, 0, 0.0},
                                                {SPARSEC_STEP_I32_SUBTRACT, 4, 3, 0, 0.0},
                                                {SPARSEC_STEP_I32_TO_F32, 7, 0, 0, 0.0},
                                                {SPARSEC_STEP_FMA, 6, 8, 0, 0.0}});
  EXPECT_EQ(attentionOf(1).score_step_count, 0u) << "the identity";
}

TEST_F(EmbedAttention, Mask) {
  // The same numbers as in the score region. Indices that do not follow each other are copied.
  ASSERT_EQ(attentionOf(0).mask_step_count, 11u);
  expectSteps(attentionOf(0).mask_step_first, {{SPARSEC_STEP_CONSTANT, 0, 0, 0, -7.0},   // 5
                                               {SPARSEC_STEP_COPY, 1, 0, 0, 0.0},        // 6
                                               {SPARSEC_STEP_COPY, 4, 0, 0, 0.0},        // 7
                                               {SPARSEC_STEP_LOAD, 0, 6, 0, 0.0},        // 8
                                               {SPARSEC_STEP_LOAD, 0, 3, 0, 0.0},        // 9
                                               {SPARSEC_STEP_I32_COMPARE, 8, 9, 0, 0.0}, // 10, eq
                                               {SPARSEC_STEP_I32_COMPARE, 8, 5, 4, 0.0}, // 11, sgt
                                               {SPARSEC_STEP_AND, 10, 11, 0, 0.0},       // 12
                                               {SPARSEC_STEP_I32_AND, 8, 5, 0, 0.0},     // 13
                                               {SPARSEC_STEP_SELECT, 12, 13, 8, 0.0},    // 14
                                               {SPARSEC_STEP_COPY, 12, 0, 0, 0.0}});
  EXPECT_EQ(attentionOf(1).mask_step_count, 0u);
}

TEST_F(EmbedAttention, PatternFieldsAreParameters) {
  auto &field = at<sparsec_parameter_info_t>(header.parameter_offset, 0);
  EXPECT_EQ(field.kind, SPARSEC_PARAMETER_PATTERN_FIELD);
  EXPECT_EQ(field.argument, 6u);
  EXPECT_EQ(field.index, SPARSEC_PATTERN_FIELD_PARTIAL_STARTS);
}

} // namespace
