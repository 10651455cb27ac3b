// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launch info that sparsec-embed-launch-info writes for a kernel, record by record.

#include "LaunchInfoWriter.h"
#include "Passes.h"
#include "TargetInfo.h"

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
        sparsec.schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 128,
          tile_k = 32, stages = 2, consumers_m = 2, consumers_n = 2>,
        sparsec.parameters = [#sparsec.parameter<kind = row_ptr, argument = 0>]} {
      llvm.return
    }
    llvm.func @linear_0(%p: !llvm.ptr<1>, %n: i32) attributes {sparsec.kernel = @linear, sparsec.variant = 0 : i64,
        sparsec.alignment = 16 : i64, sparsec.threads = 384 : i64, sparsec.shared_memory = 200000 : i64,
        sparsec.schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64,
          stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, group_m = 8, concurrent_tiles = 3>,
        sparsec.parameters = [#sparsec.parameter<kind = tensor_map, index = 1>,
          #sparsec.parameter<kind = size, argument = 2, index = 1>], sparsec.dependent_launch,
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

  template <typename Record> Records<Record> all() {
    return recordsOf<Record>(*reinterpret_cast<const sparsec_launch_info_t *>(info.data()));
  }
  const sparsec_kernel_info_t &kernel(unsigned index) { return all<sparsec_kernel_info_t>()[index]; }
  const sparsec_argument_info_t &argument(unsigned index) { return all<sparsec_argument_info_t>()[index]; }
  const sparsec_variant_info_t &variant(unsigned index) { return all<sparsec_variant_info_t>()[index]; }
  const sparsec_stage_info_t &stage(unsigned index) { return all<sparsec_stage_info_t>()[index]; }
  const sparsec_operation_info_t &operation(unsigned kernelIndex) {
    return all<sparsec_operation_info_t>()[kernel(kernelIndex).operation];
  }
  Records<sparsec_operand_info_t> operands(unsigned kernelIndex) {
    return all<sparsec_operand_info_t>().slice(operation(kernelIndex).operand_first,
                                               operation(kernelIndex).operand_count);
  }
  Records<sparsec_region_info_t> regions(unsigned kernelIndex) {
    return all<sparsec_region_info_t>().slice(operation(kernelIndex).region_first, operation(kernelIndex).region_count);
  }

  void expectInputs(const sparsec_region_info_t &region, ArrayRef<sparsec_input_info_t> expected) {
    ASSERT_EQ(region.input_count, expected.size());
    for (auto [index, want] : llvm::enumerate(expected)) {
      const sparsec_input_info_t &input = all<sparsec_input_info_t>()[region.input_first + index];
      EXPECT_EQ(std::tie(input.kind, input.operand), std::tie(want.kind, want.operand)) << "input " << index;
    }
  }
  void expectSteps(const sparsec_region_info_t &region, ArrayRef<sparsec_step_info_t> expected) {
    ASSERT_EQ(region.step_count, expected.size());
    for (auto [index, want] : llvm::enumerate(expected)) {
      const sparsec_step_info_t &step = all<sparsec_step_info_t>()[region.step_first + index];
      EXPECT_EQ(std::tie(step.op, step.a, step.b, step.c, step.immediate),
                std::tie(want.op, want.a, want.b, want.c, want.immediate))
          << "step " << index;
    }
  }
  void expectExtents(uint32_t first, uint32_t count, ArrayRef<sparsec_extent_info_t> expected) {
    ASSERT_EQ(count, expected.size());
    for (auto [index, want] : llvm::enumerate(expected)) {
      const sparsec_extent_info_t &extent = all<sparsec_extent_info_t>()[first + index];
      EXPECT_EQ(
          std::tie(extent.argument, extent.field, extent.dimension, extent.block, extent.tile, extent.combination),
          std::tie(want.argument, want.field, want.dimension, want.block, want.tile, want.combination))
          << "extent " << index;
    }
  }

  void expectPlanCosts(const sparsec_variant_info_t &variant, ArrayRef<sparsec_plan_cost_info_t> expected) {
    ASSERT_EQ(variant.plan_cost_count, expected.size());
    for (auto [index, want] : llvm::enumerate(expected)) {
      const sparsec_plan_cost_info_t &cost = all<sparsec_plan_cost_info_t>()[variant.plan_cost_first + index];
      EXPECT_EQ(std::tie(cost.key, cost.value), std::tie(want.key, want.value)) << "plan cost " << index;
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
  ASSERT_EQ(all<sparsec_kernel_info_t>().size(), 1u);
  EXPECT_STREQ(kernel(0).name, "linear");
  EXPECT_EQ(operation(0).kind, uint32_t(SPARSEC_OPERATION_SPMM));
  EXPECT_EQ(operation(0).attribute_count, 0u);
  EXPECT_EQ(kernel(0).argument_count, 6u);
  EXPECT_EQ(kernel(0).result_count, 1u);
  EXPECT_EQ(kernel(0).variant_count, 2u);
  EXPECT_EQ(kernel(0).auxiliary_count, 0u);
}

TEST_F(EmbedLaunchInfo, MatrixArgument) {
  const sparsec_argument_info_t &w = argument(0);
  EXPECT_STREQ(w.name, "w");
  EXPECT_EQ(w.kind, SPARSEC_ARGUMENT_BSR);
  EXPECT_EQ(w.dtype, SPARSEC_DTYPE_BF16);
  EXPECT_EQ(w.rank, 2u);
  EXPECT_EQ(w.sizes[0], SPARSEC_DYNAMIC);
  EXPECT_EQ(w.sizes[1], 64);
  EXPECT_EQ(w.block_rows, 64u);
  EXPECT_EQ(w.block_columns, 32u);
}

TEST_F(EmbedLaunchInfo, DenseArguments) {
  const sparsec_argument_info_t &x = argument(2), &y = argument(5);
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.kind, SPARSEC_ARGUMENT_DENSE);
  EXPECT_STREQ(y.name, "y");
  EXPECT_EQ(y.dtype, SPARSEC_DTYPE_F16);
  EXPECT_EQ(y.sizes[0], 8);
  EXPECT_EQ(y.sizes[1], SPARSEC_DYNAMIC);
  const sparsec_argument_info_t &scale = argument(1), &bias = argument(4);
  EXPECT_EQ(scale.kind, SPARSEC_ARGUMENT_SCALAR);
  EXPECT_EQ(scale.dtype, SPARSEC_DTYPE_F32);
  EXPECT_EQ(scale.rank, 0u);
  EXPECT_EQ(bias.rank, 1u);
}

TEST_F(EmbedLaunchInfo, Operands) {
  const sparsec_operand_info_t expected[] = {
      {SPARSEC_SPMM_MATRIX, 0, SPARSEC_LAYOUT_ROW_MAJOR, SPARSEC_BROADCAST_NONE},
      {SPARSEC_SPMM_DENSE, 2, SPARSEC_LAYOUT_TRANSPOSED, SPARSEC_BROADCAST_NONE},
      {SPARSEC_SPMM_EXTRA, 4, SPARSEC_LAYOUT_NONE, SPARSEC_BROADCAST_PER_ROW},
      {SPARSEC_SPMM_EXTRA, 3, SPARSEC_LAYOUT_TRANSPOSED, SPARSEC_BROADCAST_FULL},
      {SPARSEC_SPMM_EXTRA, 1, SPARSEC_LAYOUT_NONE, SPARSEC_BROADCAST_SCALAR},
      {SPARSEC_SPMM_RESULT, 5, SPARSEC_LAYOUT_TRANSPOSED, SPARSEC_BROADCAST_NONE}};
  ASSERT_EQ(operands(0).size(), std::size(expected));
  for (auto [index, want] : llvm::enumerate(expected)) {
    const sparsec_operand_info_t &operand = operands(0)[index];
    EXPECT_EQ(std::tie(operand.slot, operand.argument, operand.layout, operand.broadcast),
              std::tie(want.slot, want.argument, want.layout, want.broadcast))
        << index;
  }
}

TEST_F(LaunchInfoOfModule, AccumulationOfF8) {
  for (StringRef accumulation : {"two_level", "fast"}) {
    std::string text = R"mlir(
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
    %y = sparsec.spmm %w, %x accumulation(ACCUMULATION)
      : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
    sparsec.return %y : tensor<?x?xbf16>
  }
  llvm.func @f8.host(%p: !llvm.ptr, %b: i64, %e: i64) attributes {sparsec.kernel = @f8, sparsec.variant = 0 : i64,
      sparsec.alignment = 1 : i64, sparsec.parameters = [], sparsec.tile_m = 64 : i64, sparsec.tile_n = 64 : i64,
      sparsec.tile_k = 64 : i64} {
    llvm.return
  }
})mlir";
    text.replace(text.find("ACCUMULATION"), 12, accumulation.str());
    embed(text);
    EXPECT_EQ(argument(0).dtype, uint32_t(SPARSEC_DTYPE_F8E4M3FN));
    EXPECT_EQ(argument(1).dtype, uint32_t(SPARSEC_DTYPE_F8E5M2));
    ASSERT_EQ(operation(0).attribute_count, 1u);
    const auto &attribute = all<sparsec_attribute_info_t>()[operation(0).attribute_first];
    EXPECT_EQ(attribute.key, uint32_t(SPARSEC_ATTRIBUTE_ACCUMULATION));
    EXPECT_EQ(attribute.value, accumulation == "fast" ? SPARSEC_ACCUMULATION_FAST : SPARSEC_ACCUMULATION_TWO_LEVEL);
  }
}

