// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every check of a launch info, each by a good one with one thing broken.

#include "image/checksum.h"
#include "image/launch_info_reader.h"
#include "runtime_expect.h"
#include "runtime_images.h"

#include <cstring>
#include <functional>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

Status parse(const ByteVector &bytes) {
  LaunchInfo info;
  return LaunchInfo::parse(bytes, info);
}

/// Changes the header of a finished launch info and makes its checksum right again.
ByteVector withHeader(const std::function<void(sparsec_launch_info_t &)> &change) {
  ByteVector bytes = cudaLinear().build();
  sparsec_launch_info_t header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  updateChecksum(bytes);
  return bytes;
}

Status parseChanged(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder info = cudaLinear();
  change(info);
  return parse(info.build());
}

TEST(LaunchInfo, Crc32IsThatOfIeee) {
  const uint8_t check[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(crc32(check, sizeof(check)), 0xcbf43926u); // the published check value
}

TEST(LaunchInfo, GoodOneIsRead) {
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(cudaLinear().build(), info));
  const sparsec_kernel_info_t &kernel = info.all<sparsec_kernel_info_t>()[0];
  EXPECT_STREQ(kernel.name, "linear");
  EXPECT_STREQ(info.argumentsOf(kernel)[4].name, "y");
  const sparsec_stage_info_t &stage = info.stagesOf(info.variantsOf(kernel)[1])[0];
  EXPECT_STREQ(stage.symbol, "linear_any");
  EXPECT_EQ(info.parametersOf(stage)[1].field, uint32_t(SPARSEC_FIELD_FULL_STARTS));
  EXPECT_EQ(info.all<sparsec_tensor_map_info_t>()[2].box[0], 32u);
  const sparsec_region_info_t &epilogue = info.regionsOf(info.operationOf(kernel))[0];
  EXPECT_EQ(info.stepsOf(epilogue)[1].op, uint32_t(SPARSEC_STEP_ADD));
  EXPECT_EQ(info.inputsOf(epilogue).size(), 3u);
  EXPECT_FALSE(info.isHost());
}

