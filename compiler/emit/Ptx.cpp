// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ptx.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

/// Effects are what keeps an instruction in its place; asm without them may be moved and merged.
enum class Effects { none, memory };

static Value inlineAsm(KernelBuilder &b, Type result, ValueRange operands, const Twine &text, StringRef constraints,
                       Effects effects) {
  SmallVector<Type> results;
  if (result)
    results.push_back(result);
  std::string fullConstraints = constraints.str();
  if (effects == Effects::memory)
    fullConstraints += fullConstraints.empty() ? "~{memory}" : ",~{memory}";
  auto op = LLVM::InlineAsmOp::create(
      b, results, operands, text.str(), fullConstraints, /*has_side_effects=*/effects == Effects::memory,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), /*operand_attrs=*/ArrayAttr());
  return result ? op.getResult(0) : Value();
}

static Value callIntrinsic(KernelBuilder &b, Type result, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

//===----------------------------------------------------------------------===//
// Special registers and barriers of threads
//===----------------------------------------------------------------------===//

Value ptx::threadIndex(KernelBuilder &b) { return NVVM::ThreadIdXOp::create(b, b.i32Type()); }
Value ptx::blockIndex(KernelBuilder &b) { return NVVM::BlockIdXOp::create(b, b.i32Type()); }
Value ptx::gridSize(KernelBuilder &b) { return NVVM::GridDimXOp::create(b, b.i32Type()); }
Value ptx::clusterRank(KernelBuilder &b) { return NVVM::ClusterId::create(b, b.i32Type()); }

/// `ownBits` of the source lane are those of the lane itself.
static Value shuffle(KernelBuilder &b, Value value, Value lane, NVVM::ShflKind kind, int64_t ownBits = 0) {
  return NVVM::ShflOp::create(b, value.getType(), b.i32(-1), value, lane, b.i32(ownBits << 8 | 31), kind,
                              /*return_value_and_is_valid=*/UnitAttr());
}
static Value shuffle(KernelBuilder &b, Value value, int64_t lane, NVVM::ShflKind kind, int64_t ownBits = 0) {
  return shuffle(b, value, b.i32(lane), kind, ownBits);
}
Value ptx::broadcastFirstLane(KernelBuilder &b, Value value) { return shuffle(b, value, 0, NVVM::ShflKind::idx); }
Value ptx::fromGroup(KernelBuilder &b, Value value, int64_t group) {
  return shuffle(b, value, 4 * group, NVVM::ShflKind::idx, /*ownBits=*/3);
}
Value ptx::exchange(KernelBuilder &b, Value value, int64_t mask) {
  return shuffle(b, value, mask, NVVM::ShflKind::bfly);
}
Value ptx::fromLaneBefore(KernelBuilder &b, Value value, int64_t distance) {
  return NVVM::ShflOp::create(b, value.getType(), b.i32(-1), value, b.i32(distance), b.i32(0), NVVM::ShflKind::up,
                              /*return_value_and_is_valid=*/UnitAttr());
}
Value ptx::fromLane(KernelBuilder &b, Value value, int64_t lane) {
  return shuffle(b, value, lane, NVVM::ShflKind::idx);
}
Value ptx::fromLane(KernelBuilder &b, Value value, Value lane) { return shuffle(b, value, lane, NVVM::ShflKind::idx); }

Value ptx::readThread(KernelBuilder &b) {
  return inlineAsm(b, b.i32Type(), {}, "mov.u32 $0, %tid.x;", "=r", Effects::memory);
}

Value ptx::bitOr3(KernelBuilder &b, Value x, Value y, Value z) {
  return inlineAsm(b, b.i32Type(), {x, y, z}, "lop3.b32 $0, $1, $2, $3, 0xFE;", "=r,r,r,r", Effects::none);
}

Value ptx::anyInWarp(KernelBuilder &b, Value predicate) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(-1), predicate, NVVM::VoteSyncKind::any);
}
Value ptx::ballot(KernelBuilder &b, Value predicate) {
  return NVVM::VoteSyncOp::create(b, b.getI32Type(), b.i32(-1), predicate, NVVM::VoteSyncKind::ballot);
}
Value ptx::lanesBefore(KernelBuilder &b) { return NVVM::LaneMaskLtOp::create(b, b.getI32Type()); }

