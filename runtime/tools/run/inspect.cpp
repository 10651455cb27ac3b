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
static constexpr const char *roleNames[] = {"",
                                            "block-sparse operand",
                                            "dense operand",
                                            "epilogue operand",
                                            "result",
                                            "query",
                                            "key",
                                            "value",
                                            "block pattern",
                                            "region operand",
                                            "scale",
                                            "log-sum-exp"};
static constexpr const char *broadcastNames[] = {"", "per row", "per column", "scalar", "full"};
static constexpr const char *layoutNames[] = {"", "row-major", "transposed"};
static constexpr const char *swizzleNames[] = {"none", "32 bytes", "64 bytes", "128 bytes"};
static constexpr const char *planSectionNames[] = {"tile offsets", "tiles", "counter"};
static_assert(std::size(planSectionNames) == runtime::planSectionCount);
static constexpr const char *parameterNames[] = {
    "",       "tensor map", "pointer",      "row_ptr",   "col_idx",     "size",
    "stride", "scalar",     "plan section", "tile rows", "tile panels", "pattern"};
static constexpr const char *patternFieldNames[] = {
    "", "encoding", "batches", "heads", "capacity", "partial starts", "partial indices", "full starts", "full indices"};

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
static std::string describeParameter(const sparsec_launch_info_t &info, const sparsec_kernel_info_t &kernel,
                                     const sparsec_parameter_info_t &parameter) {
  auto argumentName = [&](uint32_t argument) {
    return view(nameOf(argumentAt(info, kernel.argument_first + argument).name));
  };
  const char *kind = parameterNames[parameter.kind];
  switch (parameter.kind) {
  case SPARSEC_PARAMETER_TENSOR_MAP: {
    const sparsec_tensor_map_info_t &map = tensorMapAt(info, parameter.index);
    return fmt::format("{} of {}{}, box {} (innermost first), swizzle {}", kind, argumentName(map.argument),
                       map.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES ? " cut at K" : "",
                       fmt::join(llvm::ArrayRef(map.box, map.rank), "x"), swizzleNames[map.swizzle]);
  }
  case SPARSEC_PARAMETER_SIZE:
  case SPARSEC_PARAMETER_STRIDE:
    return fmt::format("{} {} of {}", kind, parameter.index, argumentName(parameter.argument));
  case SPARSEC_PARAMETER_PLAN_SECTION:
    return fmt::format("{} {}", kind, planSectionNames[parameter.index]);
  case SPARSEC_PARAMETER_PATTERN_FIELD:
    return fmt::format("{} of {}", patternFieldNames[parameter.index], argumentName(parameter.argument));
  case SPARSEC_PARAMETER_TILE_ROWS:
  case SPARSEC_PARAMETER_TILE_PANELS:
    return kind;
  default:
    return fmt::format("{} of {}", kind, argumentName(parameter.argument));
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object describeArgument(const sparsec_argument_info_t &argument) {
  llvm::json::Object object{
      {"name", nameOf(argument.name).str()}, {"role", roleNames[argument.role]}, {"type", typeName(argument)}};
  if (argument.broadcast != SPARSEC_BROADCAST_NONE)
    object["broadcast"] = broadcastNames[argument.broadcast];
  if (argument.layout != SPARSEC_LAYOUT_NONE)
    object["layout"] = layoutNames[argument.layout];
  return object;
}

static llvm::json::Object describeVariant(const ImageView &image, const sparsec_kernel_info_t &kernel,
                                          const sparsec_variant_info_t &variant) {
  const sparsec_launch_info_t &info = *image.info;
  auto measured = [&](uint32_t value) -> llvm::json::Value {
    return image.isMeasured() ? llvm::json::Value(value) : nullptr;
  };
  llvm::json::Array parameters;
  for (uint32_t index : llvm::seq(variant.parameter_count))
    parameters.push_back(describeParameter(info, kernel, parameterAt(info, variant.parameter_first + index)));
  return llvm::json::Object{
      {"symbol", nameOf(variant.symbol).str()},
      {"schedule", nameOf(variant.schedule).str()},
      {"alignment", variant.alignment},
      {"threads", variant.threads},
      {"tile", llvm::json::Array{variant.tile_m, variant.tile_n, variant.tile_k}},
      {"stages", variant.stages},
      {"cluster", variant.cluster},
      {"ctas_per_sm", variant.ctas_per_sm},
      {"raster", variant.raster},
      {"registers", measured(variant.registers)},
      {"static_shared_memory", measured(variant.static_shared_memory)},
      {"dynamic_shared_memory", variant.dynamic_shared_memory},
      {"spill_bytes", measured(variant.spill_bytes)},
      {"parameters", std::move(parameters)},
  };
}

/// Null if the kernel has none.
static const sparsec_attention_info_t *attentionOf(const sparsec_launch_info_t &info,
                                                   const sparsec_kernel_info_t &kernel) {
  return runtime::operationOf(kernel).hasAttentionInfo ? &attentionAt(info, kernel.detail) : nullptr;
}

/// Null if the kernel has none.
static const sparsec_variant_info_t *patternBuilderOf(const sparsec_launch_info_t &info,
                                                      const sparsec_kernel_info_t &kernel) {
  const sparsec_attention_info_t *attention = attentionOf(info, kernel);
  return attention && attention->builder_count != 0 ? &variantAt(info, attention->builder_first) : nullptr;
}

static llvm::json::Object describeKernel(const ImageView &image, const sparsec_kernel_info_t &kernel) {
  const sparsec_launch_info_t &info = *image.info;
  llvm::json::Array arguments, variants;
  for (uint32_t index : llvm::seq(kernel.argument_count))
    arguments.push_back(describeArgument(argumentAt(info, kernel.argument_first + index)));
  for (uint32_t index : llvm::seq(kernel.variant_count))
    variants.push_back(describeVariant(image, kernel, variantAt(info, kernel.variant_first + index)));
  llvm::json::Object object{{"name", nameOf(kernel.name).str()},
                            {"family", runtime::operationOf(kernel).name},
                            {"arguments", std::move(arguments)},
                            {"variants", std::move(variants)}};
  if (const sparsec_attention_info_t *attention = attentionOf(info, kernel)) {
    object["head_dimension"] = attention->head_dimension;
    object["causal"] = attention->causal != 0;
    object["window"] = llvm::json::Array{attention->window_left, attention->window_right};
    object["score_steps"] = attention->score_step_count;
    object["mask_steps"] = attention->mask_step_count;
    if (const sparsec_variant_info_t *builder = patternBuilderOf(info, kernel))
      object["pattern_builder"] = describeVariant(image, kernel, *builder);
  } else {
    object["epilogue_steps"] = kernel.step_count;
  }
  return object;
}

llvm::json::Value describeImages(llvm::ArrayRef<ImageView> images) {
  llvm::json::Array array;
  for (const ImageView &image : images) {
    const OwnedLaunchInfo &info = image.info;
    llvm::json::Array kernels;
    for (uint32_t index : llvm::seq(info->kernel_count))
      kernels.push_back(describeKernel(image, kernelAt(*info, index)));
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

static void printArgument(llvm::raw_ostream &stream, const sparsec_argument_info_t &argument) {
  stream << fmt::format("    {:<12} {:<22} {}", view(nameOf(argument.name)), roleNames[argument.role],
                        typeName(argument));
  if (argument.broadcast != SPARSEC_BROADCAST_NONE)
    stream << ", " << broadcastNames[argument.broadcast];
  if (argument.layout != SPARSEC_LAYOUT_NONE)
    stream << ", " << layoutNames[argument.layout];
  stream << '\n';
}

static void printAttention(llvm::raw_ostream &stream, const sparsec_attention_info_t &attention) {
  stream << fmt::format("    head dimension: {}{}\n", attention.head_dimension, attention.causal ? ", causal" : "");
  if (attention.window_left != -1 || attention.window_right != -1)
    stream << fmt::format("    window: [{}, {}]\n", attention.window_left, attention.window_right);
  stream << fmt::format("    score steps: {}, mask steps: {}\n", attention.score_step_count, attention.mask_step_count);
}

static void printVariant(llvm::raw_ostream &stream, const ImageView &image, const sparsec_kernel_info_t &kernel,
                         const sparsec_variant_info_t &variant, const std::string &title) {
  const sparsec_launch_info_t &info = *image.info;
  stream << fmt::format("    {}: {}\n", title, view(nameOf(variant.schedule)));
  auto line = [&](const char *label, const std::string &text) {
    stream << fmt::format("      {:<14} {}\n", label, text);
  };
  line("symbol", nameOf(variant.symbol).str());
  line("alignment", fmt::format("{} bytes", variant.alignment));
  line("tile", fmt::format("{}x{}x{}", variant.tile_m, variant.tile_n, variant.tile_k));
  if (info.target_kind == SPARSEC_TARGET_CUDA) {
    line("threads",
         fmt::format("{}, cluster {}, {} CTAs per SM", variant.threads, variant.cluster, variant.ctas_per_sm));
    line("registers", image.isMeasured() ? fmt::format("{}, {} bytes spilled", variant.registers, variant.spill_bytes)
                                         : "known when the driver has compiled it");
    line("shared memory",
         fmt::format("{} bytes dynamic", variant.dynamic_shared_memory) +
             (image.isMeasured() ? fmt::format(", {} bytes static", variant.static_shared_memory) : ""));
  }
  for (uint32_t parameter : llvm::seq(variant.parameter_count))
    line(parameter == 0 ? "parameters" : "",
         describeParameter(info, kernel, parameterAt(info, variant.parameter_first + parameter)));
}

void printImages(llvm::raw_ostream &stream, llvm::ArrayRef<ImageView> images) {
  for (const auto &[number, image] : llvm::enumerate(images)) {
    const OwnedLaunchInfo &info = image.info;
    stream << fmt::format("image {}: {}{}, launch info {}.{}, compiled by {}\n", number, view(nameOf(info->target)),
                          image.isPtx() ? " (PTX, the driver compiles it)" : "", info->major, info->minor,
                          view(nameOf(info->compiler)));
    for (uint32_t index : llvm::seq(info->kernel_count)) {
      const sparsec_kernel_info_t &kernel = kernelAt(*info, index);
      stream << fmt::format("  kernel {} ({})\n", view(nameOf(kernel.name)), runtime::operationOf(kernel).name);
      for (uint32_t argument : llvm::seq(kernel.argument_count))
        printArgument(stream, argumentAt(*info, kernel.argument_first + argument));
      if (const sparsec_attention_info_t *attention = attentionOf(*info, kernel))
        printAttention(stream, *attention);
      else
        stream << fmt::format("    epilogue steps: {}\n", kernel.step_count);
      for (uint32_t variant : llvm::seq(kernel.variant_count))
        printVariant(stream, image, kernel, variantAt(*info, kernel.variant_first + variant),
                     fmt::format("variant {}", variant));
      if (const sparsec_variant_info_t *builder = patternBuilderOf(*info, kernel))
        printVariant(stream, image, kernel, *builder, "pattern builder");
    }
  }
}

} // namespace sparsec::run
