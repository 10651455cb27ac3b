// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "inspect.h"

#include "operations/operation.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace sparsec::run {

llvm::Expected<std::vector<ImageView>> readImages(llvm::StringRef file) {
  size_t count = 0;
  if (llvm::Error error = toError(sparsec_image_count(file.data(), file.size(), &count)))
    return error;
  std::vector<ImageView> images;
  for (size_t index = 0; index < count; ++index) {
    sparsec_launch_info_t *info = nullptr;
    if (llvm::Error error = toError(sparsec_launch_info_read(file.data(), file.size(), index, &info)))
      return error;
    ImageView image{OwnedLaunchInfo(info), SPARSEC_IMAGE_ELF};
    if (llvm::Error error = toError(sparsec_image_format(file.data(), file.size(), index, &image.format)))
      return error;
    images.push_back(std::move(image));
  }
  return images;
}

//===----------------------------------------------------------------------===//
// Names of the enumerations
//===----------------------------------------------------------------------===//

// Indexed by the enumerations of launch_info.h; the runtime has checked that the values are known.
static constexpr const char *broadcastNames[] = {"", "per row", "per column", "scalar", "full"};
static constexpr const char *layoutNames[] = {"", "row-major", "transposed", "packed", "paged"};
static constexpr const char *swizzleNames[] = {"none", "32 bytes", "64 bytes", "128 bytes"};
static constexpr const char *auxiliaryNames[] = {"",
                                                 "pattern builder",
                                                 "block mask reader",
                                                 "packer of blocks",
                                                 "counter of columns",
                                                 "writer of the index",
                                                 "counter of windows",
                                                 "writer of windows",
                                                 "counter of pairs",
                                                 "writer of pairs",
                                                 "converter of values",
                                                 "chooser of the top-k blocks",
                                                 "writer of lists"};
static constexpr const char *auxiliaryKeys[] = {"",
                                                "pattern_builder",
                                                "block_mask_reader",
                                                "pack_blocks",
                                                "count_columns",
                                                "write_index",
                                                "count_windows",
                                                "write_windows",
                                                "count_pairs",
                                                "write_pairs",
                                                "convert_values",
                                                "top_k_blocks",
                                                "write_lists"};
static constexpr const char *workspaceNames[] = {"", "scratch", "tile counter", "sums of cut tiles", "flags of sums"};
static constexpr const char *fieldNames[] = {"",
                                             "pointer",
                                             "size",
                                             "stride",
                                             "scalar",
                                             "full starts",
                                             "full indices",
                                             "partial starts",
                                             "partial indices",
                                             "encoding",
                                             "batches",
                                             "heads",
                                             "capacity",
                                             "parts",
                                             "early reads"};
static_assert(std::size(fieldNames) == SPARSEC_FIELD_READ_EARLY + 1);

namespace {
/// A kernel with the records that it refers to.
struct KernelView {
  const ImageView &image;
  const sparsec_launch_info_t &info;
  const sparsec_kernel_info_t &kernel;
  const sparsec_operation_info_t &operation;
  const runtime::OperationRule &rule;

  KernelView(const ImageView &image, const sparsec_kernel_info_t &kernel)
      : image(image), info(*image.info), kernel(kernel),
        operation(recordsOf<sparsec_operation_info_t>(info)[kernel.operation]),
        rule(*runtime::findOperation(operation.kind)) {}