static Value reduceWarp(KernelBuilder &b, Value value, NVVM::ReduxKind kind) {
  return NVVM::ReduxOp::create(b, value.getType(), value, kind, b.i32(-1));
}
Value ptx::sumOfWarp(KernelBuilder &b, Value value) { return reduceWarp(b, value, NVVM::ReduxKind::ADD); }
Value ptx::largestOfWarp(KernelBuilder &b, Value value) { return reduceWarp(b, value, NVVM::ReduxKind::MAX); }

void ptx::barrierCta(KernelBuilder &b) { NVVM::BarrierOp::create(b); }
void ptx::barrierNamed(KernelBuilder &b, Value id, int64_t threads) {
  NVVM::BarrierOp::create(b, Type(), id, b.i32(threads), NVVM::BarrierReductionAttr(), Value());
}
void ptx::gridDependencyWait(KernelBuilder &b) { NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait); }
void ptx::gridDependentsLaunch(KernelBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}
void ptx::barrierWarp(KernelBuilder &b) { NVVM::SyncWarpOp::create(b, b.i32(-1)); }
void ptx::barrierCluster(KernelBuilder &b) {
  NVVM::ClusterArriveOp::create(b, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(b, /*aligned=*/UnitAttr());
}

//===----------------------------------------------------------------------===//
// Words without synchronisation
//===----------------------------------------------------------------------===//

// The size of the word is its alignment.
static constexpr unsigned wordBytes = 4;
static constexpr const char *withinCta = "block";

Value ptx::loadRelaxed(KernelBuilder &b, Value pointer) {
  return LLVM::LoadOp::create(b, b.i32Type(), pointer, wordBytes, /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/false, /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic,
                              withinCta);
}
void ptx::storeRelaxed(KernelBuilder &b, Value pointer, Value value) {
  LLVM::StoreOp::create(b, value, pointer, wordBytes, /*isVolatile=*/false, /*isNonTemporal=*/false,
                        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, withinCta);
}

Value ptx::loadFlag(KernelBuilder &b, Value pointer) {
  return inlineAsm(b, b.i32Type(), {pointer}, "ld.acquire.gpu.global.u8 $0, [$1];", "=r,l", Effects::memory);
}
void ptx::storeFlag(KernelBuilder &b, Value pointer, Value value) {
  inlineAsm(b, {}, {pointer, value}, "st.release.gpu.global.u8 [$0], $1;", "l,r", Effects::memory);
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

void ptx::mbarrierInit(KernelBuilder &b, Value barrier, int64_t count) {
  NVVM::MBarrierInitOp::create(b, barrier, b.i32(count), /*predicate=*/Value());
}
void ptx::mbarrierInitFence(KernelBuilder &b) { NVVM::FenceMbarrierInitOp::create(b); }
void ptx::mbarrierExpectBytes(KernelBuilder &b, Value barrier, Value bytes) {
  inlineAsm(b, {}, {barrier, bytes}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", Effects::memory);
}
void ptx::mbarrierWait(KernelBuilder &b, Value barrier, Value parity) {
  // The hint is the longest time (in nanoseconds) the hardware may suspend the thread before it tries again.
  NVVM::MBarrierTryWaitParityOp::create(b, barrier, parity, b.i32(10'000'000));
}
Value ptx::mbarrierTest(KernelBuilder &b, Value barrier, Value parity) {
  return inlineAsm(b, b.getI1Type(), {barrier, parity}, "mbarrier.test_wait.parity.shared::cta.b64 $0, [$1], $2;",
                   "=b,r,r", Effects::memory);
}
void ptx::mbarrierArriveFor(KernelBuilder &b, Value barrier, Value count) {
  inlineAsm(b, {}, {barrier, count}, "mbarrier.arrive.shared::cta.b64 _, [$0], $1;", "r,r", Effects::memory);
}
void ptx::mbarrierArrive(KernelBuilder &b, Value barrier, Value predicate) {
  inlineAsm(b, {}, {barrier, predicate}, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b", Effects::memory);
}
void ptx::mbarrierArriveRemote(KernelBuilder &b, Value barrier, Value rank, Value predicate) {
  Value remote = NVVM::MapaOp::create(b, b.pointerType(AddressSpace::sharedCluster), barrier, rank);
  inlineAsm(b, {}, {remote, predicate}, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$0];", "r,b", Effects::memory);
}

//===----------------------------------------------------------------------===//
// Tensor memory accelerator
//===----------------------------------------------------------------------===//

/// The policy that createpolicy.fractional makes for L2::evict_first and all of the bytes (PTX ISA, "createpolicy").
static constexpr int64_t evictFirstPolicy = 0x12F0000000000000;

static void tensorLoadOp(KernelBuilder &b, Value destination, Value map, ValueRange coordinates, Value barrier,
                         Value mask, Value policy) {
  auto mode = NVVM::TMALoadModeAttr::get(b.getContext(), NVVM::TMALoadMode::TILE);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, destination, map, coordinates, barrier, /*im2colOffsets=*/ValueRange(), mask, policy, mode,
      /*isCTAOnly=*/b.getBoolAttr(!mask), NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}
void ptx::tensorLoad(KernelBuilder &b, Value destination, Value map, ValueRange coordinates, Value barrier,
                     bool evictFirst) {
  tensorLoadOp(b, destination, map, coordinates, barrier, Value(), evictFirst ? b.i64(evictFirstPolicy) : Value());
}
void ptx::tensorLoadMulticast(KernelBuilder &b, Value destination, Value map, ValueRange coordinates, Value barrier,
                              int64_t mask) {
  Value inCluster = LLVM::AddrSpaceCastOp::create(b, b.pointerType(AddressSpace::sharedCluster), destination);
  Value ctas = arith::ConstantOp::create(b, b.getI16IntegerAttr(mask));
  tensorLoadOp(b, inCluster, map, coordinates, barrier, ctas, /*policy=*/Value());
}
void ptx::tensorStore(KernelBuilder &b, Value map, Value source, ValueRange coordinates) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, map, source, coordinates, /*l2CacheHint=*/Value(),
      NVVM::TMAStoreModeAttr::get(b.getContext(), NVVM::TMAStoreMode::TILE), /*predicate=*/Value());
}
void ptx::bulkCommit(KernelBuilder &b) { NVVM::CpAsyncBulkCommitGroupOp::create(b); }
void ptx::bulkWait(KernelBuilder &b, int64_t pending, bool read) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(pending), read ? b.getUnitAttr() : UnitAttr());
}
void ptx::proxyFence(KernelBuilder &b) {
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
}

