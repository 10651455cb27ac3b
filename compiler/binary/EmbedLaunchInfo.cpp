// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-embed-launch-info: what the kernel ops and the attributes of the machine kernels say becomes the bytes of a
// constant global, which the runtime reads from the finished image.

#include "ElementwiseRegion.h"
#include "LaunchInfoWriter.h"
#include "Passes.h"
#include "ScheduleAttribute.h"
#include "TargetInfo.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sparsec {
#define GEN_PASS_DEF_EMBEDLAUNCHINFOPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static sparsec_dtype_t getElementType(Type type) {
  return TypeSwitch<Type, sparsec_dtype_t>(type)
      .Case([](Float32Type) { return SPARSEC_DTYPE_F32; })
      .Case([](Float16Type) { return SPARSEC_DTYPE_F16; })
      .Case([](BFloat16Type) { return SPARSEC_DTYPE_BF16; })
      .Case([](Float8E4M3FNType) { return SPARSEC_DTYPE_F8E4M3FN; })
      .Case([](Float8E5M2Type) { return SPARSEC_DTYPE_F8E5M2; })
      .Case([](IntegerType) { return SPARSEC_DTYPE_I32; })
      .Default(SPARSEC_DTYPE_NONE);
}

static int64_t getSize(int64_t size) { return ShapedType::isDynamic(size) ? SPARSEC_DYNAMIC : size; }

/// The fields that follow from the type alone.
static sparsec_argument_info_t describeType(Type type) {
  sparsec_argument_info_t info = {};
  if (auto matrix = dyn_cast<BsrType>(type)) {
    info.kind = SPARSEC_ARGUMENT_BSR;
    info.dtype = getElementType(matrix.getElementType());
    info.rank = 2;
    info.sizes[0] = getSize(matrix.getRows());
    info.sizes[1] = getSize(matrix.getColumns());
    info.block_rows = matrix.getBlockRows();
    info.block_columns = matrix.getBlockColumns();
  } else if (auto pattern = dyn_cast<PatternType>(type)) {
    info.kind = SPARSEC_ARGUMENT_PATTERN;
    info.dtype = SPARSEC_DTYPE_I32;
    info.block_rows = pattern.getQueryBlock();
    info.block_columns = pattern.getKeyBlock();
  } else if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    info.kind = SPARSEC_ARGUMENT_DENSE;
    info.dtype = getElementType(tensor.getElementType());
    info.rank = tensor.getRank();
    for (auto [index, size] : llvm::enumerate(tensor.getShape()))
      info.sizes[index] = getSize(size);
  } else {
    info.kind = SPARSEC_ARGUMENT_SCALAR;
    info.dtype = getElementType(type);
  }
  return info;
}

/// Inputs in order, then results: names and types.
static std::vector<sparsec_argument_info_t> describeArguments(KernelOp kernel) {
  std::vector<sparsec_argument_info_t> arguments;
  for (Type type : kernel.getArgumentTypes())
    arguments.push_back(describeType(type));
  for (Type type : kernel.getResultTypes())
    arguments.push_back(describeType(type));
  for (auto [argument, name] : llvm::zip(arguments, kernel.getArgumentNames()))
    setText(argument.name, cast<StringAttr>(name).getValue());
  for (auto [argument, name] :
       llvm::zip(MutableArrayRef(arguments).drop_front(kernel.getArgumentTypes().size()), kernel.getResultNames()))
    setText(argument.name, cast<StringAttr>(name).getValue());
  return arguments;
}

/// Position of an operand of the anchor among the kernel's arguments.
static uint32_t getArgument(Value operand) { return cast<BlockArgument>(operand).getArgNumber(); }