TEST_F(EmbedLaunchInfo, Epilogue) {
  ASSERT_EQ(regions(0).size(), 1u);
  EXPECT_EQ(regions(0)[0].slot, uint32_t(SPARSEC_REGION_EPILOGUE));
  expectInputs(regions(0)[0], {{SPARSEC_INPUT_ACCUMULATOR, 0},
                               {SPARSEC_INPUT_OPERAND, 2},
                               {SPARSEC_INPUT_OPERAND, 3},
                               {SPARSEC_INPUT_OPERAND, 4}});
  // Values: 0 the accumulator, 1 bias, 2 residual, 3 scale, 4... the steps.
  expectSteps(regions(0)[0], {
                                 {SPARSEC_STEP_CONSTANT, 0, 0, 0, 0.5},
                                 {SPARSEC_STEP_COPY, 2, 0, 0, 0.0},
                                 {SPARSEC_STEP_FMA, 0, 3, 1, 0.0},
                                 {SPARSEC_STEP_COMPARE, 6, 4, SPARSEC_COMPARE_OGT, 0.0},
                                 {SPARSEC_STEP_SELECT, 7, 6, 5, 0.0},
                                 {SPARSEC_STEP_ROUND_BF16, 8, 0, 0, 0.0},
                                 {SPARSEC_STEP_COPY, 9, 0, 0, 0.0},
                                 {SPARSEC_STEP_TANH, 10, 0, 0, 0.0},
                                 {SPARSEC_STEP_COPY, 8, 0, 0, 0.0}, // the region does not yield its last op
                             });
}