//===----------------------------------------------------------------------===//
// Warpgroup matrix instructions
//===----------------------------------------------------------------------===//

int64_t ptx::matrixDepth(Type element) {
  constexpr int64_t depthBits = 256;
  return depthBits / element.getIntOrFloatBitWidth();
}

int64_t ptx::wgmmaDescriptorBits(int64_t swizzleBytes, int64_t leadingBytes, int64_t strideBytes) {
  uint64_t swizzle = swizzleBytes == 128 ? 1 : swizzleBytes == 64 ? 2 : 3;
  return (swizzle << 62) | ((strideBytes >> 4) << 32) | ((leadingBytes >> 4) << 16);
}
Value ptx::wgmmaAddress(KernelBuilder &b, Value pointer) {
  Value address = LLVM::PtrToIntOp::create(b, b.i32Type(), pointer);
  return b.bitAnd(b.shiftRight(address, 4), 0x3fff);
}
Value ptx::wgmmaDescriptor(KernelBuilder &b, Value address, int64_t bits) {
  Value low = b.add(address, b.i32(static_cast<int32_t>(bits)));
  Value words = b.vector({low, b.i32(static_cast<int32_t>(bits >> 32))});
  return LLVM::BitcastOp::create(b, b.getI64Type(), words);
}
Value ptx::wgmmaDescriptorInPlace(KernelBuilder &b, Value address, int64_t bits, Value zero) {
  Value low = b.add(address, b.i32(static_cast<int32_t>(bits)));
  Value high = b.bitOr(zero, b.i32(static_cast<int32_t>(bits >> 32)));
  return inlineAsm(b, b.getI64Type(), {low, high}, "mov.b64 $0, {$1, $2};", "=l,r,r", Effects::none);
}
void ptx::wgmmaFence(KernelBuilder &b) { NVVM::WgmmaFenceAlignedOp::create(b); }
void ptx::wgmmaCommit(KernelBuilder &b) { NVVM::WgmmaGroupSyncAlignedOp::create(b); }