/// The part that each argument plays in the product.
static void assignRoles(SpmmOp spmm, MutableArrayRef<sparsec_argument_info_t> arguments) {
  auto argumentOf = [&](Value value) -> sparsec_argument_info_t & { return arguments[getArgument(value)]; };
  argumentOf(spmm.getMatrix()).role = SPARSEC_ROLE_MATRIX;
  sparsec_argument_info_t &dense = argumentOf(spmm.getDense());
  dense.role = SPARSEC_ROLE_DENSE;
  dense.layout = static_cast<uint32_t>(spmm.getXLayout());
  sparsec_argument_info_t &result = arguments.back();
  result.role = SPARSEC_ROLE_RESULT;
  result.layout = static_cast<uint32_t>(spmm.getYLayout());
  for (auto [index, value] : llvm::enumerate(spmm.getExtras())) {
    sparsec_argument_info_t &extra = argumentOf(value);
    extra.role = SPARSEC_ROLE_EPILOGUE;
    extra.broadcast = static_cast<uint32_t>(spmm.getBroadcastOf(index));
    if (extra.broadcast == SPARSEC_BROADCAST_FULL)
      extra.layout = result.layout;
  }
}

static void assignRoles(AttentionOp attention, MutableArrayRef<sparsec_argument_info_t> arguments) {
  auto setRole = [&](Value value, uint32_t role) { arguments[getArgument(value)].role = role; };
  setRole(attention.getQuery(), SPARSEC_ROLE_QUERY);
  setRole(attention.getKey(), SPARSEC_ROLE_KEY);
  setRole(attention.getValue(), SPARSEC_ROLE_VALUE);
  if (attention.getPattern())
    setRole(attention.getPattern(), SPARSEC_ROLE_PATTERN);
  if (attention.getScale())
    setRole(attention.getScale(), SPARSEC_ROLE_SCALE);
  for (Value extra : attention.getExtras())
    setRole(extra, SPARSEC_ROLE_REGION);
  auto results = arguments.take_back(attention->getNumResults());
  results.front().role = SPARSEC_ROLE_RESULT;
  if (attention.getLse())
    results.back().role = SPARSEC_ROLE_LSE;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static uint32_t getStepOpcode(Operation &op) {
  if (auto round = dyn_cast<arith::TruncFOp>(op))
    return isa<BFloat16Type>(round.getType()) ? SPARSEC_STEP_ROUND_BF16 : SPARSEC_STEP_ROUND_F16;
  if (hasIntegers(op) || isa<ElementOp>(op)) {
    uint32_t opcode = TypeSwitch<Operation *, uint32_t>(&op)
#define SPARSEC_INTEGER_OP(op, opcode) .Case([](op) { return SPARSEC_STEP_##opcode; })
#include "ElementwiseOps.def"
                          .Default(0u);
    if (opcode)
      return opcode;
  }
  return TypeSwitch<Operation *, uint32_t>(&op)
#define SPARSEC_ELEMENTWISE_OP(op, opcode) .Case([](op) { return SPARSEC_STEP_##opcode; })
#include "ElementwiseOps.def"
      .Default(0u);
}

static double getImmediate(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue();
  return cast<IntegerAttr>(value).getInt();
}

namespace {

/// A region as a list of steps. Values get numbers: first the arguments of the region, then the steps.
class StepWriter {
public:
  explicit StepWriter(uint32_t firstStep) : firstStep(firstStep) {}

  void number(Value value, uint32_t number) { numbers[value] = number; }
  /// `tensor`, an argument of the region, is argument `argument` of the kernel.
  void nameTensor(Value tensor, uint32_t argument) { tensors[tensor] = argument; }
  std::vector<sparsec_step_info_t> write(Region &region);

private:
  uint32_t add(const sparsec_step_info_t &step);
  sparsec_step_info_t describe(Operation &op);
  sparsec_step_info_t describeElement(ElementOp element);

  uint32_t firstStep;
  DenseMap<Value, uint32_t> numbers, tensors;
  std::vector<sparsec_step_info_t> steps;
};

} // namespace

/// Returns the number of the step's value.
uint32_t StepWriter::add(const sparsec_step_info_t &step) {
  steps.push_back(step);
  return firstStep + steps.size() - 1;
}

sparsec_step_info_t StepWriter::describe(Operation &op) {
  if (auto element = dyn_cast<ElementOp>(op))
    return describeElement(element);
  sparsec_step_info_t step = {};
  step.op = getStepOpcode(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    step.immediate = getImmediate(constant.getValue());
  uint32_t *operands[] = {&step.a, &step.b, &step.c};
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    *operands[index] = numbers.lookup(operand);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    step.c = static_cast<uint32_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    step.c = static_cast<uint32_t>(compare.getPredicate());
  return step;
}

/// The indices of a load have consecutive numbers: copies where they have not.
sparsec_step_info_t StepWriter::describeElement(ElementOp element) {
  SmallVector<uint32_t> indices;
  for (Value index : element.getIndices())
    indices.push_back(numbers.lookup(index));
  uint32_t first = indices.empty() ? 0 : indices.front();
  bool areConsecutive =
      llvm::all_of(llvm::enumerate(indices), [&](auto index) { return index.value() == first + index.index(); });
  if (!areConsecutive) {
    first = firstStep + steps.size();
    for (uint32_t index : indices)
      add({SPARSEC_STEP_COPY, index, 0, 0, 0.0});
  }
  return {getStepOpcode(*element), tensors.lookup(element.getTensor()), first, 0, 0.0};
}

std::vector<sparsec_step_info_t> StepWriter::write(Region &region) {
  Block &body = region.front();
  for (Operation &op : body.without_terminator()) {
    sparsec_step_info_t step = describe(op);
    numbers[op.getResult(0)] = add(step);
  }
  // The last step is the result, or value 0 without steps: repeat the yielded value where it is another one.
  uint32_t yielded = numbers.lookup(body.getTerminator()->getOperand(0));
  if (yielded != (steps.empty() ? 0 : firstStep + steps.size() - 1))
    add({SPARSEC_STEP_COPY, yielded, 0, 0, 0.0});
  return std::move(steps);
}

/// The values of the epilogue operands are numbered in the order of the kernel's arguments, whatever their order on the
/// op.
static std::vector<sparsec_step_info_t> describeEpilogue(SpmmOp spmm) {
  if (!spmm.hasEpilogue())
    return {};
  SmallVector<uint32_t> extras = llvm::map_to_vector(spmm.getExtras(), getArgument);
  StepWriter writer(/*firstStep=*/1 + extras.size());
  Block &body = spmm.getEpilogue().front();
  writer.number(body.getArgument(0), 0);
  for (auto [argument, extra] : llvm::zip_equal(body.getArguments().drop_front(), extras))
    writer.number(argument, 1 + llvm::count_if(extras, [&](uint32_t other) { return other < extra; }));
  return writer.write(spmm.getEpilogue());
}

/// A region of attention. Value 0 is the score, which the mask does not get; 1 to 4 are batch, head, query and key.
static std::vector<sparsec_step_info_t> describeRegion(AttentionOp attention, Region &region) {
  if (region.empty())
    return {};
  StepWriter writer(/*firstStep=*/5);
  auto numbered = region.getArguments().drop_back(attention.getExtras().size());
  for (BlockArgument argument : numbered)
    writer.number(argument, argument.getArgNumber() + 5 - numbered.size());
  for (auto [argument, extra] :
       llvm::zip_equal(region.getArguments().drop_front(numbered.size()), attention.getExtras()))
    writer.nameTensor(argument, getArgument(extra));
  return writer.write(region);
}

static AttentionRecord describeAttention(AttentionOp attention) {
  AttentionRecord record;
  record.info.head_dimension = attention.getHeadDimension();
  record.info.causal = attention.getCausal();
  record.info.window_left = attention.getWindowLeft();
  record.info.window_right = attention.getWindowRight();
  record.score = describeRegion(attention, attention.getScore());
  record.mask = describeRegion(attention, attention.getMask());
  return record;
}

//===----------------------------------------------------------------------===//
// Machine kernels
//===----------------------------------------------------------------------===//

static uint32_t getIntegerOr(Operation *op, StringRef name, uint32_t otherwise) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

static void describeSchedule(ScheduleAttr attribute, sparsec_variant_info_t &info) {
  info.cluster = attribute.getCluster();
  info.ctas_per_sm = attribute.getCtasPerSm();
  info.tiles_per_cta = attribute.getTilesPerCta();
  info.tile_m = attribute.getTileM();
  info.tile_n = attribute.getTileN();
  info.tile_k = attribute.getTileK();
  info.stages = attribute.getStages();
  info.raster = attribute.getRaster();
  setText(info.schedule, toString(toSchedule(attribute)));
}

static sparsec_tensor_map_info_t describeTensorMap(TensorMapAttr map) {
  sparsec_tensor_map_info_t info = {};
  info.kind = static_cast<uint32_t>(map.getKind());
  info.argument = map.getArgument();
  info.rank = map.getBox().size();
  switch (map.getSwizzle()) {
  case 32:
    info.swizzle = SPARSEC_SWIZZLE_32B;
    break;
  case 64:
    info.swizzle = SPARSEC_SWIZZLE_64B;
    break;
  case 128:
    info.swizzle = SPARSEC_SWIZZLE_128B;
    break;
  default:
    info.swizzle = SPARSEC_SWIZZLE_NONE;
  }
  llvm::copy(map.getBox(), info.box);
  return info;
}

static FailureOr<VariantRecord> describeVariant(LLVM::LLVMFuncOp function) {
  auto parameters = function->getAttrOfType<ArrayAttr>("sparsec.parameters");
  if (!parameters)
    return function.emitOpError("expects the attribute sparsec.parameters on a machine kernel, but got none");

  VariantRecord variant;
  setText(variant.info.symbol, function.getName());
  setText(variant.info.schedule, "loops");
  variant.info.alignment = getIntegerOr(function, "sparsec.alignment", 1);
  variant.info.threads = getIntegerOr(function, "sparsec.threads", 1);
  variant.info.dynamic_shared_memory = getIntegerOr(function, "sparsec.shared_memory", 0);
  variant.info.cluster = variant.info.ctas_per_sm = variant.info.tiles_per_cta = 1;
  if (auto schedule = function->getAttrOfType<ScheduleAttr>("sparsec.schedule"))
    describeSchedule(schedule, variant.info);
  variant.info.tile_m = getIntegerOr(function, "sparsec.tile_m", variant.info.tile_m);
  variant.info.tile_n = getIntegerOr(function, "sparsec.tile_n", variant.info.tile_n);
  variant.info.tile_k = getIntegerOr(function, "sparsec.tile_k", variant.info.tile_k);
  for (auto parameter : parameters.getAsRange<ParameterAttr>())
    variant.parameters.push_back({static_cast<uint32_t>(parameter.getKind()),
                                  static_cast<uint32_t>(parameter.getArgument()),
                                  static_cast<uint32_t>(parameter.getIndex()), 0});
  if (auto maps = function->getAttrOfType<ArrayAttr>("sparsec.tensor_maps"))
    for (auto map : maps.getAsRange<TensorMapAttr>())
      variant.tensorMaps.push_back(describeTensorMap(map));
  return variant;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The launch info says it all now.
static void removeAttributes(LLVM::LLVMFuncOp function) {
  for (NamedAttribute attribute : llvm::to_vector(function->getDiscardableAttrs()))
    if (attribute.getName().strref().starts_with("sparsec."))
      function->removeDiscardableAttr(attribute.getName());
}

/// Function of each variant, by kernel, in order of preference.
using Variants = llvm::StringMap<std::map<int64_t, LLVM::LLVMFuncOp>>;

static LogicalResult describeKernel(KernelOp kernel, const Variants &variants, std::vector<KernelRecord> &records) {
  auto found = variants.find(kernel.getName());
  if (found == variants.end())
    return kernel.emitOpError("expects at least one machine kernel, but got none");

  KernelRecord record;
  setText(record.info.name, kernel.getName());
  record.arguments = describeArguments(kernel);
  if (auto spmm = dyn_cast<SpmmOp>(kernel.getAnchor())) {
    record.info.family = SPARSEC_FAMILY_SPMM;
    assignRoles(spmm, record.arguments);
    record.steps = describeEpilogue(spmm);
  } else {
    auto attention = cast<AttentionOp>(kernel.getAnchor());
    record.info.family = SPARSEC_FAMILY_ATTENTION;
    assignRoles(attention, record.arguments);
    record.attention = describeAttention(attention);
  }
  for (auto [position, function] : found->second) {
    FailureOr<VariantRecord> variant = describeVariant(function);
    if (failed(variant))
      return failure();
    record.variants.push_back(*variant);
    removeAttributes(function);
  }
  records.push_back(record);
  return success();
}

static sparsec_launch_info_t describeTarget(StringRef name) {
  sparsec_launch_info_t target = {};
  target.target_kind = SPARSEC_TARGET_HOST;
  if (const Chip *chip = findChip(name)) {
    target.target_kind = SPARSEC_TARGET_CUDA;
    target.compute_capability = chip->computeCapability;
    target.arch_specific = chip->archSpecific;
  }
  setText(target.target, name);
  setText(target.compiler, "sparsec " SPARSEC_VERSION);
  return target;
}

/// On the GPU the global lies in global memory: an object of its own in the cubin, which no code refers to.
static void createGlobal(Operation *parent, StringRef bytes, bool onGpu) {
  OpBuilder builder(parent->getContext());
  builder.setInsertionPointToStart(&parent->getRegion(0).front());
  auto elements = RankedTensorType::get({static_cast<int64_t>(bytes.size())}, builder.getI8Type());
  LLVM::GlobalOp::create(builder, parent->getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
                         /*isConstant=*/true, LLVM::Linkage::External, SPARSEC_LAUNCH_INFO_SYMBOL,
                         DenseElementsAttr::getFromRawBuffer(elements, ArrayRef(bytes.data(), bytes.size())),
                         /*alignment=*/16, /*addrSpace=*/onGpu ? 1 : 0);
}

namespace {
struct EmbedLaunchInfoPass : sparsec::impl::EmbedLaunchInfoPassBase<EmbedLaunchInfoPass> {
  using EmbedLaunchInfoPassBase::EmbedLaunchInfoPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>("sparsec.target");
    if (!target) {
      module.emitOpError("expects the attribute sparsec.target, but got none");
      return signalPassFailure();
    }
    FailureOr<Variants> variants = collectVariants();
    if (failed(variants))
      return signalPassFailure();

    std::vector<KernelRecord> records;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      if (failed(describeKernel(kernel, *variants, records)))
        return signalPassFailure();
      kernel.erase();
    }

    sparsec_launch_info_t header = describeTarget(target.getChip());
    bool onGpu = header.target_kind == SPARSEC_TARGET_CUDA;
    auto gpuModules = module.getOps<gpu::GPUModuleOp>();
    if (onGpu && gpuModules.empty()) {
      module.emitOpError("expects a gpu.module, but got none");
      return signalPassFailure();
    }
    createGlobal(onGpu ? *gpuModules.begin() : module.getOperation(), writeLaunchInfo(header, records), onGpu);
  }

private:
  /// Finds the machine kernels and takes their sparsec.kernel and sparsec.variant attributes into account.
  FailureOr<Variants> collectVariants() {
    Variants variants;
    WalkResult result = getOperation().walk([&](LLVM::LLVMFuncOp function) -> WalkResult {
      auto kernel = function->getAttrOfType<FlatSymbolRefAttr>("sparsec.kernel");
      if (!kernel)
        return WalkResult::advance();
      if (!getOperation().lookupSymbol<KernelOp>(kernel))
        return function.emitOpError("expects sparsec.kernel to name a kernel, but got ") << kernel;
      if (!variants[kernel.getValue()].try_emplace(getIntegerOr(function, "sparsec.variant", 0), function).second)
        return function.emitOpError("expects a variant number of its own, but got that of another variant of ")
               << kernel;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    return variants;
  }
};
} // namespace