TEST_F(EmbedLaunchInfo, VariantsAreInOrderOfPreference) {
  const sparsec_stage_info_t &first = stage(variant(0).stage_first), &second = stage(variant(1).stage_first);
  EXPECT_EQ(variant(0).stage_count, 1u);
  EXPECT_EQ(variant(0).required_sections, 0u);
  EXPECT_STREQ(first.symbol, "linear_0");
  EXPECT_EQ(variant(0).alignment, 16u);
  EXPECT_EQ(first.threads, 384u);
  EXPECT_EQ(first.dynamic_shared_memory, 200000u);
  EXPECT_EQ(first.cluster, 2u);
  EXPECT_EQ(first.ctas_per_sm, 1u);
  EXPECT_EQ(std::tuple(first.tile_m, first.tile_n, first.tile_k), std::tuple(128u, 256u, 64u));
  EXPECT_EQ(first.slots, 4u);
  EXPECT_EQ(first.group_m, 8u);
  EXPECT_EQ(first.concurrent_tiles, 3u);
  EXPECT_TRUE(StringRef(variant(0).schedule).starts_with("wgmma tma 128x256x64 stages 4")) << variant(0).schedule;
  EXPECT_STREQ(second.symbol, "linear_1");
  EXPECT_EQ(variant(1).alignment, 2u);
  EXPECT_EQ(second.dynamic_shared_memory, 0u);
  EXPECT_EQ(second.concurrent_tiles, 1u);
}

TEST_F(EmbedLaunchInfo, PlanCostsOfTheMatrixInstruction) {
  const MatrixInstruction instructions[] = {MatrixInstruction::Wgmma, MatrixInstruction::MmaSync};
  for (unsigned index : {0, 1}) {
    const PlanCosts &costs = findChip("sm_90a")->find(instructions[index])->planCosts;
    const sparsec_plan_cost_info_t all[] = {{SPARSEC_PLAN_COST_TILE_OVERHEAD, uint32_t(costs.spmmTileOverhead)},
                                            {SPARSEC_PLAN_COST_GROUPED_DENSITY, uint32_t(costs.groupedDensity)},
                                            {SPARSEC_PLAN_COST_PANEL_CACHE, uint32_t(costs.panelCache)}};
    expectPlanCosts(variant(index), ArrayRef(all).drop_back(index)); // mmaSync has no cache for panels
  }
}

TEST_F(EmbedLaunchInfo, GridIsOfTilesThatDoNotCrossBlocks) {
  const sparsec_stage_info_t &first = stage(variant(0).stage_first), &second = stage(variant(1).stage_first);
  expectExtents(first.row_first, first.row_count, {{0, SPARSEC_FIELD_SIZE, 0, 64, 128, 0}});
  expectExtents(first.panel_first, first.panel_count, {{2, SPARSEC_FIELD_SIZE, 0, 512, 512, 0}});
  expectExtents(second.row_first, second.row_count, {{0, SPARSEC_FIELD_SIZE, 0, 64, 64, 0}});
  expectExtents(second.panel_first, second.panel_count, {{2, SPARSEC_FIELD_SIZE, 0, 128, 128, 0}});
}