static NVVM::WGMMATypes wgmmaType(Type element) {
  return TypeSwitch<Type, NVVM::WGMMATypes>(element)
      .Case([](BFloat16Type) { return NVVM::WGMMATypes::bf16; })
      .Case([](Float16Type) { return NVVM::WGMMATypes::f16; })
      .Case([](Float8E4M3FNType) { return NVVM::WGMMATypes::e4m3; })
      .Case([](Float8E5M2Type) { return NVVM::WGMMATypes::e5m2; });
}

Value ptx::wgmma(KernelBuilder &b, int64_t n, Value accumulators, WgmmaMatrix a, WgmmaMatrix bMatrix, bool accumulate) {
  MLIRContext *context = b.getContext();
  // In the op "col" on A means that M is contiguous, "row" on B that N is (the instruction's transpose bits are set).
  auto layoutA = a.isContiguousK ? NVVM::MMALayout::row : NVVM::MMALayout::col;
  auto layoutB = bMatrix.isContiguousK ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  return NVVM::WgmmaMmaAsyncOp::create(
      b, accumulators.getType(), accumulators, a.descriptor, bMatrix.descriptor,
      NVVM::MMAShapeAttr::get(context, 64, n, matrixDepth(a.element)), wgmmaType(a.element), wgmmaType(bMatrix.element),
      NVVM::WGMMATypes::f32, accumulate ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero, NVVM::WGMMAScaleIn::one,
      NVVM::WGMMAScaleIn::one, layoutA, layoutB, NVVM::MMAIntOverflowAttr());
}

Value ptx::wgmmaFromRegisters(KernelBuilder &b, int64_t n, Type element, Value accumulators, ValueRange a,
                              Value bDescriptor, bool bNMajor, bool accumulate) {
  // The op of the dialect takes A from shared memory only. Operands: n / 2 results, the same as inputs, A, B.
  int64_t count = n / 2;
  SmallVector<std::string> sums, constraints(count, "=f");
  for (int64_t i = 0; i < count; ++i) {
    sums.push_back("$" + std::to_string(i));
    constraints.push_back(std::to_string(i));
  }
  constraints.append({"r", "r", "r", "r", "l"});
  std::string text =
      llvm::formatv("{{ .reg .pred p; setp.ne.b32 p, {0}, 0; wgmma.mma_async.sync.aligned.m64n{1}k16.f32."
                    "{2}.{2} {{{3}}, {{${4}, ${5}, ${6}, ${7}}, ${8}, p, 1, 1, {9}; }",
                    accumulate ? 1 : 0, n, element.isBF16() ? "bf16" : "f16", llvm::join(sums, ", "), 2 * count,
                    2 * count + 1, 2 * count + 2, 2 * count + 3, 2 * count + 4, bNMajor ? 1 : 0);
  Values operands = b.unpack(accumulators);
  llvm::append_range(operands, a);
  operands.push_back(bDescriptor);
  return inlineAsm(b, accumulators.getType(), operands, text, llvm::join(constraints, ","), Effects::memory);
}