  template <typename Record> Records<Record> slice(uint32_t first, uint32_t count) const {
    return recordsOf<Record>(info).slice(first, count);
  }
  Records<sparsec_argument_info_t> arguments() const {
    return slice<sparsec_argument_info_t>(kernel.argument_first, kernel.argument_count);
  }
  Records<sparsec_operand_info_t> operands() const {
    return slice<sparsec_operand_info_t>(operation.operand_first, operation.operand_count);
  }
  Records<sparsec_attribute_info_t> attributes() const {
    return slice<sparsec_attribute_info_t>(operation.attribute_first, operation.attribute_count);
  }
  Records<sparsec_region_info_t> regions() const {
    return slice<sparsec_region_info_t>(operation.region_first, operation.region_count);
  }
  Records<sparsec_variant_info_t> variants() const {
    return slice<sparsec_variant_info_t>(kernel.variant_first, kernel.variant_count);
  }
  Records<sparsec_stage_info_t> stages(const sparsec_variant_info_t &variant) const {
    return slice<sparsec_stage_info_t>(variant.stage_first, variant.stage_count);
  }
  Records<sparsec_plan_cost_info_t> planCosts(const sparsec_variant_info_t &variant) const {
    return slice<sparsec_plan_cost_info_t>(variant.plan_cost_first, variant.plan_cost_count);
  }
  Records<sparsec_auxiliary_info_t> auxiliaries() const {
    return slice<sparsec_auxiliary_info_t>(kernel.auxiliary_first, kernel.auxiliary_count);
  }
  std::string argumentName(uint32_t argument) const { return nameOf(arguments()[argument].name).str(); }
  const char *attributeName(uint32_t key) const {
    return llvm::find_if(rule.attributes, [&](const auto &attribute) { return attribute.key == key; })->name;
  }
};
} // namespace

static std::string sizeName(int64_t size) { return size == SPARSEC_DYNAMIC ? "?" : std::to_string(size); }

/// An argument's type as in the dialect.
static std::string typeName(const sparsec_argument_info_t &argument) {
  const char *element = sparsec_dtype_name(sparsec_dtype_t(argument.dtype));
  if (argument.kind == SPARSEC_ARGUMENT_SCALAR)
    return element;
  if (argument.kind == SPARSEC_ARGUMENT_PATTERN)
    return fmt::format("!sparsec.pattern<{}x{}>", argument.block_rows, argument.block_columns);
  std::string sizes;
  for (uint32_t index = 0; index < argument.rank; ++index)
    sizes += sizeName(argument.sizes[index]) + "x";
  if (argument.kind == SPARSEC_ARGUMENT_BSR)
    return fmt::format("!sparsec.bsr<{}{}, block = {}x{}>", sizes, element, argument.block_rows,
                       argument.block_columns);
  return fmt::format("tensor<{}{}>", sizes, element);
}

/// One machine-kernel parameter, e.g. `tensor map of x, box 64x64, swizzle 128 bytes`.
static std::string describeParameter(const KernelView &view, const sparsec_parameter_info_t &parameter) {
  switch (parameter.source) {
  case SPARSEC_SOURCE_TENSOR_MAP: {
    const auto &map = recordsOf<sparsec_tensor_map_info_t>(view.info)[parameter.index];
    return fmt::format("tensor map of {}{}, box {} (innermost first), swizzle {}", view.argumentName(map.argument),
                       map.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES ? " cut at K"
                       : map.kind == SPARSEC_TENSOR_MAP_BSR_LINES     ? " in lines of 128 bytes"
                       : map.kind == SPARSEC_TENSOR_MAP_DENSE_CLIPPED ? " without rows beyond it"
                                                                      : "",
                       fmt::join(llvm::ArrayRef(map.box, map.rank), "x"), swizzleNames[map.swizzle]);
  }
  case SPARSEC_SOURCE_PLAN_SECTION:
    return fmt::format("plan section {}", runtime::planSectionNames[parameter.index]);
  case SPARSEC_SOURCE_WORKSPACE:
    return fmt::format("workspace {}", parameter.index);
  case SPARSEC_SOURCE_TILE_ROWS:
    return "tile rows";
  case SPARSEC_SOURCE_PANELS:
    return "tile panels";
  case SPARSEC_SOURCE_INPUT:
    return fmt::format("input {}", parameter.index);
  case SPARSEC_SOURCE_NUMBER:
    return fmt::format("number {}", parameter.index);
  case SPARSEC_SOURCE_PERIOD:
    return "panels of the plan's lists";
  case SPARSEC_SOURCE_PARTS:
    return "parts of the keys";
  }
  bool hasDimension = parameter.field == SPARSEC_FIELD_SIZE || parameter.field == SPARSEC_FIELD_STRIDE;
  std::string dimension = hasDimension ? fmt::format(" {}", parameter.dimension) : "";
  return fmt::format("{}{} of {}", fieldNames[parameter.field], dimension, view.argumentName(parameter.index));
}