/// With N contiguous, tensor copies bring 64 columns of B for a block of 16. Threads bring blocks side by side. The
/// width of A and B may be any.
TEST_F(LaunchInfoOfModule, PanelsOfSampledProductsHaveTheBlocksOfATile) {
  embed(R"mlir(
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  sparsec.kernel @sampled(%p: !sparsec.bsr<?x?xbf16, block = 32x16>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>)
      -> (s: tensor<?x32x16xbf16>) {
    %s = sparsec.sddmm %p, %a, %b b_layout(kn)
      : (!sparsec.bsr<?x?xbf16, block = 32x16>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x32x16xbf16>
    sparsec.return %s : tensor<?x32x16xbf16>
  }
  gpu.module @kernels {
    llvm.func @sampled_0(%p: !llvm.ptr<1>) attributes {sparsec.kernel = @sampled, sparsec.variant = 0 : i64,
        sparsec.alignment = 16 : i64, sparsec.threads = 384 : i64, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64,
          stages = 4, consumers_m = 1, consumers_n = 2>} {
      llvm.return
    }
    llvm.func @sampled_1(%p: !llvm.ptr<1>) attributes {sparsec.kernel = @sampled, sparsec.variant = 1 : i64,
        sparsec.alignment = 16 : i64, sparsec.threads = 128 : i64, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 128,
          tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
      llvm.return
    }
  }
})mlir");
  const sparsec_stage_info_t &wgmma = stage(variant(0).stage_first), &mmaSync = stage(variant(1).stage_first);
  expectExtents(wgmma.panel_first, wgmma.panel_count, {{0, SPARSEC_FIELD_SIZE, 1, 64, 64, 0}});
  expectExtents(mmaSync.panel_first, mmaSync.panel_count, {{0, SPARSEC_FIELD_SIZE, 1, 128, 128, 0}});
  expectExtents(mmaSync.row_first, mmaSync.row_count,
                {{0, SPARSEC_FIELD_SIZE, 0, 32, 32, 0}, {3, SPARSEC_FIELD_SIZE, 1, 32, 16, 0}});
  for (const sparsec_requirement_info_t &requirement : all<sparsec_requirement_info_t>())
    EXPECT_EQ(requirement.width_alignment, 1u) << "of argument " << requirement.argument;
}

TEST_F(EmbedLaunchInfo, KernelsThatWaitByThemselvesMayStartEarly) {
  EXPECT_EQ(all<sparsec_stage_info_t>()[variant(0).stage_first].flags, SPARSEC_STAGE_DEPENDENT_LAUNCH);
  EXPECT_EQ(all<sparsec_stage_info_t>()[variant(1).stage_first].flags, 0u);
}

/// X has a tensor map and needs no whole width; nor does Y, which has none. f32 needs 16 bytes as bf16 does.
TEST_F(EmbedLaunchInfo, Requirements) {
  const sparsec_requirement_info_t expected[] = {
      {0, 16, 1, 0}, {2, 16, 1, 0}, {4, 16, 1, 0}, {3, 16, 1, 0}, {5, 16, 1, 0}};
  ASSERT_EQ(variant(0).requirement_count, std::size(expected));
  for (auto [index, want] : llvm::enumerate(expected)) {
    const auto &requirement = all<sparsec_requirement_info_t>()[variant(0).requirement_first + index];
    EXPECT_EQ(std::tie(requirement.argument, requirement.alignment, requirement.width_alignment),
              std::tie(want.argument, want.alignment, want.width_alignment))
        << index;
  }
  EXPECT_EQ(variant(1).requirement_count, 0u) << "all elements have 2 bytes or more";
}

TEST_F(EmbedLaunchInfo, Parameters) {
  ASSERT_EQ(stage(variant(0).stage_first).parameter_count, 2u);
  const sparsec_parameter_info_t &map = all<sparsec_parameter_info_t>()[0], &size = all<sparsec_parameter_info_t>()[1];
  EXPECT_EQ(map.source, uint32_t(SPARSEC_SOURCE_TENSOR_MAP));
  EXPECT_EQ(map.index, 1u);
  EXPECT_EQ(size.source, uint32_t(SPARSEC_SOURCE_ARGUMENT));
  EXPECT_EQ(size.index, 2u);
  EXPECT_EQ(size.field, uint32_t(SPARSEC_FIELD_SIZE));
  EXPECT_EQ(size.dimension, 1u);
}