Value ptx::wgmmaWait(KernelBuilder &b, int64_t pending, Value accumulators) {
  Values values = b.unpack(accumulators);
  SmallVector<std::string> constraints(values.size(), "=f");
  for (size_t i = 0; i < values.size(); ++i)
    constraints.push_back(std::to_string(i));
  return inlineAsm(b, accumulators.getType(), values, "wgmma.wait_group.sync.aligned " + Twine(pending) + ";",
                   llvm::join(constraints, ","), Effects::memory);
}

void ptx::setRegisters(KernelBuilder &b, int64_t count, bool increase) {
  auto action = increase ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease;
  NVVM::SetMaxRegisterOp::create(b, count, action);
}

//===----------------------------------------------------------------------===//
// Warp matrix instructions
//===----------------------------------------------------------------------===//

static NVVM::LdStMatrixShapeAttr matrixShape(KernelBuilder &b) {
  return NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
}
static NVVM::MMALayoutAttr matrixLayout(KernelBuilder &b, bool transposed) {
  return NVVM::MMALayoutAttr::get(b.getContext(), transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row);
}
static NVVM::LdStMatrixEltTypeAttr matrixElement(KernelBuilder &b) {
  return NVVM::LdStMatrixEltTypeAttr::get(b.getContext(), NVVM::LdStMatrixEltType::B16);
}

Values ptx::loadMatrix(KernelBuilder &b, Value pointer, int64_t count, bool transposed) {
  Type result = b.i32Type();
  if (count > 1)
    result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, b.i32Type()));
  Value registers = NVVM::LdMatrixOp::create(b, result, pointer, b.getI32IntegerAttr(count),
                                             matrixLayout(b, transposed), matrixShape(b), matrixElement(b));
  return count > 1 ? b.unpack(registers) : Values{registers};
}

void ptx::storeMatrix(KernelBuilder &b, Value pointer, ValueRange registers, bool transposed) {
  NVVM::StMatrixOp::create(b, pointer, registers, matrixLayout(b, transposed), matrixShape(b), matrixElement(b));
}

/// The name that PTX has for a type of fp8.
static const char *nameOfF8(Type element) { return isa<Float8E4M3FNType>(element) ? "e4m3" : "e5m2"; }

Values ptx::widenF8(KernelBuilder &b, Type element, Value four) {
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), {b.i32Type(), b.i32Type()});
  std::string text = llvm::formatv("{{ .reg .b16 low, high; mov.b32 {{low, high}, $2; cvt.rn.f16x2.{0}x2 $0, low; "
                                   "cvt.rn.f16x2.{0}x2 $1, high; }",
                                   nameOfF8(element));
  return b.unpack(inlineAsm(b, result, four, text, "=r,=r,r", Effects::none));
}

