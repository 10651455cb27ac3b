// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small vocabulary for building the body of a machine kernel: 32-bit arithmetic, pointers and structured control flow
// in the arith, scf and llvm dialects. GPU instructions are in Ptx.h.

#ifndef SPARSEC_EMIT_KERNEL_BUILDER_H
#define SPARSEC_EMIT_KERNEL_BUILDER_H

#include "CarriedState.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sparsec {

/// Address spaces of NVPTX pointers.
enum class AddressSpace : unsigned { generic = 0, global = 1, shared = 3, sharedCluster = 7 };

/// A thread loads and stores at most 16 bytes by one instruction. Rows in shared memory are moved in vectors of this
/// size.
inline constexpr int64_t vectorBytes = 16;

/// Threads of a warp.
inline constexpr int64_t warpLanes = 32;

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  // Constants and types.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value boolean(bool value);
  mlir::Type i32Type() { return getI32Type(); }
  mlir::Type pointerType(AddressSpace space);

  // i32 or i64 arithmetic; the right operand may be a constant.
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, Value b);
  Value sub(Value a, int64_t b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value divide(Value a, Value b);   // unsigned
  Value divide(Value a, int64_t b); // unsigned, a shift where b is a power of two
  Value modulo(Value a, Value b);   // unsigned
  Value modulo(Value a, int64_t b); // unsigned
  Value minimum(Value a, Value b);  // signed
  Value bitAnd(Value a, Value b);
  Value bitAnd(Value a, int64_t b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value bitXor(Value a, int64_t b);
  Value shiftLeft(Value a, Value b);
  Value shiftLeft(Value a, int64_t b);
  Value shiftRight(Value a, int64_t b);
  Value extend(Value a); // i32 to i64, unsigned
  Value countBits(Value a);
  Value lowestBit(Value a); // its number; a is not 0

  // f32 arithmetic.
  Value addF(Value a, Value b);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value divF(Value a, Value b);
  Value fma(Value a, Value b, Value c); // a * b + c
  Value negateF(Value a);
  Value magnitude(Value a);
  Value larger(Value a, Value b); // the other one where one is NaN
  Value smaller(Value a, Value b);
  Value compareF(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  Value widen(Value a); // a f16, bf16 or f32, to f32
  // The bits of an f32 as an i32, and back.
  Value bitsOf(Value number);
  Value fromBits(Value bits);

  // Comparisons (signed) and logic on i1.
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value less(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::slt, a, b); }
  Value less(Value a, int64_t b) { return less(a, constantLike(a, b)); }
  Value equal(Value a, int64_t b) { return compare(mlir::arith::CmpIPredicate::eq, a, constantLike(a, b)); }
  Value logicalAnd(Value a, Value b);
  Value logicalOr(Value a, Value b);
  Value logicalNot(Value a);
  Value select(Value condition, Value a, Value b);
  /// all[number], where there is such a value.
  Value select(mlir::ValueRange all, Value number);
  Value isNotNull(Value pointer);

  // Memory.
  Value byteOffset(Value pointer, Value offset); // pointer + offset bytes
  Value byteOffset(Value pointer, int64_t offset);
  Value flipAddressBits(Value sharedPointer, int64_t bits); // pointer xor bits
  Value elementPointer(Value pointer, mlir::Type element, Value index);
  Value load(mlir::Type type, Value pointer);
  Value loadInvariant(mlir::Type type, Value pointer); // read-only for the whole kernel: non-coherent path
  /// array[index] of a read-only array in global memory.
  Value loadElement(mlir::Type element, Value array, Value index);

  // Structs: how matrix instructions take and give registers.
  Values unpack(Value structure);
  Value pack(mlir::ValueRange values);

  /// A vector of scalars of one type.
  Value vector(mlir::ValueRange elements);

  // Control flow.
  using LoopBody = llvm::function_ref<Values(Value index, mlir::ValueRange carried)>;
  /// for (index = begin; index < end; index += step) carried = body(index, carried)
  Values forLoop(Value begin, Value end, Value step, mlir::ValueRange carried, LoopBody body);
  /// while (condition(carried)) carried = body(carried)
  Values whileLoop(mlir::ValueRange carried, llvm::function_ref<Value(mlir::ValueRange)> condition,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  /// while ((goesOn, made) = test(carried), goesOn) carried = body(carried, made)
  using LoopTest = llvm::function_ref<std::pair<Value, Values>(mlir::ValueRange carried)>;
  Values whileLoop(mlir::ValueRange carried, mlir::TypeRange madeTypes, LoopTest test,
                   llvm::function_ref<Values(mlir::ValueRange carried, mlir::ValueRange made)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  Values ifThenElse(Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
                    llvm::function_ref<Values()> otherwise);

  // The same with a state in place of a list of values.
  template <typename Function> using FunctionRef = std::type_identity_t<llvm::function_ref<Function>>;
  template <CarriedState State>
  State whileLoop(const State &begin, FunctionRef<Value(const State &)> condition,
                  FunctionRef<State(const State &)> body) {
    return unpackState(whileLoop(
                           packState(begin),
                           [&](mlir::ValueRange values) { return condition(unpackState(values, begin)); },
                           [&](mlir::ValueRange values) { return packState(body(unpackState(values, begin))); }),
                       begin);
  }
  /// condition ? then() : otherwise(); `like` has as many values as either, of the same types.
  template <CarriedState State>
  State ifThenElse(Value condition, const State &like, FunctionRef<State()> then, FunctionRef<State()> otherwise) {
    Values values = ifThenElse(
        condition, mlir::ValueRange(packState(like)).getTypes(), [&] { return packState(then()); },
        [&] { return packState(otherwise()); });
    return unpackState(values, like);
  }
  /// condition ? change() : state
  template <CarriedState State> State changeIf(Value condition, const State &state, FunctionRef<State()> change) {
    return ifThenElse(condition, state, change, [&] { return state; });
  }

private:
  Value constantLike(Value a, int64_t b);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_KERNEL_BUILDER_H