TEST_F(EmbedLaunchInfo, TensorMaps) {
  auto maps = all<sparsec_tensor_map_info_t>();
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps[0].kind, SPARSEC_TENSOR_MAP_DENSE);
  EXPECT_EQ(maps[0].argument, 2u);
  EXPECT_EQ(maps[0].rank, 2u);
  EXPECT_EQ(maps[0].swizzle, SPARSEC_SWIZZLE_128B);
  EXPECT_EQ(maps[0].box[0], 64u);
  EXPECT_EQ(maps[0].box[1], 32u);
  EXPECT_EQ(maps[1].kind, SPARSEC_TENSOR_MAP_BSR_VALUES);
  EXPECT_EQ(maps[1].rank, 3u);
  EXPECT_EQ(maps[1].swizzle, SPARSEC_SWIZZLE_64B);
  EXPECT_EQ(maps[2].kind, SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES);
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
  sparsec.kernel @plain(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x128xbf16>,
      %sinks: tensor<?xf32>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v sinks(%sinks)
        score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
      sparsec.yield %s : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>)
        -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }
  llvm.func @attention_0() attributes {sparsec.kernel = @attention, sparsec.alignment = 16 : i64,
      sparsec.tile_m = 64 : i64, sparsec.workspaces = [#sparsec.workspace<kind = tile_counter, bytes = 4>,
                            #sparsec.workspace<kind = scratch, bytes = 8>],
      sparsec.parameters = [#sparsec.parameter<kind = pattern_field, argument = 6, index = 7>,
                            #sparsec.parameter<kind = workspace, index = 0>]} {
    llvm.return
  }
  llvm.func @attention_block_mask() attributes {sparsec.kernel = @attention,
      sparsec.auxiliary = #sparsec.auxiliary<block_mask_reader>, sparsec.concurrent_tiles = 4 : i64,
      sparsec.parameters = [#sparsec.parameter<kind = input>], sparsec.threads = 128 : i64} {
    llvm.return
  }
  llvm.func @attention_top_k() attributes {sparsec.kernel = @attention,
      sparsec.auxiliary = #sparsec.auxiliary<top_k_blocks>, sparsec.concurrent_tiles = 4 : i64,
      sparsec.parameters = [#sparsec.parameter<kind = input, index = 2>], sparsec.threads = 128 : i64} {
    llvm.return
  }
  llvm.func @attention_pattern() attributes {sparsec.kernel = @attention,
      sparsec.auxiliary = #sparsec.auxiliary<pattern_builder>,
      sparsec.parameters = [#sparsec.parameter<kind = size, argument = 4, index = 2>], sparsec.threads = 512 : i64} {
    llvm.return
  }
  llvm.func @plain_0() attributes {sparsec.kernel = @plain, sparsec.alignment = 16 : i64, sparsec.parameters = []} {
    llvm.return
  }
})mlir";

class EmbedAttention : public LaunchInfoOfModule {
protected:
  void SetUp() override { embed(attentionModule); }
};

TEST_F(EmbedAttention, AuxiliaryKernels) {
  EXPECT_EQ(kernel(0).variant_count, 1u);
  EXPECT_EQ(kernel(1).variant_count, 1u);
  ASSERT_EQ(kernel(0).auxiliary_count, 3u);
  EXPECT_EQ(kernel(1).auxiliary_count, 0u);
  struct {
    sparsec_auxiliary_kind_t kind;
    const char *symbol;
    uint32_t threads, concurrentTiles;
  } expected[] = {{SPARSEC_AUXILIARY_PATTERN_BUILDER, "attention_pattern", 512, 1},
                  {SPARSEC_AUXILIARY_BLOCK_MASK_READER, "attention_block_mask", 128, 4},
                  {SPARSEC_AUXILIARY_TOP_K_BLOCKS, "attention_top_k", 128, 4}};
  for (auto [index, want] : llvm::enumerate(expected)) {
    const sparsec_auxiliary_info_t &auxiliary = all<sparsec_auxiliary_info_t>()[kernel(0).auxiliary_first + index];
    EXPECT_EQ(auxiliary.kind, uint32_t(want.kind));
    const sparsec_stage_info_t &machineKernel = stage(auxiliary.stage);
    EXPECT_STREQ(machineKernel.symbol, want.symbol);
    EXPECT_EQ(machineKernel.threads, want.threads);
    EXPECT_EQ(machineKernel.concurrent_tiles, want.concurrentTiles);
    EXPECT_EQ(machineKernel.parameter_count, 1u);
    EXPECT_EQ(machineKernel.ctas_per_sm, 0u);
    expectExtents(machineKernel.row_first, machineKernel.row_count,
                  {{6, SPARSEC_FIELD_BATCHES, 0, 1, 1, 0},
                   {6, SPARSEC_FIELD_HEADS, 0, 1, 1, 0},
                   {4, SPARSEC_FIELD_SIZE, 2, 128, 128, 0}});
  }
  for (auto [index, input] : {std::pair(1, 0u), std::pair(2, 2u)}) {
    const uint32_t reader = all<sparsec_auxiliary_info_t>()[kernel(0).auxiliary_first + index].stage;
    const auto &parameter = all<sparsec_parameter_info_t>()[stage(reader).parameter_first];
    EXPECT_EQ(parameter.source, uint32_t(SPARSEC_SOURCE_INPUT));
    EXPECT_EQ(parameter.index, input);
  }
}

TEST_F(EmbedAttention, Attributes) {
  ASSERT_EQ(all<sparsec_kernel_info_t>().size(), 2u);
  const std::vector<int64_t> expected[] = {{128, 1, 1024, -1}, {64, 0, -1, -1, 128}};
  constexpr uint32_t keys[] = {SPARSEC_ATTRIBUTE_HEAD_DIMENSION, SPARSEC_ATTRIBUTE_CAUSAL,
                               SPARSEC_ATTRIBUTE_WINDOW_LEFT, SPARSEC_ATTRIBUTE_WINDOW_RIGHT,
                               SPARSEC_ATTRIBUTE_VALUE_DIMENSION};
  for (unsigned index : {0, 1}) {
    EXPECT_EQ(operation(index).kind, uint32_t(SPARSEC_OPERATION_ATTENTION));
    ASSERT_EQ(operation(index).attribute_count, expected[index].size());
    for (unsigned i = 0; i < expected[index].size(); ++i) {
      const auto &attribute = all<sparsec_attribute_info_t>()[operation(index).attribute_first + i];
      EXPECT_EQ(attribute.key, keys[i]);
      EXPECT_EQ(attribute.value, expected[index][i]);
    }
  }
}

TEST_F(EmbedAttention, Operands) {
  const std::vector<std::pair<uint32_t, const char *>> expected[] = {{{SPARSEC_ATTENTION_QUERY, "q"},
                                                                      {SPARSEC_ATTENTION_KEY, "k"},
                                                                      {SPARSEC_ATTENTION_VALUE, "v"},
                                                                      {SPARSEC_ATTENTION_PATTERN, "p"},
                                                                      {SPARSEC_ATTENTION_SCALE, "c"},
                                                                      {SPARSEC_ATTENTION_EXTRA, "t"},
                                                                      {SPARSEC_ATTENTION_EXTRA, "ids"},
                                                                      {SPARSEC_ATTENTION_RESULT, "o"},
                                                                      {SPARSEC_ATTENTION_LSE, "lse"}},
                                                                     {{SPARSEC_ATTENTION_QUERY, "q"},
                                                                      {SPARSEC_ATTENTION_KEY, "k"},
                                                                      {SPARSEC_ATTENTION_VALUE, "v"},
                                                                      {SPARSEC_ATTENTION_SINKS, "sinks"},
                                                                      {SPARSEC_ATTENTION_RESULT, "o"}}};
  for (unsigned index : {0, 1}) {
    ASSERT_EQ(operands(index).size(), expected[index].size());
    for (auto [number, want] : llvm::enumerate(expected[index])) {
      const sparsec_operand_info_t &operand = operands(index)[number];
      EXPECT_EQ(operand.slot, want.first);
      EXPECT_STREQ(argument(kernel(index).argument_first + operand.argument).name, want.second);
    }
  }
}

TEST_F(EmbedAttention, GridIsOfHeadsAndQueries) {
  const sparsec_stage_info_t &first = stage(variant(0).stage_first);
  expectExtents(first.row_first, first.row_count,
                {{4, SPARSEC_FIELD_SIZE, 0, 1, 1, 0}, {4, SPARSEC_FIELD_SIZE, 1, 1, 1, 0}});
  expectExtents(first.panel_first, first.panel_count, {{4, SPARSEC_FIELD_SIZE, 2, 64, 64, 0}});
}

/// Rows of Q, K, V and O; what regions load, sinks and the LSE go element by element.
TEST_F(EmbedAttention, Requirements) {
  ASSERT_EQ(variant(0).requirement_count, 4u);
  EXPECT_EQ(variant(1).requirement_count, 4u);
  constexpr uint32_t arguments[] = {4, 2, 1, 7};
  for (auto [index, want] : llvm::enumerate(arguments)) {
    const auto &requirement = all<sparsec_requirement_info_t>()[variant(0).requirement_first + index];
    EXPECT_EQ(requirement.argument, want);
    EXPECT_EQ(requirement.alignment, 16u);
  }
}

/// Plans of products alone have groups.
TEST_F(EmbedAttention, PlanCosts) {
  expectPlanCosts(variant(0), {{SPARSEC_PLAN_COST_TILE_OVERHEAD, uint32_t(hostPlanCosts.attentionTileOverhead)}});
}

TEST_F(EmbedAttention, Workspace) {
  ASSERT_EQ(variant(0).workspace_count, 2u);
  EXPECT_EQ(variant(1).workspace_count, 0u);
  const sparsec_workspace_info_t &workspace = all<sparsec_workspace_info_t>()[0];
  EXPECT_EQ(workspace.element_bytes, 4u);
  EXPECT_EQ(workspace.is_zeroed, 1u);
  EXPECT_EQ(workspace.lifetime, uint32_t(SPARSEC_LIFETIME_LAUNCHES));
  EXPECT_EQ(workspace.extent_count, 0u);
  EXPECT_EQ(workspace.kind, uint32_t(SPARSEC_WORKSPACE_TILE_COUNTER));
  const sparsec_workspace_info_t &scratch = all<sparsec_workspace_info_t>()[1];
  EXPECT_EQ(scratch.element_bytes, 8u);
  EXPECT_EQ(scratch.is_zeroed, 0u);
  EXPECT_EQ(scratch.lifetime, uint32_t(SPARSEC_LIFETIME_LAUNCH));
  EXPECT_EQ(scratch.kind, uint32_t(SPARSEC_WORKSPACE_SCRATCH));
  EXPECT_EQ(all<sparsec_parameter_info_t>()[1].source, uint32_t(SPARSEC_SOURCE_WORKSPACE));
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
  ASSERT_EQ(regions(0).size(), 2u);
  EXPECT_TRUE(regions(1).empty()) << "the identity";
  const sparsec_region_info_t &score = regions(0)[0];
  EXPECT_EQ(score.slot, uint32_t(SPARSEC_REGION_SCORE));
  expectInputs(score, {{SPARSEC_INPUT_SCORE, 0},
                       {SPARSEC_INPUT_BATCH, 0},
                       {SPARSEC_INPUT_HEAD, 0},
                       {SPARSEC_INPUT_QUERY, 0},
                       {SPARSEC_INPUT_KEY, 0}});
  // Tensors go by their number among the operands.
  expectSteps(score, {{SPARSEC_STEP_LOAD, 5, 2, 0, 0.0},
                      {SPARSEC_STEP_COPY, 5, 0, 0, 0.0},
                      {SPARSEC_STEP_I32_SUBTRACT, 4, 3, 0, 0.0},
                      {SPARSEC_STEP_I32_TO_F32, 7, 0, 0, 0.0},
                      {SPARSEC_STEP_FMA, 6, 8, 0, 0.0}});
}

TEST_F(EmbedAttention, Mask) {
  const sparsec_region_info_t &mask = regions(0)[1];
  EXPECT_EQ(mask.slot, uint32_t(SPARSEC_REGION_MASK));
  expectInputs(mask,
               {{SPARSEC_INPUT_BATCH, 0}, {SPARSEC_INPUT_HEAD, 0}, {SPARSEC_INPUT_QUERY, 0}, {SPARSEC_INPUT_KEY, 0}});
  // Indices that do not follow each other are copied.
  expectSteps(mask, {{SPARSEC_STEP_CONSTANT, 0, 0, 0, -7.0},   // 4
                     {SPARSEC_STEP_COPY, 0, 0, 0, 0.0},        // 5
                     {SPARSEC_STEP_COPY, 3, 0, 0, 0.0},        // 6
                     {SPARSEC_STEP_LOAD, 6, 5, 0, 0.0},        // 7
                     {SPARSEC_STEP_LOAD, 6, 2, 0, 0.0},        // 8
                     {SPARSEC_STEP_I32_COMPARE, 7, 8, 0, 0.0}, // 9, eq
                     {SPARSEC_STEP_I32_COMPARE, 7, 4, 4, 0.0}, // 10, sgt
                     {SPARSEC_STEP_AND, 9, 10, 0, 0.0},        // 11
                     {SPARSEC_STEP_I32_AND, 7, 4, 0, 0.0},     // 12
                     {SPARSEC_STEP_SELECT, 11, 12, 7, 0.0},    // 13
                     {SPARSEC_STEP_COPY, 11, 0, 0, 0.0}});
}

TEST_F(EmbedAttention, PatternFieldsAreParameters) {
  const sparsec_parameter_info_t &field = all<sparsec_parameter_info_t>()[0];
  EXPECT_EQ(field.source, uint32_t(SPARSEC_SOURCE_ARGUMENT));
  EXPECT_EQ(field.index, 6u);
  EXPECT_EQ(field.field, uint32_t(SPARSEC_FIELD_PARTIAL_STARTS));
}

constexpr const char *sequenceModule = R"mlir(module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @serve(%q: tensor<1x?x?x64xbf16>, %k: tensor<?x?x32x64xbf16>, %v: tensor<?x?x32x64xbf16>,
      %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>)
      -> (o: tensor<1x?x?x64xbf16>, lse: tensor<1x?x?xf32>) {
    %o, %lse = sparsec.attention %q, %k, %v query_starts(%starts) key_lengths(%lengths) page_table(%table)
      : (tensor<1x?x?x64xbf16>, tensor<?x?x32x64xbf16>, tensor<?x?x32x64xbf16>, tensor<?xi32>, tensor<?xi32>,
         tensor<?x?xi32>) -> (tensor<1x?x?x64xbf16>, tensor<1x?x?xf32>)
    sparsec.return %o, %lse : tensor<1x?x?x64xbf16>, tensor<1x?x?xf32>
  }
  llvm.func @serve_0() attributes {sparsec.kernel = @serve, sparsec.alignment = 16 : i64, sparsec.tile_m = 128 : i64,
      sparsec.parameters = []} {
    llvm.return
  }
})mlir";