/// MLIR has no op for these.
static Values mmaOfF8(KernelBuilder &b, ptx::MmaMatrix a, ptx::MmaMatrix bMatrix, ValueRange c) {
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  Values operands(a.registers);
  llvm::append_range(operands, bMatrix.registers);
  llvm::append_range(operands, c);
  std::string text = llvm::formatv("mma.sync.aligned.m16n8k32.row.col.f32.{0}.{1}.f32 {{$0, $1, $2, $3}, "
                                   "{{$4, $5, $6, $7}, {{$8, $9}, {{$10, $11, $12, $13};",
                                   nameOfF8(a.element), nameOfF8(bMatrix.element));
  return b.unpack(inlineAsm(b, result, operands, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", Effects::none));
}

Values ptx::mma(KernelBuilder &b, MmaMatrix a, MmaMatrix bMatrix, ValueRange c) {
  Type element = a.element;
  if (element.getIntOrFloatBitWidth() == 8)
    return mmaOfF8(b, a, bMatrix, c);
  auto type = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  // The op wants pairs of f16 as vectors, but pairs of bf16 as i32.
  auto operands = [&](ValueRange registers) {
    Values values(registers);
    if (element.isF16())
      for (Value &value : values)
        value = LLVM::BitcastOp::create(b, VectorType::get(2, element), value);
    return values;
  };
  Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  Value sum = NVVM::MmaOp::create(
      b, result, operands(a.registers), operands(bMatrix.registers), c, ArrayRef<int64_t>{16, 8, 16},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return b.unpack(sum);
}

//===----------------------------------------------------------------------===//
// Asynchronous copies, conversions and stores
//===----------------------------------------------------------------------===//

void ptx::copyAsync16(KernelBuilder &b, Value destination, Value source, bool inL1, Value bytes) {
  auto modifier = inL1 ? NVVM::LoadCacheModifierKind::CA : NVVM::LoadCacheModifierKind::CG;
  NVVM::CpAsyncOp::create(b, destination, source, b.getI32IntegerAttr(16),
                          NVVM::LoadCacheModifierKindAttr::get(b.getContext(), modifier), bytes);
}
void ptx::copyAsync4(KernelBuilder &b, Value destination, Value source, Value bytes) {
  NVVM::CpAsyncOp::create(b, destination, source, b.getI32IntegerAttr(4),
                          NVVM::LoadCacheModifierKindAttr::get(b.getContext(), NVVM::LoadCacheModifierKind::CA), bytes);
}
void ptx::copyAsyncArrive(KernelBuilder &b, Value barrier) {
  inlineAsm(b, {}, {barrier}, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r", Effects::memory);
}
void ptx::sleep(KernelBuilder &b, int64_t nanoseconds) {
  inlineAsm(b, {}, {b.i32(nanoseconds)}, "nanosleep.u32 $0;", "n", Effects::memory);
}
void ptx::copyAsyncCommit(KernelBuilder &b) { NVVM::CpAsyncCommitGroupOp::create(b); }
void ptx::copyAsyncWait(KernelBuilder &b, int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(b, b.getI32IntegerAttr(pending));
}

Value ptx::exp2(KernelBuilder &b, Value x) {
  return callIntrinsic(b, b.getF32Type(), "llvm.nvvm.ex2.approx.ftz.f", {x});
}

Value ptx::reciprocal(KernelBuilder &b, Value x) {
  return callIntrinsic(b, b.getF32Type(), "llvm.nvvm.rcp.approx.ftz.f", {x});
}

Value ptx::pack(KernelBuilder &b, Type element, Value low, Value high) {
  auto vector = VectorType::get(2, element);
  // The intrinsics take the high half first.
  StringRef name = element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  return LLVM::BitcastOp::create(b, b.i32Type(), callIntrinsic(b, vector, name, {high, low}));
}

KernelBuilder::Values ptx::packPairs(KernelBuilder &b, Type element, ValueRange values) {
  Values pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(pack(b, element, values[i], values[i + 1]));
  return pairs;
}

Value ptx::packF8(KernelBuilder &b, Type element, Value low, Value high) {
  return NVVM::ConvertF32x2ToF8x2Op::create(b, b.getIntegerType(16), high, low, NVVM::FPRoundingMode::RN,
                                            NVVM::SaturationMode::SATFINITE, /*relu=*/false, element);
}

Value ptx::toElement(KernelBuilder &b, Type element, Value value) {
  if (element.isF32())
    return value;
  return arith::TruncIOp::create(b, b.getIntegerType(16), pack(b, element, value, b.f32(0)));
}

Values ptx::loadGlobalPair(KernelBuilder &b, Value pointer, Type element, Value both, Value onlyFirst) {
  Values operands{pointer, both};
  if (onlyFirst)
    operands.push_back(onlyFirst);
  StringRef third = onlyFirst ? ",b" : "";
  if (element.isF32()) {
    Type pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {element, element});
    std::string text = "mov.b32 $0, 0; mov.b32 $1, 0; @$3 ld.global.v2.b32 {$0, $1}, [$2];";
    if (onlyFirst)
      text += " @$4 ld.global.b32 $0, [$2];";
    return b.unpack(inlineAsm(b, pair, operands, text, ("=&f,=&f,l,b" + third).str(), Effects::memory));
  }
  std::string text = "mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1];";
  if (onlyFirst)
    text = "{ .reg .b16 first, zero; mov.b16 first, 0; mov.b16 zero, 0; @$3 ld.global.b16 first, [$1]; "
           "mov.b32 $0, {first, zero}; @$2 ld.global.b32 $0, [$1]; }";
  Value packed = inlineAsm(b, b.i32Type(), operands, text, ("=&r,l,b" + third).str(), Effects::memory);
  Value vector = LLVM::BitcastOp::create(b, VectorType::get(2, element), packed);
  return {LLVM::ExtractElementOp::create(b, vector, b.i32(0)), LLVM::ExtractElementOp::create(b, vector, b.i32(1))};
}

void ptx::storeGlobal(KernelBuilder &b, Value pointer, Value value, Value predicate) {
  auto letter = [](Type type) { return type.isF32() ? "f" : type.isInteger(16) ? "h" : "r"; };
  SmallVector<Value> operands{pointer, predicate};
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    operands.push_back(value);
    inlineAsm(b, {}, operands, Twine("@$1 st.global.") + (value.getType().isInteger(16) ? "b16" : "b32") + " [$0], $2;",
              std::string("l,b,") + letter(value.getType()), Effects::memory);
    return;
  }
  SmallVector<std::string> names;
  std::string constraints = "l,b";
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    operands.push_back(LLVM::ExtractElementOp::create(b, value, b.i32(i)));
    names.push_back("$" + std::to_string(i + 2));
    constraints += std::string(",") + letter(vector.getElementType());
  }
  inlineAsm(b, {}, operands,
            "@$1 st.global.v" + Twine(vector.getNumElements()) + ".b32 [$0], {" + llvm::join(names, ", ") + "};",
            constraints, Effects::memory);
}

Value ptx::tanhApproximate(KernelBuilder &b, Value x) {
  return inlineAsm(b, x.getType(), {x}, "tanh.approx.f32 $0, $1;", "=f,f", Effects::none);
}

static void reduceInto(KernelBuilder &b, Value pointer, Value value, StringRef operation) {
  bool isShared =
      cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == static_cast<unsigned>(AddressSpace::shared);
  inlineAsm(b, {}, {pointer, value}, Twine("red.") + (isShared ? "shared." : "global.") + operation + " [$0], $1;",
            isShared ? "r,r" : "l,r", Effects::memory);
}
void ptx::orInto(KernelBuilder &b, Value pointer, Value value) { reduceInto(b, pointer, value, "or.b32"); }
void ptx::addInto(KernelBuilder &b, Value pointer, Value value) { reduceInto(b, pointer, value, "add.u32"); }
void ptx::maximumInto(KernelBuilder &b, Value pointer, Value value) { reduceInto(b, pointer, value, "max.u32"); }

Value ptx::fetchIncrement(KernelBuilder &b, Value counter, Value last) {
  return inlineAsm(b, b.i32Type(), {counter, last}, "atom.global.inc.u32 $0, [$1], $2;", "=r,l,r", Effects::memory);
}

Value ptx::countToLast(KernelBuilder &b, Value counter, Value last) {
  return inlineAsm(b, b.i32Type(), {counter, last}, "atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r",
                   Effects::memory);
}

Value ptx::opaque(KernelBuilder &b, Value value) {
  return inlineAsm(b, value.getType(), {value}, "mov.u32 $0, $1;", "=r,0", Effects::memory);
}