/// A number of things, e.g. `size 2 of q in tiles of 64`.
static std::string describeExtent(const KernelView &view, const sparsec_extent_info_t &extent) {
  if (extent.field == SPARSEC_FIELD_PARTS)
    return "parts of the keys";
  std::string tiles = extent.tile == 1 ? "" : fmt::format(" in tiles of {}", extent.tile);
  return fmt::format("size {} of {}{}", extent.dimension, view.argumentName(extent.argument), tiles);
}

/// Extents with sums or parts, e.g. `size 2 of q in tiles of 64 + size 0 of starts`; empty for others.
static std::string describePanels(const KernelView &view, const sparsec_stage_info_t &stage) {
  std::string text;
  bool isPlain = true;
  for (const auto &extent : view.slice<sparsec_extent_info_t>(stage.panel_first, stage.panel_count)) {
    text += (text.empty()                                   ? ""
             : extent.combination == SPARSEC_EXTENT_SUMMAND ? " + "
                                                            : " x ") +
            describeExtent(view, extent);
    isPlain &= extent.combination == SPARSEC_EXTENT_FACTOR && extent.field != SPARSEC_FIELD_PARTS;
  }
  return isPlain ? "" : text;
}

/// The slots of an argument in the operation, e.g. `query and key`.
static std::string slotsOf(const KernelView &view, uint32_t argument) {
  std::string names;
  for (const sparsec_operand_info_t &operand : view.operands())
    if (operand.argument == argument)
      names += std::string(names.empty() ? "" : " and ") + runtime::findSlot(view.rule, operand.slot)->name;
  return names;
}