class EmbedSequences : public LaunchInfoOfModule {
protected:
  void SetUp() override { embed(sequenceModule); }
};

TEST_F(EmbedSequences, OperandsAndLayouts) {
  const std::pair<uint32_t, uint32_t> expected[] = {
      {SPARSEC_ATTENTION_QUERY, SPARSEC_LAYOUT_PACKED},     {SPARSEC_ATTENTION_KEY, SPARSEC_LAYOUT_PAGED},
      {SPARSEC_ATTENTION_VALUE, SPARSEC_LAYOUT_PAGED},      {SPARSEC_ATTENTION_QUERY_STARTS, SPARSEC_LAYOUT_NONE},
      {SPARSEC_ATTENTION_KEY_LENGTHS, SPARSEC_LAYOUT_NONE}, {SPARSEC_ATTENTION_PAGE_TABLE, SPARSEC_LAYOUT_NONE},
      {SPARSEC_ATTENTION_RESULT, SPARSEC_LAYOUT_PACKED},    {SPARSEC_ATTENTION_LSE, SPARSEC_LAYOUT_PACKED}};
  ASSERT_EQ(operands(0).size(), std::size(expected));
  for (auto [number, want] : llvm::enumerate(expected))
    EXPECT_EQ(std::pair(operands(0)[number].slot, operands(0)[number].layout), want);
}

