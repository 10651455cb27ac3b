// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

Value KernelBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value KernelBuilder::i64(int64_t value) { return arith::ConstantOp::create(*this, getI64IntegerAttr(value)); }
Value KernelBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(static_cast<float>(value)));
}
Value KernelBuilder::boolean(bool value) { return arith::ConstantOp::create(*this, getBoolAttr(value)); }
Type KernelBuilder::pointerType(AddressSpace space) {
  return LLVM::LLVMPointerType::get(getContext(), static_cast<unsigned>(space));
}
Value KernelBuilder::constantLike(Value a, int64_t b) { return a.getType().isInteger(64) ? i64(b) : i32(b); }

Value KernelBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value KernelBuilder::add(Value a, int64_t b) { return b == 0 ? a : add(a, constantLike(a, b)); }
Value KernelBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value KernelBuilder::sub(Value a, int64_t b) { return sub(a, constantLike(a, b)); }
Value KernelBuilder::mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
Value KernelBuilder::mul(Value a, int64_t b) {
  if (b == 1)
    return a;
  return llvm::isPowerOf2_64(b) ? shiftLeft(a, llvm::Log2_64(b)) : mul(a, constantLike(a, b));
}
Value KernelBuilder::divide(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
Value KernelBuilder::divide(Value a, int64_t b) {
  if (b == 1)
    return a;
  return llvm::isPowerOf2_64(b) ? shiftRight(a, llvm::Log2_64(b)) : divide(a, constantLike(a, b));
}
Value KernelBuilder::modulo(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
Value KernelBuilder::modulo(Value a, int64_t b) {
  return llvm::isPowerOf2_64(b) ? bitAnd(a, b - 1) : modulo(a, constantLike(a, b));
}
Value KernelBuilder::minimum(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value KernelBuilder::bitAnd(Value a, Value b) { return createOrFold<arith::AndIOp>(a, b); }
Value KernelBuilder::bitAnd(Value a, int64_t b) { return bitAnd(a, constantLike(a, b)); }
Value KernelBuilder::bitOr(Value a, Value b) { return createOrFold<arith::OrIOp>(a, b); }
Value KernelBuilder::bitXor(Value a, Value b) { return createOrFold<arith::XOrIOp>(a, b); }
Value KernelBuilder::bitXor(Value a, int64_t b) { return bitXor(a, constantLike(a, b)); }
Value KernelBuilder::shiftLeft(Value a, Value b) { return createOrFold<arith::ShLIOp>(a, b); }
Value KernelBuilder::shiftLeft(Value a, int64_t b) { return b == 0 ? a : shiftLeft(a, constantLike(a, b)); }
Value KernelBuilder::shiftRight(Value a, int64_t b) {
  return b == 0 ? a : createOrFold<arith::ShRUIOp>(a, constantLike(a, b));
}
Value KernelBuilder::extend(Value a) { return createOrFold<arith::ExtUIOp>(getI64Type(), a); }
Value KernelBuilder::countBits(Value a) { return LLVM::CtPopOp::create(*this, a.getType(), a); }
Value KernelBuilder::lowestBit(Value a) {
  return LLVM::CountTrailingZerosOp::create(*this, a.getType(), a, /*is_zero_poison=*/true);
}

Value KernelBuilder::addF(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
Value KernelBuilder::subF(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
Value KernelBuilder::mulF(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
Value KernelBuilder::divF(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
Value KernelBuilder::fma(Value a, Value b, Value c) { return math::FmaOp::create(*this, a, b, c); }
Value KernelBuilder::negateF(Value a) { return arith::NegFOp::create(*this, a); }
Value KernelBuilder::magnitude(Value a) { return math::AbsFOp::create(*this, a); }
Value KernelBuilder::larger(Value a, Value b) { return arith::MaxNumFOp::create(*this, a, b); }
Value KernelBuilder::smaller(Value a, Value b) { return arith::MinNumFOp::create(*this, a, b); }
Value KernelBuilder::compareF(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}
Value KernelBuilder::widen(Value a) { return a.getType().isF32() ? a : arith::ExtFOp::create(*this, getF32Type(), a); }
Value KernelBuilder::bitsOf(Value number) { return arith::BitcastOp::create(*this, getI32Type(), number); }
Value KernelBuilder::fromBits(Value bits) { return arith::BitcastOp::create(*this, getF32Type(), bits); }

Value KernelBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return createOrFold<arith::CmpIOp>(predicate, a, b);
}
Value KernelBuilder::logicalAnd(Value a, Value b) { return createOrFold<arith::AndIOp>(a, b); }
Value KernelBuilder::logicalOr(Value a, Value b) { return createOrFold<arith::OrIOp>(a, b); }
Value KernelBuilder::logicalNot(Value a) { return createOrFold<arith::XOrIOp>(a, boolean(true)); }
Value KernelBuilder::isNotNull(Value pointer) {
  return LLVM::ICmpOp::create(*this, LLVM::ICmpPredicate::ne, pointer, LLVM::ZeroOp::create(*this, pointer.getType()));
}
Value KernelBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value KernelBuilder::select(ValueRange all, Value number) {
  Value selected = all[0];
  for (auto [i, value] : llvm::enumerate(all.drop_front()))
    selected = select(equal(number, i + 1), value, selected);
  return selected;
}

Value KernelBuilder::byteOffset(Value pointer, Value offset) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{offset});
}
Value KernelBuilder::byteOffset(Value pointer, int64_t offset) {
  return offset == 0 ? pointer : byteOffset(pointer, i32(offset));
}
Value KernelBuilder::flipAddressBits(Value sharedPointer, int64_t bits) {
  if (bits == 0)
    return sharedPointer;
  Value address = LLVM::PtrToIntOp::create(*this, i32Type(), sharedPointer);
  return LLVM::IntToPtrOp::create(*this, sharedPointer.getType(), bitXor(address, bits));
}
Value KernelBuilder::elementPointer(Value pointer, Type element, Value index) {
  // LLVM has no floats of 8 bits.
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    element = getI8Type();
  return LLVM::GEPOp::create(*this, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{index});
}
Value KernelBuilder::load(Type type, Value pointer) { return LLVM::LoadOp::create(*this, type, pointer); }
Value KernelBuilder::loadInvariant(Type type, Value pointer) {
  auto op = LLVM::LoadOp::create(*this, type, pointer);
  op.setInvariant(true);
  return op;
}
Value KernelBuilder::loadElement(Type element, Value array, Value index) {
  return loadInvariant(element, elementPointer(array, element, index));
}

KernelBuilder::Values KernelBuilder::unpack(Value structure) {
  Values fields;
  size_t count = cast<LLVM::LLVMStructType>(structure.getType()).getBody().size();
  for (size_t i = 0; i < count; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(*this, structure, i));
  return fields;
}

Value KernelBuilder::pack(ValueRange values) {
  auto type = LLVM::LLVMStructType::getLiteral(getContext(), llvm::to_vector(values.getTypes()));
  Value structure = LLVM::UndefOp::create(*this, type);
  for (auto [i, value] : llvm::enumerate(values))
    structure = LLVM::InsertValueOp::create(*this, structure, value, i);
  return structure;
}

Value KernelBuilder::vector(ValueRange elements) {
  auto type = VectorType::get(elements.size(), elements.front().getType());
  Value vector = LLVM::UndefOp::create(*this, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(*this, vector, element, i32(i));
  return vector;
}

KernelBuilder::Values KernelBuilder::forLoop(Value begin, Value end, Value step, ValueRange carried, LoopBody body) {
  auto loop = scf::ForOp::create(*this, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(*this);
  // scf.for builds its own empty terminator only without carried values.
  if (carried.empty())
    setInsertionPoint(loop.getBody()->getTerminator());
  else
    setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(*this, next);
  return Values(loop.getResults());
}

KernelBuilder::Values KernelBuilder::whileLoop(ValueRange carried, function_ref<Value(ValueRange)> condition,
                                               function_ref<Values(ValueRange)> body) {
  return whileLoop(
      carried, TypeRange(), [&](ValueRange values) { return std::pair(condition(values), Values()); },
      [&](ValueRange values, ValueRange) { return body(values); });
}

KernelBuilder::Values KernelBuilder::whileLoop(ValueRange carried, TypeRange madeTypes, LoopTest test,
                                               function_ref<Values(ValueRange, ValueRange)> body) {
  SmallVector<Type> types = llvm::to_vector(carried.getTypes());
  llvm::append_range(types, madeTypes);
  SmallVector<Location> locations(types.size(), getLoc());
  auto loop = scf::WhileOp::create(*this, types, carried);
  OpBuilder::InsertionGuard guard(*this);
  Block *before =
      createBlock(&loop.getBefore(), {}, carried.getTypes(), ArrayRef(locations).take_front(carried.size()));
  auto [goesOn, made] = test(before->getArguments());
  Values forwarded(before->getArguments());
  forwarded.append(made);
  scf::ConditionOp::create(*this, goesOn, forwarded);
  Block *after = createBlock(&loop.getAfter(), {}, types, locations);
  ValueRange values = after->getArguments();
  scf::YieldOp::create(*this, body(values.take_front(carried.size()), values.drop_front(carried.size())));
  return Values(loop.getResults().take_front(carried.size()));
}

void KernelBuilder::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.thenBlock()->getTerminator());
  body();
}

KernelBuilder::Values KernelBuilder::ifThenElse(Value condition, TypeRange types, function_ref<Values()> then,
                                                function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  auto fill = [&](Block *block, function_ref<Values()> body) {
    // With results the blocks are built empty, without they already have a terminator.
    if (block->mightHaveTerminator())
      setInsertionPoint(block->getTerminator());
    else
      setInsertionPointToEnd(block);
    Values values = body();
    if (!types.empty())
      scf::YieldOp::create(*this, values);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return Values(op.getResults());
}
