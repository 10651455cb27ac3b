// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/parameters.h"
#include "arguments/strides.h"
#include "launch/packed.h"
#include "launch/tensor_map.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// Calls `body` with every tensor map of a machine kernel, in the order of its parameters, as long as it succeeds.
template <typename Body> Status forEachTensorMap(const StageLaunch &launch, const Body &body) {
  const LaunchInfo &info = launch.kernel.module->info;
  for (const sparsec_parameter_info_t &recipe : info.parametersOf(*launch.stage.info)) {
    if (recipe.source != SPARSEC_SOURCE_TENSOR_MAP)
      continue;
    const sparsec_tensor_map_info_t &map = info.all<sparsec_tensor_map_info_t>()[recipe.index];
    SPARSEC_RETURN_IF_ERROR(body(map, launch.argument(map.argument)));
  }
  return {};
}

} // namespace

const sparsec_argument_t &StageLaunch::argument(uint32_t number) const {
  return packed && number == packed->number ? packed->argument : arguments[number];
}

/// Nobody writes the arrays that a plan of a static pattern has read. Others may have been written just now.
bool StageLaunch::mayReadEarly(uint32_t number) const {
  const KnownList *known = findList(lists, number);
  return known && known->isIn(blocksOf(arguments[number]).full);
}

void *StageLaunch::workspaceOf(uint32_t number) const {
  const sparsec_workspace_info_t &info = kernel.module->info.workspacesOf(*variant)[number];
  if (!workspace || !plan || !plan->hasWorkspaces || !isUsed(kernel, info, plan->order, problem))
    return nullptr;
  return static_cast<char *>(workspace) + workspaceOffset(kernel, *variant, useOf(*plan, stage), problem, number);
}

Status ParameterPack::fill(const StageLaunch &launch) {
  CUtensorMap *next = tensorMaps;
  SPARSEC_RETURN_IF_ERROR(
      forEachTensorMap(launch, [&](const sparsec_tensor_map_info_t &map, const sparsec_argument_t &argument) {
        return encodeTensorMap(*launch.kernel.module->device, map, argument, *next++);
      }));
  addAll(launch);
  return {};
}

Status ParameterPack::fillFrom(const ParameterPack &from, const StageLaunch &launch) {
  count = tensorMapCount = 0;
  std::copy_n(from.tensorMaps, from.tensorMapCount, tensorMaps);
  CUtensorMap *next = tensorMaps;
  SPARSEC_RETURN_IF_ERROR(
      forEachTensorMap(launch, [&](const sparsec_tensor_map_info_t &map, const sparsec_argument_t &argument) {
        return moveTensorMap(*launch.kernel.module->device, map, argument, *next++);
      }));
  addAll(launch);
  return {};
}

void ParameterPack::addAll(const StageLaunch &launch) {
  for (const sparsec_parameter_info_t &recipe : launch.kernel.module->info.parametersOf(*launch.stage.info))
    add(launch, recipe);
}

void ParameterPack::add(const StageLaunch &launch, const sparsec_parameter_info_t &recipe) {
  switch (recipe.source) {
  case SPARSEC_SOURCE_ARGUMENT:
    if (recipe.field == SPARSEC_FIELD_READ_EARLY)
      return add(int32_t(launch.mayReadEarly(recipe.index)));
    return addField(launch.argument(recipe.index), recipe);
  case SPARSEC_SOURCE_TENSOR_MAP:
    addresses[count++] = &tensorMaps[tensorMapCount++];
    return;
  case SPARSEC_SOURCE_PLAN_SECTION:
    return add(launch.section(recipe.index));
  case SPARSEC_SOURCE_WORKSPACE:
    return add(launch.workspaceOf(recipe.index));
  case SPARSEC_SOURCE_TILE_ROWS:
    return add(int32_t(launch.grid.tileRows));
  case SPARSEC_SOURCE_PANELS:
    return add(int32_t(launch.grid.panels));
  case SPARSEC_SOURCE_INPUT:
    return add(launch.inputs[recipe.index]);
  case SPARSEC_SOURCE_NUMBER:
    return add(launch.numbers[recipe.index]);
  case SPARSEC_SOURCE_PARTS:
    return add(int32_t(launch.problem.parts));
  case SPARSEC_SOURCE_PERIOD:
    return add(int32_t(launch.period()));
  }
}

void ParameterPack::addField(const sparsec_argument_t &argument, const sparsec_parameter_info_t &recipe) {
  if (argument.kind == SPARSEC_ARGUMENT_SCALAR)
    add(scalarOf(argument));
  else if (argument.kind == SPARSEC_ARGUMENT_DENSE)
    addField(denseOf(argument), recipe);
  else
    addField(blocksOf(argument), recipe);
}

void ParameterPack::addField(const sparsec_dense_t &tensor, const sparsec_parameter_info_t &recipe) {
  switch (recipe.field) {
  case SPARSEC_FIELD_DATA:
    return add(tensor.data);
  case SPARSEC_FIELD_SIZE:
    return add(int32_t(tensor.sizes[recipe.dimension]));
  case SPARSEC_FIELD_STRIDE:
    // Kernels step over rows that are not there, too: where the stride may be anything, it must not misalign them.
    return add(usesStride(tensor, int32_t(recipe.dimension)) ? tensor.strides[recipe.dimension] : int64_t(0));
  }
}

void ParameterPack::addField(const sparsec_blocks_t &blocks, const sparsec_parameter_info_t &recipe) {
  switch (recipe.field) {
  case SPARSEC_FIELD_DATA:
    return add(blocks.values);
  case SPARSEC_FIELD_SIZE:
    return add(int32_t(recipe.dimension == 0 ? blocks.rows : blocks.columns));
  case SPARSEC_FIELD_FULL_STARTS:
    return add(blocks.full.starts);
  case SPARSEC_FIELD_FULL_INDICES:
    return add(blocks.full.indices);
  case SPARSEC_FIELD_PARTIAL_STARTS:
    return add(blocks.partial.starts);
  case SPARSEC_FIELD_PARTIAL_INDICES:
    return add(blocks.partial.indices);
  case SPARSEC_FIELD_ENCODING:
    return add(int32_t(blocks.encoding));
  case SPARSEC_FIELD_BATCHES:
    return add(int32_t(blocks.batches));
  case SPARSEC_FIELD_HEADS:
    return add(int32_t(blocks.heads));
  case SPARSEC_FIELD_CAPACITY:
    return add(blocks.capacity);
  }
}

} // namespace sparsec::runtime