/// Every sequence may have a panel that is not full.
TEST_F(EmbedSequences, PanelsOfPackedQueries) {
  const sparsec_stage_info_t &first = stage(variant(0).stage_first);
  const uint32_t query = operands(0)[0].argument, starts = operands(0)[3].argument;
  expectExtents(first.panel_first, first.panel_count,
                {{query, SPARSEC_FIELD_SIZE, 2, 128, 128, 0}, {starts, SPARSEC_FIELD_SIZE, 0, 1, 1, 1}});
}

/// Starts, lengths and tables are read number by number.
TEST_F(EmbedSequences, RowsAloneHaveRequirements) { EXPECT_EQ(variant(0).requirement_count, 4u); }

constexpr const char *mergeModule = R"mlir(module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @merge(%a: tensor<?x?x?x64xf32>, %b: tensor<?x?x?xf32>)
      -> (o: tensor<?x?x?x64xbf16>, lse: tensor<?x?x?xf32>) {
    %o, %lse = sparsec.merge %a, %b, %a, %b
      : (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
      -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
    sparsec.return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  }
  gpu.module @kernels {
    llvm.func @merge_0() attributes {sparsec.kernel = @merge, sparsec.alignment = 16 : i64, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 64, tile_n = 64, tile_k = 1,
          stages = 1, consumers_m = 8, consumers_n = 1>} {
      llvm.return
    }
  }
})mlir";