/// The first operand that an argument is.
static const sparsec_operand_info_t &operandOf(const KernelView &view, uint32_t argument) {
  auto operands = view.operands();
  uint32_t number = 0;
  while (operands[number].argument != argument)
    ++number;
  return operands[number];
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object describeArgument(const KernelView &view, uint32_t number) {
  llvm::json::Object object{{"name", view.argumentName(number)},
                            {"role", slotsOf(view, number)},
                            {"type", typeName(view.arguments()[number])}};
  const sparsec_operand_info_t &operand = operandOf(view, number);
  if (operand.broadcast != SPARSEC_BROADCAST_NONE)
    object["broadcast"] = broadcastNames[operand.broadcast];
  if (operand.layout != SPARSEC_LAYOUT_NONE)
    object["layout"] = layoutNames[operand.layout];
  return object;
}

static bool hasAdjacentColumns(const sparsec_stage_info_t &stage) {
  return (stage.flags & SPARSEC_STAGE_ADJACENT_COLUMNS) != 0;
}

static llvm::json::Object describeStage(const KernelView &view, const sparsec_stage_info_t &stage) {
  auto measured = [&](uint32_t value) -> llvm::json::Value {
    return view.image.isMeasured() ? llvm::json::Value(value) : nullptr;
  };
  llvm::json::Array parameters;
  for (const auto &parameter : view.slice<sparsec_parameter_info_t>(stage.parameter_first, stage.parameter_count))
    parameters.push_back(describeParameter(view, parameter));
  llvm::json::Object object{
      {"symbol", nameOf(stage.symbol).str()},
      {"threads", stage.threads},
      {"tile", llvm::json::Array{stage.tile_m, stage.tile_n, stage.tile_k}},
      {"stages", stage.slots},
      {"cluster", stage.cluster},
      {"ctas_per_sm", stage.ctas_per_sm},
      {"group_m", stage.group_m},
      {"registers", measured(stage.registers)},
      {"static_shared_memory", measured(stage.static_shared_memory)},
      {"dynamic_shared_memory", stage.dynamic_shared_memory},
      {"spill_bytes", measured(stage.spill_bytes)},
      {"parameters", std::move(parameters)},
  };
  if (const std::string panels = describePanels(view, stage); !panels.empty())
    object["panels"] = panels;
  if (stage.consumer_rows != 0)
    object["streams"] = llvm::json::Object{{"consumer_rows", stage.consumer_rows},
                                           {"product_rows", stage.product_rows},
                                           {"chunk_products", stage.chunk_products},
                                           {"adjacent_columns", hasAdjacentColumns(stage)}};
  return object;
}

static llvm::json::Object describeWorkspace(const KernelView &view, const sparsec_workspace_info_t &workspace) {
  llvm::json::Array extents;
  for (const auto &extent : view.slice<sparsec_extent_info_t>(workspace.extent_first, workspace.extent_count))
    extents.push_back(describeExtent(view, extent));
  return llvm::json::Object{{"kind", workspaceNames[workspace.kind]},
                            {"element_bytes", workspace.element_bytes},
                            {"extents", std::move(extents)},
                            {"zeroed", workspace.is_zeroed != 0}};
}

static std::vector<std::string> requiredSections(const sparsec_variant_info_t &variant) {
  std::vector<std::string> names;
  for (uint32_t section = 0; section < runtime::planSectionCount; ++section)
    if ((variant.required_sections >> section & 1) != 0)
      names.emplace_back(runtime::planSectionNames[section]);
  return names;
}

static llvm::json::Object describeVariant(const KernelView &view, const sparsec_variant_info_t &variant) {
  llvm::json::Array stages, workspaces;
  llvm::json::Object planCosts;
  for (const sparsec_plan_cost_info_t &cost : view.planCosts(variant))
    planCosts[runtime::findPlanCost(view.rule, cost.key)->name] = cost.value;
  for (const sparsec_stage_info_t &stage : view.stages(variant))
    stages.push_back(describeStage(view, stage));
  for (const auto &workspace : view.slice<sparsec_workspace_info_t>(variant.workspace_first, variant.workspace_count))
    workspaces.push_back(describeWorkspace(view, workspace));
  return llvm::json::Object{{"schedule", nameOf(variant.schedule).str()},
                            {"alignment", variant.alignment},
                            {"machine_kernels", std::move(stages)},
                            {"workspaces", std::move(workspaces)},
                            {"required_plan_sections", llvm::json::Array(requiredSections(variant))},
                            {"most_panels", variant.most_panels},
                            {"most_tiles_per_sm", variant.most_tiles_per_sm},
                            {"part_keys", variant.part_keys},
                            {"least_narrow_blocks", variant.least_narrow_blocks},
                            {"plan_costs", std::move(planCosts)}};
}

static llvm::json::Object describeKernel(const ImageView &image, const sparsec_kernel_info_t &kernel) {
  const KernelView view(image, kernel);
  llvm::json::Array arguments, variants;
  for (uint32_t number : llvm::seq(kernel.argument_count))
    arguments.push_back(describeArgument(view, number));
  for (const sparsec_variant_info_t &variant : view.variants())
    variants.push_back(describeVariant(view, variant));
  llvm::json::Object attributes, regions;
  for (const sparsec_attribute_info_t &attribute : view.attributes())
    attributes[view.attributeName(attribute.key)] = attribute.value;
  for (const sparsec_region_info_t &region : view.regions())
    regions[runtime::findRegion(view.rule, region.slot)->name] = region.step_count;
  llvm::json::Object object{{"name", nameOf(kernel.name).str()},  {"operation", view.rule.name},
                            {"arguments", std::move(arguments)},  {"attributes", std::move(attributes)},
                            {"region_steps", std::move(regions)}, {"variants", std::move(variants)}};
  for (const sparsec_auxiliary_info_t &auxiliary : view.auxiliaries())
    object[auxiliaryKeys[auxiliary.kind]] =
        describeStage(view, recordsOf<sparsec_stage_info_t>(view.info)[auxiliary.stage]);
  return object;
}

llvm::json::Value describeImages(llvm::ArrayRef<ImageView> images) {
  llvm::json::Array array;
  for (const ImageView &image : images) {
    const OwnedLaunchInfo &info = image.info;
    llvm::json::Array kernels;
    for (const sparsec_kernel_info_t &kernel : recordsOf<sparsec_kernel_info_t>(*info))
      kernels.push_back(describeKernel(image, kernel));
    array.push_back(llvm::json::Object{{"target", nameOf(info->target).str()},
                                       {"format", image.isPtx() ? "ptx" : "elf"},
                                       {"compiler", nameOf(info->compiler).str()},
                                       {"launch_info", fmt::format("{}.{}", info->major, info->minor)},
                                       {"compute_capability", info->compute_capability},
                                       {"arch_specific", info->arch_specific != 0},
                                       {"kernels", std::move(kernels)}});
  }
  return llvm::json::Object{{"images", std::move(array)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printArgument(llvm::raw_ostream &stream, const KernelView &view, uint32_t number) {
  const sparsec_operand_info_t &operand = operandOf(view, number);
  stream << fmt::format("    {:<12} {:<22} {}", view.argumentName(number), slotsOf(view, number),
                        typeName(view.arguments()[number]));
  if (operand.broadcast != SPARSEC_BROADCAST_NONE)
    stream << ", " << broadcastNames[operand.broadcast];
  if (operand.layout != SPARSEC_LAYOUT_NONE)
    stream << ", " << layoutNames[operand.layout];
  stream << '\n';
}

static void printOperation(llvm::raw_ostream &stream, const KernelView &view) {
  for (const sparsec_attribute_info_t &attribute : view.attributes())
    stream << fmt::format("    {}: {}\n", view.attributeName(attribute.key), attribute.value);
  for (const sparsec_region_info_t &region : view.regions())
    stream << fmt::format("    {} steps: {}\n", runtime::findRegion(view.rule, region.slot)->name, region.step_count);
}

static void printLine(llvm::raw_ostream &stream, const char *label, const std::string &text) {
  stream << fmt::format("      {:<14} {}\n", label, text);
}

static void printWorkspace(llvm::raw_ostream &stream, const KernelView &view,
                           const sparsec_workspace_info_t &workspace) {
  std::string text = fmt::format("{}, {} bytes", workspaceNames[workspace.kind], workspace.element_bytes);
  for (const auto &extent : view.slice<sparsec_extent_info_t>(workspace.extent_first, workspace.extent_count))
    text += " x " + describeExtent(view, extent);
  printLine(stream, "workspace", text + (workspace.is_zeroed ? ", zero before the first launch" : ""));
}

static void printPlanCosts(llvm::raw_ostream &stream, const KernelView &view, const sparsec_variant_info_t &variant) {
  std::string text;
  for (const sparsec_plan_cost_info_t &cost : view.planCosts(variant))
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : ", ", runtime::findPlanCost(view.rule, cost.key)->name, cost.value);
  printLine(stream, "plan costs", text);
}

static void printStage(llvm::raw_ostream &stream, const KernelView &view, const sparsec_stage_info_t &stage) {
  auto line = [&](const char *label, const std::string &text) { printLine(stream, label, text); };
  bool isMeasured = view.image.isMeasured();
  line("symbol", nameOf(stage.symbol).str());
  line("tile", fmt::format("{}x{}x{}", stage.tile_m, stage.tile_n, stage.tile_k));
  if (const std::string panels = describePanels(view, stage); !panels.empty())
    line("tile panels", panels);
  if (stage.consumer_rows != 0)
    line("streams",
         fmt::format("consumers of {} rows, products of {}, chunks of {} products{}", stage.consumer_rows,
                     stage.product_rows, stage.chunk_products, hasAdjacentColumns(stage) ? ", adjacent columns" : ""));
  if (view.info.target_kind == SPARSEC_TARGET_CUDA) {
    std::string residents = fmt::format("{} CTAs per SM", stage.ctas_per_sm);
    if (stage.ctas_per_sm == 0)
      residents = stage.concurrent_tiles == 1 ? "a CTA for every tile"
                                              : fmt::format("a CTA for {} tiles", stage.concurrent_tiles);
    line("threads", fmt::format("{}, cluster {}, {}", stage.threads, stage.cluster, residents));
    line("registers", isMeasured ? fmt::format("{}, {} bytes spilled", stage.registers, stage.spill_bytes)
                                 : "known when the driver has compiled it");
    line("shared memory", fmt::format("{} bytes dynamic", stage.dynamic_shared_memory) +
                              (isMeasured ? fmt::format(", {} bytes static", stage.static_shared_memory) : ""));
  }
  const char *label = "parameters";
  for (const auto &parameter : view.slice<sparsec_parameter_info_t>(stage.parameter_first, stage.parameter_count)) {
    line(label, describeParameter(view, parameter));
    label = "";
  }
}

/// The calls that a variant for few panels is for.
static std::string describeLimits(const sparsec_variant_info_t &variant) {
  const uint32_t tiles = variant.most_tiles_per_sm;
  return fmt::format("at most {}", variant.most_panels) +
         (tiles == 0
              ? ""
              : fmt::format(", or more with at most {} tile{} for each multiprocessor", tiles, tiles == 1 ? "" : "s"));
}

static void printKernel(llvm::raw_ostream &stream, const KernelView &view) {
  stream << fmt::format("  kernel {} ({})\n", nameOf(view.kernel.name).str(), view.rule.name);
  for (uint32_t argument : llvm::seq(view.kernel.argument_count))
    printArgument(stream, view, argument);
  printOperation(stream, view);
  int number = 0;
  for (const sparsec_variant_info_t &variant : view.variants()) {
    stream << fmt::format("    variant {}: {}\n", number++, nameOf(variant.schedule).str());
    printLine(stream, "alignment", fmt::format("{} bytes", variant.alignment));
    for (const auto &workspace : view.slice<sparsec_workspace_info_t>(variant.workspace_first, variant.workspace_count))
      printWorkspace(stream, view, workspace);
    if (const std::vector<std::string> sections = requiredSections(variant); !sections.empty())
      printLine(stream, "needs a plan", "with " + llvm::join(sections, ", "));
    if (variant.most_panels != 0)
      printLine(stream, "panels", describeLimits(variant));
    if (variant.part_keys != 0)
      printLine(stream, view.rule.kind == SPARSEC_OPERATION_SPMM ? "K" : "keys",
                fmt::format("in parts of {} or more, for few tiles", variant.part_keys));
    if (variant.least_narrow_blocks != 0)
      printLine(stream, "blocks", fmt::format("{} or more for few columns", variant.least_narrow_blocks));
    printPlanCosts(stream, view, variant);
    for (const sparsec_stage_info_t &stage : view.stages(variant))
      printStage(stream, view, stage);
  }
  for (const sparsec_auxiliary_info_t &auxiliary : view.auxiliaries()) {
    stream << "    " << auxiliaryNames[auxiliary.kind] << '\n';
    printStage(stream, view, recordsOf<sparsec_stage_info_t>(view.info)[auxiliary.stage]);
  }
}

void printImages(llvm::raw_ostream &stream, llvm::ArrayRef<ImageView> images) {
  for (const auto &[number, image] : llvm::enumerate(images)) {
    const OwnedLaunchInfo &info = image.info;
    stream << fmt::format("image {}: {}{}, launch info {}.{}, compiled by {}\n", number, view(nameOf(info->target)),
                          image.isPtx() ? " (PTX, the driver compiles it)" : "", info->major, info->minor,
                          view(nameOf(info->compiler)));
    for (const sparsec_kernel_info_t &kernel : recordsOf<sparsec_kernel_info_t>(*info))
      printKernel(stream, {image, kernel});
  }
}

} // namespace sparsec::run
