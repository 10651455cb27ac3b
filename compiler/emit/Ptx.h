// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every GPU instruction that the emitters use, one function each: NVVM ops where MLIR has them, inline PTX where it has
// not. No other file of the compiler contains PTX text. Section numbers refer to the PTX ISA 9.0.

#ifndef SPARSEC_EMIT_PTX_H
#define SPARSEC_EMIT_PTX_H

#include "KernelBuilder.h"

namespace sparsec::ptx {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using Values = KernelBuilder::Values;

// Special registers (10).
Value threadIndex(KernelBuilder &b);
Value blockIndex(KernelBuilder &b);
Value gridSize(KernelBuilder &b);
Value clusterRank(KernelBuilder &b); // %cluster_ctarank

/// The value of lane 0 in every lane of the warp, so that the compiler knows it is uniform (shfl.sync.idx, 9.7.9.6).
Value broadcastFirstLane(KernelBuilder &b, Value value);
/// The value of the lane with this one's number in another group of four lanes (shfl.sync.idx).
Value fromGroup(KernelBuilder &b, Value value, int64_t group);
/// The value of lane `lane ^ mask` (shfl.sync.bfly).
Value exchange(KernelBuilder &b, Value value, int64_t mask);
/// The value of lane `lane - distance`, or the lane's own where there is none (shfl.sync.up), and that of one lane.
Value fromLaneBefore(KernelBuilder &b, Value value, int64_t distance);
Value fromLane(KernelBuilder &b, Value value, int64_t lane);
Value fromLane(KernelBuilder &b, Value value, Value lane); // known at run time only
/// The index of the thread in the CTA, read anew, so that no register holds it or what depends on it for long.
Value readThread(KernelBuilder &b);

/// a | b | c by one instruction (lop3.b32, 9.7.8.6). LLVM and ptxas leave the order of several as it is.
Value bitOr3(KernelBuilder &b, Value x, Value y, Value z);
/// Whether the predicate holds in some lane of the warp (vote.sync.any, 9.7.14.4).
Value anyInWarp(KernelBuilder &b, Value predicate);
/// The lanes in which it holds, as bits (vote.sync.ballot), and those below this one (%lanemask_lt, 10.13).
Value ballot(KernelBuilder &b, Value predicate);
Value lanesBefore(KernelBuilder &b);
/// The sum and the largest i32 (signed) of the lanes of the warp (redux.sync).
Value sumOfWarp(KernelBuilder &b, Value value);
Value largestOfWarp(KernelBuilder &b, Value value);

// Barriers of threads (9.7.13).
void barrierCta(KernelBuilder &b);                              // bar.sync 0
void barrierNamed(KernelBuilder &b, Value id, int64_t threads); // bar.sync id, threads
void barrierWarp(KernelBuilder &b);                             // bar.warp.sync
void barrierCluster(KernelBuilder &b);                          // barrier.cluster.arrive + wait

/// Waits for the kernel in front of this one, and sees its writes (griddepcontrol.wait, 9.7.13.13).
void gridDependencyWait(KernelBuilder &b);
/// Lets the kernel behind this one start once all CTAs have come here (griddepcontrol.launch_dependents, 9.7.13.13).
void gridDependentsLaunch(KernelBuilder &b);

/// A word of shared memory that threads read and write without synchronisation (ld.relaxed.cta, st.relaxed.cta).
Value loadRelaxed(KernelBuilder &b, Value pointer);
void storeRelaxed(KernelBuilder &b, Value pointer, Value value);

/// A byte of global memory by which threads of a GPU order their accesses (ld.acquire.gpu, st.release.gpu, 8.9).
Value loadFlag(KernelBuilder &b, Value pointer);
void storeFlag(KernelBuilder &b, Value pointer, Value value);

// mbarrier (9.7.13.15). Pointers are to shared memory.
void mbarrierInit(KernelBuilder &b, Value barrier, int64_t count);
void mbarrierInitFence(KernelBuilder &b);                               // fence.mbarrier_init.release.cluster
void mbarrierExpectBytes(KernelBuilder &b, Value barrier, Value bytes); // arrive.expect_tx
/// Blocks until the phase with this parity is complete.
void mbarrierWait(KernelBuilder &b, Value barrier, Value parity);
/// Whether the phase with this parity is complete.
Value mbarrierTest(KernelBuilder &b, Value barrier, Value parity);
/// `count` arrivals at once, 1 or more.
void mbarrierArriveFor(KernelBuilder &b, Value barrier, Value count);
/// mbarrier.arrive if the predicate holds.
void mbarrierArrive(KernelBuilder &b, Value barrier, Value predicate);
/// The same on the barrier of another CTA of the cluster (mapa + mbarrier.arrive.shared::cluster). The default
/// semantics are used on purpose: an explicit .release.cluster costs two memory barriers in every iteration.
void mbarrierArriveRemote(KernelBuilder &b, Value barrier, Value rank, Value predicate);

// Tensor memory accelerator (9.7.9.27): tile copies between global and shared memory.
/// coordinates: innermost first. Completes on `barrier` (complete_tx::bytes).
/// With `evictFirst` the lines in L2 are the first to make room for others.
void tensorLoad(KernelBuilder &b, Value destination, Value map, ValueRange coordinates, Value barrier, bool evictFirst);
/// The same into every CTA of the cluster whose bit in `mask` is set, at the same offsets.
void tensorLoadMulticast(KernelBuilder &b, Value destination, Value map, ValueRange coordinates, Value barrier,
                         int64_t mask);
void tensorStore(KernelBuilder &b, Value map, Value source, ValueRange coordinates);
void bulkCommit(KernelBuilder &b);
/// Waits until at most `pending` groups are incomplete; `read`: until they have read their source.
void bulkWait(KernelBuilder &b, int64_t pending, bool read);
/// Makes shared-memory writes of this thread visible to the copy engine (fence.proxy.async.shared::cta).
void proxyFence(KernelBuilder &b);

/// K of one matrix instruction, wgmma or mma: 16 elements of 16 bits, or 32 of fp8.
int64_t matrixDepth(Type element);

// Warpgroup matrix instructions (9.7.15).
/// A matrix descriptor without its address (9.7.15.5.1.2): a swizzle of 128, 64 or 32 bytes, byte offsets between core
/// matrices. K-major operands ignore the leading offset; MN-major operands step it from one 64-element column of atoms
/// to the next. stride is the offset between groups of 8 rows.
int64_t wgmmaDescriptorBits(int64_t swizzleBytes, int64_t leadingBytes, int64_t strideBytes);
/// The part of a descriptor that depends on the address, in 16 bytes. In a cluster the 32-bit address carries the CTA's
/// rank in its high bits, which must not reach the descriptor.
Value wgmmaAddress(KernelBuilder &b, Value pointer);
/// The descriptor of an address. Its two words are made apart, because ptxas 13.0 has lost the high word of a sum of 64
/// bits (bench/notes/streams.md).
Value wgmmaDescriptor(KernelBuilder &b, Value address, int64_t bits);
/// The same descriptor. Its high word contains `zero`, so that the optimizer leaves the descriptor where it is made.
Value wgmmaDescriptorInPlace(KernelBuilder &b, Value address, int64_t bits, Value zero);
void wgmmaFence(KernelBuilder &b);
/// An operand in shared memory. isContiguousK: K-major, else MN-major; fp8 is K-major.
struct WgmmaMatrix {
  Type element;
  Value descriptor;
  bool isContiguousK;
};
/// accumulators (a struct of n/2 f32) += A (64 x k) * B (k x n); elements: both bf16, both f16, or any fp8 types.
/// Without `accumulate` the accumulators' values do not count.
Value wgmma(KernelBuilder &b, int64_t n, Value accumulators, WgmmaMatrix a, WgmmaMatrix bMatrix,
            bool accumulate = true);
/// The same of bf16 or f16, with A in four registers of pairs, as those of mma.
Value wgmmaFromRegisters(KernelBuilder &b, int64_t n, Type element, Value accumulators, ValueRange a, Value bDescriptor,
                         bool bNMajor, bool accumulate = true);
void wgmmaCommit(KernelBuilder &b);
/// Waits until at most `pending` groups are in flight. The accumulators pass through the instruction, so that no use of
/// them can move above it.
Value wgmmaWait(KernelBuilder &b, int64_t pending, Value accumulators);
/// setmaxnreg.inc / .dec (9.7.20.5)
void setRegisters(KernelBuilder &b, int64_t count, bool increase);

// Warp matrix instructions (9.7.14).
/// Four (or two) 8x8 b16 matrices from shared memory; transposed: each matrix is transposed on the way.
Values loadMatrix(KernelBuilder &b, Value pointer, int64_t count, bool transposed);
void storeMatrix(KernelBuilder &b, Value pointer, ValueRange registers, bool transposed);
/// The registers of an operand, and the type of its elements.
struct MmaMatrix {
  Type element;
  ValueRange registers;
};
/// Four elements of fp8 as two pairs of f16, which is exact (cvt.rn.f16x2.e4m3x2, e5m2x2; 9.7.9.21).
Values widenF8(KernelBuilder &b, Type element, Value four);
/// d (16 x 8, f32) = a (16 x k) * b (k x 8) + c; elements: both bf16, both f16, or any fp8 types.
Values mma(KernelBuilder &b, MmaMatrix a, MmaMatrix bMatrix, ValueRange c);

// Asynchronous 16-byte copies (9.7.9.25.3).
/// cp.async 16 bytes: with `inL1` (cp.async.ca) they stay in L1 for others too, else (cp.async.cg) they go past it.
/// With `bytes`, only that many come from global memory and the rest is zero.
void copyAsync16(KernelBuilder &b, Value destination, Value source, bool inL1, Value bytes = {});
/// The same for 4 bytes.
void copyAsync4(KernelBuilder &b, Value destination, Value source, Value bytes = {});
/// Arrives at a barrier, which counts this thread, when all copies of the thread before are there.
void copyAsyncArrive(KernelBuilder &b, Value barrier);
void copyAsyncCommit(KernelBuilder &b);
void copyAsyncWait(KernelBuilder &b, int64_t pending);
/// Suspends the thread for about so long, at most twice as long (nanosleep, 9.7.20.2).
void sleep(KernelBuilder &b, int64_t nanoseconds);

/// 2^x to about 2 units in the last place (ex2.approx.ftz.f32, 9.7.3.21): results below 2^-126 are zero.
Value exp2(KernelBuilder &b, Value x);

/// 1 / x, at most 1 unit in the last place off (rcp.approx.ftz.f32, 9.7.3.14).
Value reciprocal(KernelBuilder &b, Value x);

/// tanh x with a relative error of 2^-10.987 (tanh.approx.f32, 9.7.3.22).
Value tanhApproximate(KernelBuilder &b, Value x);

/// Two f32 to one register of two 16-bit values, low half first, rounded to nearest even (cvt.rn.bf16x2.f32, f16x2).
Value pack(KernelBuilder &b, Type element, Value low, Value high);
/// Neighbours in pairs, as operands of matrix instructions.
Values packPairs(KernelBuilder &b, Type element, ValueRange values);
/// Two f32 of at most the largest number of an fp8 type, or NaN, to an i16, low half first, rounded to nearest even
/// (cvt.rn.satfinite.e4m3x2.f32, e5m2x2).
Value packF8(KernelBuilder &b, Type element, Value low, Value high);
/// A f32 as one element in memory: rounded as by pack, an i16, or itself where the element is f32.
Value toElement(KernelBuilder &b, Type element, Value value);

/// Two neighbours of 16 or 32 bits from global memory, at a multiple of their common size: both where `both` holds, the
/// first alone and a zero where `onlyFirst` does (never, if null), else zeros and no access (ld.global).
Values loadGlobalPair(KernelBuilder &b, Value pointer, Type element, Value both, Value onlyFirst);

/// st.global if the predicate holds. The value is i16, i32, f32 or a vector of i32.
void storeGlobal(KernelBuilder &b, Value pointer, Value value, Value predicate);

/// A word of shared or global memory becomes itself | value, or itself + value (red.or.b32, red.add.u32, 9.7.13.6).
void orInto(KernelBuilder &b, Value pointer, Value value);
void addInto(KernelBuilder &b, Value pointer, Value value);
/// It becomes the larger one of itself and value, as numbers without a sign (red.max.u32).
void maximumInto(KernelBuilder &b, Value pointer, Value value);

/// The value of a counter in global memory, which becomes one more, or zero where it was `last` (atom.global.inc).
Value fetchIncrement(KernelBuilder &b, Value counter, Value last);

/// The same, and the writes of those that came before are visible to the last one (atom.acq_rel.gpu, 9.7.13.5).
Value countToLast(KernelBuilder &b, Value counter, Value last);

/// The same value, but the optimizer cannot see through: keeps a shared-memory base in a register instead of
/// computing it again in every iteration.
Value opaque(KernelBuilder &b, Value value);

} // namespace sparsec::ptx

#endif // SPARSEC_EMIT_PTX_H