/// Rows of all heads are counted together. Vectors of 16 bytes need whole rows, and without a matrix instruction plans
/// have nothing to compare.
TEST_F(LaunchInfoOfModule, Merge) {
  embed(mergeModule);
  EXPECT_EQ(operation(0).kind, uint32_t(SPARSEC_OPERATION_MERGE));
  const sparsec_stage_info_t &first = stage(variant(0).stage_first);
  expectExtents(first.row_first, first.row_count,
                {{2, SPARSEC_FIELD_SIZE, 0, 1, 1, SPARSEC_EXTENT_JOINED},
                 {2, SPARSEC_FIELD_SIZE, 1, 1, 1, SPARSEC_EXTENT_JOINED},
                 {2, SPARSEC_FIELD_SIZE, 2, 64, 64, SPARSEC_EXTENT_FACTOR}});
  EXPECT_EQ(first.panel_count, 0u);
  ASSERT_EQ(variant(0).requirement_count, 2u) << "LSE have none";
  for (uint32_t number : {0, 1}) {
    const sparsec_requirement_info_t &requirement = all<sparsec_requirement_info_t>()[number];
    EXPECT_EQ(std::tie(requirement.alignment, requirement.width_alignment), std::tuple(16u, 16u));
  }
  expectPlanCosts(variant(0), {});
}

} // namespace