TEST(LaunchInfo, EveryTruncationIsRefused) {
  ByteVector bytes = cudaLinear().build();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_STATUS(parse(ByteVector(bytes.begin(), bytes.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
}

TEST(LaunchInfo, EveryChangedByteIsNoticed) {
  ByteVector good = cudaLinear().build();
  for (size_t i = 0; i < good.size(); ++i) {
    ByteVector bytes = good;
    bytes[i] ^= 0x40;
    EXPECT_NE(sparsec_status_code(parse(bytes).get()), SPARSEC_STATUS_OK) << "byte " << i;
  }
}

TEST(LaunchInfo, ChangedBytesWithAGoodChecksumAreReadOrRefused) {
  for (const LaunchInfoBuilder &builder : {cudaLinear(), cudaAttention()}) {
    const ByteVector good = builder.build();
    for (size_t i = 0; i < good.size(); ++i)
      for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
        ByteVector bytes = good;
        bytes[i] = value;
        updateChecksum(bytes);
        Status status = parse(bytes);
        EXPECT_THAT(sparsec_status_code(status.get()),
                    ::testing::AnyOf(SPARSEC_STATUS_OK, SPARSEC_STATUS_INVALID_IMAGE, SPARSEC_STATUS_VERSION_MISMATCH));
      }
  }
}

TEST(LaunchInfo, VersionsAreNamed) {
  EXPECT_STATUS(parse(withHeader([](auto &header) { header.major = 7, header.minor = 3; })),
                SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version 7.3, but this runtime reads version 4.x");
}

TEST(LaunchInfo, LargerMinorVersionIsReadAsLongAsItsContentsAreKnown) {
  EXPECT_OK(parseChanged([](auto &info) { info.header.minor = 21; }));
  EXPECT_STATUS(parseChanged([](auto &info) { info.header.minor = 21, info.operations[0].kind = 77; }),
                SPARSEC_STATUS_VERSION_MISMATCH, "version 4.21 and kernel 0 uses operation 77");
}

TEST(LaunchInfo, HeaderFieldsAreChecked) {
  struct {
    const char *message;
    std::function<void(sparsec_launch_info_t &)> change;
  } cases[] = {
      {"magic", [](auto &h) { h.magic ^= 1; }},
      {"truncated", [](auto &h) { h.total_size = 8; }},
      {"a directory of 17 entries of 8 bytes", [](auto &h) { h.directory_size = 8; }},
      {"does not lie within", [](auto &h) { h.directory_count = 0x7fffffff; }},
      {"does not lie within", [](auto &h) { h.directory_offset = 0; }},
      {"does not lie within", [](auto &h) { h.directory_offset += 4; }},
      {"target or compiler name", [](auto &h) { h.target[0] = 0; }},
      {"target or compiler name", [](auto &h) { std::memset(h.compiler, 'x', sizeof(h.compiler)); }},
      {"unknown target kind 3", [](auto &h) { h.target_kind = 3; }},
      {"compute capability 0", [](auto &h) { h.compute_capability = 0; }},
      {"arch_specific 2", [](auto &h) { h.arch_specific = 2; }},
      {"no kernel", [](auto &h) { h.directory_count = 0; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parse(withHeader(change)), SPARSEC_STATUS_INVALID_IMAGE, message);
}

/// Changes an entry of the directory; table `id` is entry id - 1.
ByteVector withTable(sparsec_table_id_t id, const std::function<void(sparsec_table_info_t &)> &change) {
  ByteVector bytes = cudaLinear().build();
  uint8_t *place = bytes.data() + sizeof(sparsec_launch_info_t) + (id - 1) * sizeof(sparsec_table_info_t);
  sparsec_table_info_t entry;
  std::memcpy(&entry, place, sizeof(entry));
  EXPECT_EQ(entry.id, uint32_t(id));
  change(entry);
  std::memcpy(place, &entry, sizeof(entry));
  updateChecksum(bytes);
  return bytes;
}

TEST(LaunchInfo, DirectoryIsChecked) {
  struct {
    const char *message;
    sparsec_table_id_t id;
    std::function<void(sparsec_table_info_t &)> change;
  } cases[] = {
      {"records of table 1 have 152 bytes, but at least 160", SPARSEC_TABLE_KERNELS,
       [](auto &t) { t.record_size = 152; }},
      {"records of table 2 have 132 bytes", SPARSEC_TABLE_ARGUMENTS, [](auto &t) { t.record_size = 132; }},
      {"do not lie within", SPARSEC_TABLE_VARIANTS, [](auto &t) { t.count = 0x7fffffff; }},
      {"do not lie within", SPARSEC_TABLE_PARAMETERS, [](auto &t) { t.offset = 0; }},
      {"do not lie within", SPARSEC_TABLE_TENSOR_MAPS, [](auto &t) { t.offset += 4; }},
      {"do not lie within", SPARSEC_TABLE_STEPS, [](auto &t) { t.offset = 0xfffffff8; }},
      {"table 1 is there twice", SPARSEC_TABLE_STEPS, [](auto &t) { t.id = SPARSEC_TABLE_KERNELS; }},
  };
  for (auto &[message, id, change] : cases)
    EXPECT_STATUS(parse(withTable(id, change)), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, TablesOfLaterVersionsAreLeftAlone) {
  EXPECT_OK(parse(withTable(SPARSEC_TABLE_AUXILIARIES, [](auto &table) {
    table.id = 1000;
    table.offset = 1;
  })));
}

TEST(LaunchInfo, RecordsAreChecked) {
  enum { w, x, bias, alpha, y };
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      // Kernels and arguments.
      {"its name is empty", [](auto &i) { i.kernels[0].name[0] = 0; }},
      {"its name is empty or has no end", [](auto &i) { std::memset(i.kernels[0].name, 'x', SPARSEC_SYMBOL_LENGTH); }},
      {"is also that of kernel 0", [](auto &i) { i.kernels.push_back(i.kernels[0]); }},
      {"arguments 1 + 5 of 5", [](auto &i) { i.kernels[0].argument_first = 1; }},
      {"arguments 4294967295 + 5", [](auto &i) { i.kernels[0].argument_first = UINT32_MAX; }},
      {"6 results of 5 arguments", [](auto &i) { i.kernels[0].result_count = 6; }},
      {"operation 1 + 1 of 1", [](auto &i) { i.kernels[0].operation = 1; }},
      {"it has no variant", [](auto &i) { i.kernels[0].variant_count = 0; }},
      {"variants 0 + 3 of 2", [](auto &i) { i.kernels[0].variant_count = 3; }},
      {"auxiliary kernels 0 + 1 of 0", [](auto &i) { i.kernels[0].auxiliary_count = 1; }},
      {"name of argument 1", [](auto &i) { i.arguments[x].name[0] = 0; }},
      {"arguments 0 and 1 have the same name 'w'", [](auto &i) { std::strcpy(i.arguments[x].name, "w"); }},
      {"unknown argument kind 5", [](auto &i) { i.arguments[x].kind = 5; }},
      {"unknown element type 42", [](auto &i) { i.arguments[x].dtype = 42; }},
      {"rank 6, at most 5", [](auto &i) { i.arguments[x].rank = 6; }},
      {"size -2", [](auto &i) { i.arguments[x].sizes[0] = -2; }},
      {"blocks of 0 x 64", [](auto &i) { i.arguments[w].block_rows = 0; }},
      // The operation.
      {"unknown operation 9", [](auto &i) { i.operations[0].kind = 9; }},
      {"operands 0 + 6 of 5", [](auto &i) { i.operations[0].operand_count = 6; }},
      {"attributes 0 + 1 of 0", [](auto &i) { i.operations[0].attribute_count = 1; }},
      {"unknown attribute of spmm 1",
       [](auto &i) {
         i.attributes = {{SPARSEC_ATTRIBUTE_HEAD_DIMENSION, 0, 64}};
         i.operations[0].attribute_count = 1;
       }},
      {"accumulation is 3, 1 to 2 is expected",
       [](auto &i) {
         i.attributes = {{SPARSEC_ATTRIBUTE_ACCUMULATION, 0, 3}};
         i.operations[0].attribute_count = 1;
       }},
      {"attribute 'accumulation' is there 2 times",
       [](auto &i) {
         i.attributes.assign(2, {SPARSEC_ATTRIBUTE_ACCUMULATION, 0, SPARSEC_ACCUMULATION_FAST});
         i.operations[0].attribute_count = 2;
       }},
      {"regions 0 + 2 of 1", [](auto &i) { i.operations[0].region_count = 2; }},
      {"unknown slot of spmm 7", [](auto &i) { i.operands[bias].slot = 7; }},
      {"argument 2 is no scales of X", [](auto &i) { i.operands[bias].slot = SPARSEC_SPMM_X_SCALE; }},
      {"argument 2 is no block scales", [](auto &i) { i.operands[bias].slot = SPARSEC_SPMM_SCALES; }},
      {"argument 2 is no block scales",
       [](auto &i) {
         i.operands[bias] = {SPARSEC_SPMM_SCALES, bias, SPARSEC_LAYOUT_NONE, SPARSEC_BROADCAST_NONE};
         i.arguments[bias].dtype = SPARSEC_DTYPE_F16;
       }},
      {"epilogue operand is argument 5 of 5", [](auto &i) { i.operands[bias].argument = 5; }},
      {"unknown layout 5", [](auto &i) { i.operands[x].layout = 5; }},
      {"unknown broadcast 7", [](auto &i) { i.operands[bias].broadcast = 7; }},
      {"argument 0 is no block-sparse operand", [](auto &i) { i.arguments[w].kind = SPARSEC_ARGUMENT_DENSE; }},
      {"argument 1 is no dense operand", [](auto &i) { i.operands[x].layout = 0; }},
      {"argument 1 is no dense operand", [](auto &i) { i.arguments[x].rank = 3; }},
      {"argument 1 is no dense operand", [](auto &i) { i.arguments[x].dtype = SPARSEC_DTYPE_I32; }},
      {"argument 4 is no result", [](auto &i) { i.kernels[0].result_count = 0; }},
      {"argument 1 is no dense operand", [](auto &i) { i.operands[x].broadcast = SPARSEC_BROADCAST_FULL; }},
      {"argument 3 is no epilogue operand", [](auto &i) { i.arguments[alpha].dtype = SPARSEC_DTYPE_F16; }},
      {"argument 2 is no epilogue operand", [](auto &i) { i.operands[bias].broadcast = SPARSEC_BROADCAST_NONE; }},
      {"argument 2 with broadcast 1 has kind 2, rank 2", [](auto &i) { i.arguments[bias].rank = 2; }},
      {"argument 2 with broadcast 3", [](auto &i) { i.operands[bias].broadcast = SPARSEC_BROADCAST_SCALAR; }},
      {"argument 2 with broadcast 4", [](auto &i) { i.operands[bias].broadcast = SPARSEC_BROADCAST_FULL; }},
      {"expects 1 to 1 operands in slot 'block-sparse operand' of spmm, but got 0",
       [](auto &i) { i.operations[0].operand_first = 1, i.operations[0].operand_count = 4; }},
      {"argument 2 is no operand", [](auto &i) { i.operands[bias] = i.operands[alpha]; }},
      // Its region.
      {"unknown region of spmm 2", [](auto &i) { i.regions[0].slot = SPARSEC_REGION_SCORE; }},
      {"region 'epilogue' is there twice",
       [](auto &i) { i.regions.push_back(i.regions[0]), i.operations[0].region_count = 2; }},
      {"epilogue inputs 0 + 4 of 3", [](auto &i) { i.regions[0].input_count = 4; }},
      {"epilogue steps 0 + 3 of 2", [](auto &i) { i.regions[0].step_count = 3; }},
      {"region 'epilogue' has no steps", [](auto &i) { i.regions[0].step_count = 0; }},
      {"unknown epilogue input 3", [](auto &i) { i.inputs[0].kind = SPARSEC_INPUT_SCORE; }},
      {"epilogue takes operand 1 of 5, which is none for regions", [](auto &i) { i.inputs[1].operand = x; }},
      {"epilogue takes operand 9 of 5", [](auto &i) { i.inputs[1].operand = 9; }},
      {"unknown epilogue step 200", [](auto &i) { i.steps[0].op = 200; }},
      {"unknown epilogue step 96", [](auto &i) { i.steps[0].op = SPARSEC_STEP_I32_ADD; }},
      {"unknown epilogue step 128", [](auto &i) { i.steps[0].op = SPARSEC_STEP_LOAD; }},
      {"step 0 uses value 3, but only 3 are defined", [](auto &i) { i.steps[0].a = 3; }},
      {"unknown comparison 16", [](auto &i) { i.steps[1] = {SPARSEC_STEP_COMPARE, 0, 1, 16, 0}; }},
      // Variants.
      {"the schedule of variant 0", [](auto &i) { std::memset(i.variants[0].schedule, 'x', SPARSEC_SYMBOL_LENGTH); }},
      {"variant 1 has alignment 3", [](auto &i) { i.variants[1].alignment = 3; }},
      {"requirements of variant 0 0 + 5 of 4", [](auto &i) { i.variants[0].requirement_count = 5; }},
      {"a requirement of variant 0 is for argument 3", [](auto &i) { i.requirements[0].argument = alpha; }},
      {"a requirement of variant 0 is for argument 5", [](auto &i) { i.requirements[0].argument = 5; }},
      {"a requirement of variant 0 has alignment 12", [](auto &i) { i.requirements[0].width_alignment = 12; }},
      {"a requirement of variant 0 has alignment 32", [](auto &i) { i.requirements[0].alignment = 32; }},
      {"tensor map 1 needs argument 'x' at multiples of 16 bytes", [](auto &i) { i.requirements[1].alignment = 8; }},
      {"unknown required plan sections 1073741824", [](auto &i) { i.variants[0].required_sections = 1u << 30; }},
      {"workspaces of variant 0 0 + 1 of 0", [](auto &i) { i.variants[0].workspace_count = 1; }},
      {"unknown lifetime of a workspace 3",
       [](auto &i) { i.workspaces = {{0, 0, 4, 3, 1, 1}}, i.variants[0].workspace_count = 1; }},
      {"unknown kind of a workspace 5",
       [](auto &i) { i.workspaces = {{0, 0, 4, 1, 1, 5}}, i.variants[0].workspace_count = 1; }},
      {"a tile counter of variant 0 has 0 extents, elements of 8 bytes, lifetime 2 and is_zeroed 1",
       [](auto &i) { addTileCounter(i), i.workspaces[0].element_bytes = 8; }},
      {"a tile counter of variant 0 has 1 extents",
       [](auto &i) { addTileCounter(i), i.workspaces[0].extent_count = 1; }},
      {"a tile counter of variant 0 has 0 extents, elements of 4 bytes, lifetime 1 and is_zeroed 1",
       [](auto &i) { addTileCounter(i), i.workspaces[0].lifetime = SPARSEC_LIFETIME_LAUNCH; }},
      {"a tile counter of variant 0 has 0 extents, elements of 4 bytes, lifetime 2 and is_zeroed 0",
       [](auto &i) { addTileCounter(i), i.workspaces[0].is_zeroed = 0; }},
      {"a workspace of variant 0 has elements of 0 bytes",
       [](auto &i) { i.workspaces = {{0, 0, 0, 1, 1, 1}}, i.variants[0].workspace_count = 1; }},
      {"extents of a workspace of variant 0 4 + 1 of 4",
       [](auto &i) { i.workspaces = {{4, 1, 4, 1, 1, 1}}, i.variants[0].workspace_count = 1; }},
      {"stages of variant 0 2 + 1 of 2", [](auto &i) { i.variants[0].stage_first = 2; }},
      {"variant 0 has no stage", [](auto &i) { i.variants[0].stage_count = 0; }},
      // Machine kernels.
      {"the symbol of variant 0", [](auto &i) { i.stages[0].symbol[0] = 0; }},
      {"clusters of 0", [](auto &i) { i.stages[1].cluster = 0; }},
      {"clusters of 16, at most 8", [](auto &i) { i.stages[0].cluster = 16; }},
      {"tiles of 0 x 256", [](auto &i) { i.stages[0].tile_m = 0; }},
      {"tiles of 64 x 4294967295", [](auto &i) { i.stages[0].tile_n = UINT32_MAX; }},
      {"parameters of variant 0 0 + 129", [](auto &i) { i.stages[0].parameter_count = 129; }},
      {"variant 0 has 129 parameters, at most 128",
       [](auto &i) {
         i.parameters.resize(200);
         i.stages[0].parameter_count = 129;
       }},
      {"parameters of variant 1 14 + 14", [](auto &i) { i.stages[1].parameter_count = 14; }},
      {"unknown stage flags 2", [](auto &i) { i.stages[0].flags = 2; }},
      {"has 0 threads", [](auto &i) { i.stages[0].threads = 0; }},
      {"has 100 threads", [](auto &i) { i.stages[0].threads = 100; }},
      {"has 33 CTAs per SM", [](auto &i) { i.stages[0].ctas_per_sm = 33; }},
      {"variant 0 has 0 concurrent tiles", [](auto &i) { i.stages[0].concurrent_tiles = 0; }},
      {"variant 1 has 5 concurrent tiles", [](auto &i) { i.stages[1].concurrent_tiles = 5; }},
      {"tile depth of 0", [](auto &i) { i.stages[0].tile_k = 0; }},
      {"extents of variant 0 4 + 1 of 4", [](auto &i) { i.stages[0].row_first = 4; }},
      {"an extent of variant 0 is from argument 5 of 5", [](auto &i) { i.extents[0].argument = 5; }},
      {"an extent of variant 0 is field 2 and dimension 2 of argument 'w'",
       [](auto &i) { i.extents[0].dimension = 2; }},
      {"an extent of variant 0 is field 10 and dimension 0 of argument 'w'",
       [](auto &i) { i.extents[0].field = SPARSEC_FIELD_BATCHES; }},
      {"an extent of variant 0 is field 2 and dimension 0 of argument 'bias'",
       [](auto &i) { i.extents[0].argument = bias; }},
      {"an extent of variant 0 has blocks of 512 and tiles of 0", [](auto &i) { i.extents[1].tile = 0; }},
      // Sources of parameters.
      {"unknown parameter source 50", [](auto &i) { i.parameters[0].source = 50; }},
      {"tensor map 3 of 3", [](auto &i) { i.parameters[0].index = 3; }},
      {"from argument 5 of 5", [](auto &i) { i.parameters[3].index = 5; }},
      {"unknown field 13", [](auto &i) { i.parameters[3].field = 13; }},
      {"field 5 and dimension 0 do not fit argument 'x'", [](auto &i) { i.parameters[3].index = x; }},
      {"field 2 and dimension 2 do not fit argument 'w'", [](auto &i) { i.parameters[7].dimension = 2; }},
      {"field 4 and dimension 0 do not fit argument 'bias'", [](auto &i) { i.parameters[6].index = bias; }},
      {"field 1 and dimension 0 do not fit argument 'alpha'", [](auto &i) { i.parameters[5].index = alpha; }},
      {"field 3 and dimension 2 do not fit argument 'x'", [](auto &i) { i.parameters[18].dimension = 2; }},
      {"unknown plan section 30", [](auto &i) { i.parameters[9].index = 30; }},
      {"is workspace 0 of 0", [](auto &i) { i.parameters[9].source = SPARSEC_SOURCE_WORKSPACE; }},
      {"parameter 9 of variant 0 is input 0 of 0", [](auto &i) { i.parameters[9].source = SPARSEC_SOURCE_INPUT; }},
      {"tensor map 1 is of argument 5 of 5", [](auto &i) { i.tensorMaps[1].argument = 5; }},
      {"does not fit argument 'bias'", [](auto &i) { i.tensorMaps[1].argument = bias; }},
      {"tensor map 1 of kind 3 does not fit argument 'x'",
       [](auto &i) { i.tensorMaps[1].kind = SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES; }},
      {"tensor map 0 of kind 6 does not fit argument 'w'",
       [](auto &i) { i.tensorMaps[0].kind = SPARSEC_TENSOR_MAP_DENSE_CLIPPED; }},
      {"tensor map 0 of kind 7 does not fit argument 'w'", [](auto &i) { i.tensorMaps[0].kind = 7; }},
      {"tensor map 1 of kind 4 does not fit argument 'x'",
       [](auto &i) { i.tensorMaps[1].kind = SPARSEC_TENSOR_MAP_BSR_LINES; }},
      {"tensor map 0 of kind 4 does not fit argument 'w'", // blocks of 192 bytes
       [](auto &i) {
         i.tensorMaps[0].kind = SPARSEC_TENSOR_MAP_BSR_LINES;
         i.arguments[w].block_rows = 6;
         i.arguments[w].block_columns = 16;
       }},
      {"has rank 2", [](auto &i) { i.tensorMaps[0].rank = 2; }},
      {"box size 257", [](auto &i) { i.tensorMaps[0].box[1] = 257; }},
      {"unknown swizzle 4", [](auto &i) { i.tensorMaps[0].swizzle = 4; }},
      {"boxes of 256 bytes with swizzle 3", [](auto &i) { i.tensorMaps[0].box[0] = 128; }},
      {"boxes of 8 bytes with swizzle 0", [](auto &i) { i.tensorMaps[2].box[0] = 4; }},
      {"has 9 tensor maps",
       [](auto &i) {
         i.stages[0].parameter_first = uint32_t(i.parameters.size());
         i.stages[0].parameter_count = 9;
         i.parameters.insert(i.parameters.end(), 9, {SPARSEC_SOURCE_TENSOR_MAP, 0, 0, 0});
       }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChanged(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, PlanCostsAreChecked) {
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"plan costs of variant 1 2 + 3 of 4", [](auto &i) { i.variants[1].plan_cost_count = 3; }},
      {"unknown plan cost of spmm 9", [](auto &i) { i.planCosts[1].key = 9; }},
      {"the cache for panels in percent of variant 0 is 101, 1 to 100 is expected",
       [](auto &i) { i.planCosts[1] = {SPARSEC_PLAN_COST_PANEL_CACHE, 101}; }},
      {"the cache for panels in percent of variant 0 is 0, 1 to 100 is expected",
       [](auto &i) { i.planCosts[1] = {SPARSEC_PLAN_COST_PANEL_CACHE, 0}; }},
      {"the dense density in percent of variant 0 is 101, 1 to 100 is expected",
       [](auto &i) { i.planCosts[1] = {SPARSEC_PLAN_COST_DENSE_DENSITY, 101}; }},
      {"the dense density in percent of variant 0 is 0, 1 to 100 is expected",
       [](auto &i) { i.planCosts[1] = {SPARSEC_PLAN_COST_DENSE_DENSITY, 0}; }},
      {"the tile overhead in steps of variant 1 is 65536, 0 to 65535 is expected",
       [](auto &i) { i.planCosts[2].value = 65536; }},
      {"the grouped density in percent of variant 0 is 102, 0 to 101 is expected",
       [](auto &i) { i.planCosts[1].value = 102; }},
      {"the grouped density in percent of variant 0 is there 0 times",
       [](auto &i) { i.variants[0].plan_cost_count = 1; }},
      {"the tile overhead in steps of variant 0 is there 2 times", [](auto &i) { i.planCosts[1] = i.planCosts[0]; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChanged(change), SPARSEC_STATUS_INVALID_IMAGE, message);
  EXPECT_OK(parseChanged([](auto &i) { i.planCosts[0].value = 65535, i.planCosts[1].value = 101; }));
  EXPECT_OK(parseChanged([](auto &i) { i.planCosts[0].value = i.planCosts[1].value = 0; }));
}

TEST(LaunchInfo, HostKernelsHaveNoTensorMaps) {
  EXPECT_STATUS(parseChanged([](auto &info) { makeHostInfo(info); }), SPARSEC_STATUS_INVALID_IMAGE,
                "parameter 0 of variant 0 is tensor map 0");
}

TEST(LaunchInfo, FilesOfVersion1AreNamed) {
  // Their header was longer and began with the same fields.
  ByteVector bytes = withHeader([](auto &header) { header.major = 1, header.minor = 1; });
  EXPECT_STATUS(parse(bytes), SPARSEC_STATUS_VERSION_MISMATCH,
                "launch info has version 1.1, but this runtime reads version 4.x: compile the kernel again");
}

Status parseChangedAttention(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder info = cudaAttention();
  change(info);
  return parse(info.build());
}

TEST(LaunchInfo, AttentionIsRead) {
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(cudaAttention().build(), info));
  const sparsec_kernel_info_t &kernel = info.all<sparsec_kernel_info_t>()[0];
  const sparsec_operation_info_t &operation = info.operationOf(kernel);
  EXPECT_EQ(info.attributesOf(operation)[0].value, 64);
  EXPECT_EQ(info.regionsOf(operation)[1].step_count, 7u);
  EXPECT_EQ(info.argumentsOf(kernel)[3].block_columns, 128u);
  for (uint32_t number : {8, 4, 3}) // LSE, scale and pattern are optional
    EXPECT_OK(parseChangedAttention([&](auto &i) { removeArgument(i, number); }));
}

TEST(LaunchInfo, EveryTruncationOfAttentionIsRefused) {
  ByteVector bytes = cudaAttention().build();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_STATUS(parse(ByteVector(bytes.begin(), bytes.begin() + size)), SPARSEC_STATUS_INVALID_IMAGE, "truncated");
}

TEST(LaunchInfo, AttentionOfALaterVersionIsNamed) {
  EXPECT_STATUS(parseChangedAttention([](auto &i) { i.header.minor = 21, i.steps[3].op = 300; }),
                SPARSEC_STATUS_VERSION_MISMATCH, "version 4.21 and kernel 0 uses score step 300");
}

TEST(LaunchInfo, AttentionRecordsAreChecked) {
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };
  constexpr uint32_t encoding = 24; // the parameter
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"head dimension is 0, 1 to 65536 is expected", [](auto &i) { i.attributes[0].value = 0; }},
      {"causal is 2, 0 to 1 is expected", [](auto &i) { i.attributes[1].value = 2; }},
      {"window to the left is -2", [](auto &i) { i.attributes[2].value = -2; }},
      {"window to the right is -3", [](auto &i) { i.attributes[3].value = -3; }},
      {"attribute 'causal' is there 0 times", [](auto &i) { i.operations[0].attribute_count = 1; }},
      {"unknown attribute of attention 5", [](auto &i) { i.attributes[1].key = 5; }},
      {"unknown plan cost of attention 2", [](auto &i) { i.planCosts[0].key = SPARSEC_PLAN_COST_GROUPED_DENSITY; }},
      {"the tile overhead in steps of variant 0 is there 0 times", [](auto &i) { i.variants[0].plan_cost_count = 0; }},
      {"the tile overhead in steps of variant 0 is 65536", [](auto &i) { i.planCosts[0].value = 65536; }},
      {"unknown region of attention 1", [](auto &i) { i.regions[0].slot = SPARSEC_REGION_EPILOGUE; }},
      {"score steps 8 + 4 of 11", [](auto &i) { i.regions[0].step_first = 8; }},
      {"mask steps 4 + 8 of 11", [](auto &i) { i.regions[1].step_count = 8; }},
      {"unknown mask input 3", [](auto &i) { i.regions[1].input_first = 0; }},
      {"unknown score step 130", [](auto &i) { i.steps[0].op = 130; }},
      {"unknown mask step 131", [](auto &i) { i.steps[10].op = 131; }},
      {"unknown integer comparison 10", [](auto &i) { i.steps[10].c = 10; }},
      {"score step 1 uses value 6, but only 6 are defined", [](auto &i) { i.steps[1].a = 6; }},
      {"score step 0 loads from operand 9", [](auto &i) { i.steps[0].a = 9; }},
      {"score step 0 loads from operand 0, which is none for regions", [](auto &i) { i.steps[0].a = q; }},
      {"mask step 2 uses values 5 + 2, but only 6 are defined", [](auto &i) { i.steps[6].b = 5; }},
      {"argument 0 is no query", [](auto &i) { i.arguments[q].rank = 3; }},
      {"argument 1 is no key", [](auto &i) { i.arguments[k].kind = SPARSEC_ARGUMENT_SCALAR; }},
      {"argument 7 is no result", [](auto &i) { i.arguments[o].rank = 2; }},
      {"argument 8 is no log-sum-exp", [](auto &i) { i.arguments[lse].dtype = SPARSEC_DTYPE_BF16; }},
      {"argument 4 is no scale", [](auto &i) { i.arguments[scale].dtype = SPARSEC_DTYPE_BF16; }},
      {"argument 5 has blocks of 0 x 0", [](auto &i) { i.arguments[slopes].kind = SPARSEC_ARGUMENT_BSR; }},
      {"argument 3 is no block pattern", [](auto &i) { i.arguments[pattern].rank = 1; }},
      {"has blocks of 64 x 0", [](auto &i) { i.arguments[pattern].block_columns = 0; }},
      {"unknown element type 9", [](auto &i) { i.arguments[pattern].dtype = 9; }},
      {"expects 1 to 1 operands in slot 'key' of attention, but got 2",
       [](auto &i) { i.operands[v].slot = SPARSEC_ATTENTION_KEY; }},
      {"expects 0 to 1 operands in slot 'scale' of attention, but got 2",
       [](auto &i) {
         i.arguments[slopes] = i.arguments[scale];
         std::strcpy(i.arguments[slopes].name, "slopes");
         i.operands[slopes].slot = SPARSEC_ATTENTION_SCALE;
       }},
      {"expects 0 to 1 operands in slot 'sinks' of attention, but got 2",
       [](auto &i) {
         i.arguments[ids] = i.arguments[slopes];
         std::strcpy(i.arguments[ids].name, "ids");
         i.operands[slopes].slot = i.operands[ids].slot = SPARSEC_ATTENTION_SINKS;
       }},
      {"argument 6 is no sinks", [](auto &i) { i.operands[ids].slot = SPARSEC_ATTENTION_SINKS; }},
      {"dimension of values is 0, 1 to 65536 is expected",
       [](auto &i) {
         i.attributes.push_back({SPARSEC_ATTRIBUTE_VALUE_DIMENSION, 0, 0});
         i.operations[0].attribute_count = 5;
       }},
      {"query, key and value have different element types: 3, 2 and 3",
       [](auto &i) { i.arguments[k].dtype = SPARSEC_DTYPE_F16; }},
      {"unknown field 0", [](auto &i) { i.parameters[encoding].field = 0; }},
      {"field 9 and dimension 0 do not fit argument 'q'", [](auto &i) { i.parameters[encoding].index = q; }},
      {"field 1 and dimension 0 do not fit argument 'pattern'", [](auto &i) { i.parameters[0].index = pattern; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChangedAttention(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(LaunchInfo, AnInputMayBeSeveralOperands) {
  auto usedTwice = [](LaunchInfoBuilder &info) {
    info.operands.push_back({SPARSEC_ATTENTION_EXTRA, 0, 0, 0}); // Q
    info.operations[0].operand_count = 10;
  };
  EXPECT_OK(parseChangedAttention(usedTwice));
}

TEST(LaunchInfo, AuxiliaryKernelsAreChecked) {
  auto withAuxiliary = [](LaunchInfoBuilder &info) {
    info.stages.push_back(info.stages[0]);
    info.stages[1].ctas_per_sm = 0;
    info.stages[1].row_first = uint32_t(info.extents.size());
    info.extents.push_back({3, SPARSEC_FIELD_BATCHES, 0, 1, 1, 0});
    info.extents.push_back({3, SPARSEC_FIELD_HEADS, 0, 1, 1, 0});
    info.auxiliaries = {{SPARSEC_AUXILIARY_PATTERN_BUILDER, 1}};
    info.kernels[0].auxiliary_count = 1;
  };
  EXPECT_OK(parseChangedAttention(withAuxiliary));
  auto makeReader = [](LaunchInfoBuilder &info) { info.auxiliaries[0].kind = SPARSEC_AUXILIARY_BLOCK_MASK_READER; };
  auto makeChooser = [](LaunchInfoBuilder &info) { info.auxiliaries[0].kind = SPARSEC_AUXILIARY_TOP_K_BLOCKS; };
  auto takeInput = [](LaunchInfoBuilder &info, uint32_t index) {
    info.stages[1].parameter_first = uint32_t(info.parameters.size());
    info.stages[1].parameter_count = 1;
    info.parameters.push_back({SPARSEC_SOURCE_INPUT, index, 0, 0});
  };
  EXPECT_OK(parseChangedAttention([&](auto &info) {
    withAuxiliary(info);
    makeReader(info);
    takeInput(info, 0);
    info.operations[0].region_count = 1; // it needs no mask region
  }));
  EXPECT_OK(parseChangedAttention([&](auto &info) {
    withAuxiliary(info);
    makeChooser(info);
    takeInput(info, 2);
    info.operations[0].region_count = 1;
  }));
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"unknown auxiliary kernel 99", [](auto &i) { i.auxiliaries[0].kind = 99; }},
      {"the block mask reader expects a GPU and a pattern",
       [&](auto &i) {
         makeReader(i);
         removeArgument(i, 3);
       }},
      {"the chooser of the top-k blocks expects a GPU and a pattern",
       [&](auto &i) {
         makeChooser(i);
         removeArgument(i, 3);
       }},
      {"parameter 0 of the chooser of the top-k blocks is number 1 of 1",
       [&](auto &i) {
         makeChooser(i);
         takeInput(i, 1);
         i.parameters.back().source = SPARSEC_SOURCE_NUMBER;
       }},
      {"parameter 0 of the chooser of the top-k blocks is input 3 of 3",
       [&](auto &i) {
         makeChooser(i);
         takeInput(i, 3);
       }},
      {"the block mask reader expects a GPU and a pattern",
       [&](auto &i) {
         makeReader(i);
         makeHostInfo(i);
       }},
      {"parameter 0 of the block mask reader is input 1 of 1",
       [&](auto &i) {
         makeReader(i);
         takeInput(i, 1);
       }},
      {"parameter 0 of the pattern builder is input 0 of 0", [&](auto &i) { takeInput(i, 0); }},
      {"an extent of variant 0 is field 10 and dimension 0 of argument 'pattern'",
       [](auto &i) { i.stages[0].row_first = i.stages[1].row_first; }},
      {"the pattern builder expects a GPU, a pattern and a mask region",
       [](auto &i) { i.operations[0].region_count = 1; }},
      {"the pattern builder expects a GPU, a pattern and a mask region", [](auto &i) { removeArgument(i, 3); }},
      {"the pattern builder expects a GPU, a pattern and a mask region", [](auto &i) { makeHostInfo(i); }},
      {"stage of the pattern builder 2 + 1 of 2", [](auto &i) { i.auxiliaries[0].stage = 2; }},
      {"the pattern builder has 33 threads", [](auto &i) { i.stages[1].threads = 33; }},
      {"the symbol of the pattern builder is empty", [](auto &i) { i.stages[1].symbol[0] = 0; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parseChangedAttention([&](auto &info) {
                    withAuxiliary(info);
                    change(info);
                  }),
                  SPARSEC_STATUS_INVALID_IMAGE, message);
}

/// A launch info of version 3.2 or before: its stages end with spill_bytes.
ByteVector withShortStages(const LaunchInfoBuilder &builder, uint32_t recordSize) {
  ByteVector bytes = withTable(SPARSEC_TABLE_STAGES, [&](auto &table) { table.record_size = recordSize; });
  sparsec_table_info_t table;
  std::memcpy(&table, bytes.data() + sizeof(sparsec_launch_info_t) + (SPARSEC_TABLE_STAGES - 1) * sizeof(table),
              sizeof(table));
  for (size_t i = 0; i < builder.stages.size(); ++i)
    std::memcpy(bytes.data() + table.offset + i * recordSize, &builder.stages[i], recordSize);
  // A reader must not take the bytes behind them for fields.
  std::fill_n(bytes.begin() + table.offset + builder.stages.size() * recordSize,
              builder.stages.size() * (sizeof(sparsec_stage_info_t) - recordSize), uint8_t(0xee));
  updateChecksum(bytes);
  return bytes;
}

TEST(LaunchInfo, ShorterRecordsHaveZeros) {
  const LaunchInfoBuilder builder = cudaLinear();
  for (uint32_t recordSize : {208u, 216u}) {
    LaunchInfo info;
    ASSERT_OK(LaunchInfo::parse(withShortStages(builder, recordSize), info));
    const auto stages = info.all<sparsec_stage_info_t>();
    ASSERT_EQ(stages.size(), 2u);
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_STREQ(stages[i].symbol, builder.stages[i].symbol);
      EXPECT_EQ(stages[i].spill_bytes, builder.stages[i].spill_bytes);
      EXPECT_EQ(stages[i].consumer_rows + stages[i].product_rows + stages[i].chunk_products + stages[i].reserved, 0u);
    }
    EXPECT_STREQ(info.all<sparsec_argument_info_t>()[4].name, "y");
    // The copy is itself a good launch info.
    const auto *copy = reinterpret_cast<const uint8_t *>(&info.header());
    EXPECT_OK(parse(ByteVector(copy, copy + info.header().total_size)));
  }
  EXPECT_STATUS(parse(withShortStages(builder, 200)), SPARSEC_STATUS_INVALID_IMAGE,
                "records of table 12 have 200 bytes, but at least 208 and a multiple of 8 are expected");
}

TEST(LaunchInfo, LongerRecordsAreRead) {
  // The records of a newer minor version: every argument record has 8 more bytes.
  LaunchInfoBuilder builder = cudaLinear();
  ByteVector bytes = withTable(SPARSEC_TABLE_ARGUMENTS, [&](auto &table) {
    table.offset = uint32_t(builder.build().size());
    table.record_size += 8;
  });
  for (const sparsec_argument_info_t &argument : builder.arguments) {
    const auto *begin = reinterpret_cast<const uint8_t *>(&argument);
    bytes.insert(bytes.end(), begin, begin + sizeof(argument));
    bytes.insert(bytes.end(), 8, 0xee);
  }
  const auto size = uint32_t(bytes.size());
  std::memcpy(bytes.data() + offsetof(sparsec_launch_info_t, total_size), &size, sizeof(size));
  updateChecksum(bytes);
  LaunchInfo info;
  ASSERT_OK(LaunchInfo::parse(bytes, info));
  EXPECT_STREQ(info.all<sparsec_argument_info_t>()[4].name, "y");
}

} // namespace
