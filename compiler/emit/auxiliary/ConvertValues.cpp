// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread has 16 values of a line (sparsec_conversion_number_t): it loads, measures, divides, rounds and stores them.
// Neighbouring lanes whose values share a scale find their largest value by exchanges, and one of them writes it. A
// maximum does not depend on the order in which threads come, so that every run gives the same bits.

#include "ConvertValues.h"

#include "ProgramContext.h"
#include "Ptx.h"
#include "SideKernel.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t converterWarps = 8, converterThreads = converterWarps * warpLanes;
constexpr int64_t vectorValues = SPARSEC_CONVERSION_VECTOR, wordValues = 4; // fp8 in 32 bits
constexpr double largestOfE4M3 = 448, largestOfE5M2 = 57344;
constexpr double smallestScale = 0x1p-126; // a normal number: values may be divided by it
constexpr int64_t infinityBits = 0x7f800000, signBit = 0x80, infinityOfE5M2 = 0x7c;

/// The 16 values of a thread. All i32 but the last one, i64.
struct Place {
  Value line, column; // of the first value
  Value loaded;       // so many of them are in the matrix; the others are 0
  Value stored;       // so many are in the line
  Value scale;        // its number
};

class ValueConverter {
public:
  explicit ValueConverter(ProgramContext &context)
      : context(context), b(context.b), lane(b.modulo(context.thread, warpLanes)),
        index(b.add(b.mul(ptx::blockIndex(b), converterThreads), context.thread)) {}

  void emit();

private:
  Value number(sparsec_conversion_number_t number);
  Value wideNumber(sparsec_conversion_number_t number) {
    return context.parameters.get(ParameterKind::number, 0, number);
  }
  Value isPhase(sparsec_conversion_phase_t phase) { return b.equal(number(SPARSEC_CONVERSION_PHASE), phase); }
  Value input(int64_t number) { return context.parameters.get(ParameterKind::input, 0, number); }
  Value atLeastZero(Value count) { return b.select(b.less(count, 0), b.i32(0), count); }
  Value scaleAt(Value number) { return b.elementPointer(input(2), b.getF32Type(), number); }
  Value zero() { return b.f32(0); }

  Place place();
  Values rowAndEnd(Value line);
  Value blockRowOf(Value block);

  Values load(const Place &place);
  Values loadFrom(const Place &place, Type element);
  Values loadVectors(Value first, Type element);
  Values loadElements(Value first, Type element, Value count);

  Value largestOf(ValueRange values);
  Value largestOfLanes(Value largest);
  Value scaleOf(Value largest);
  void measure(const Place &place, ValueRange values);

  void convert(const Place &place, ValueRange values);
  Value findScale(const Place &place, ValueRange values);
  Values round(ValueRange divided);
  Values roundTo(Type element, ValueRange divided);
  Value withInfinity(Value pair, Value low, Value high);
  void store(const Place &place, ValueRange words);
  void finishScales();

  ProgramContext &context;
  KernelBuilder &b;
  Value lane, index; // of the thread in its warp and in the grid
};

} // namespace

Value ValueConverter::number(sparsec_conversion_number_t number) {
  return arith::TruncIOp::create(b, b.i32Type(), wideNumber(number));
}

void ValueConverter::emit() {
  b.ifThenElse(
      isPhase(SPARSEC_CONVERSION_CLEAR), {},
      [&]() -> Values {
        b.ifThen(b.less(index, number(SPARSEC_CONVERSION_SCALES)),
                 [&] { LLVM::StoreOp::create(b, zero(), scaleAt(b.extend(index))); });
        return {};
      },
      [&]() -> Values {
        const Place own = place();
        Values values = load(own);
        b.ifThenElse(
            isPhase(SPARSEC_CONVERSION_MEASURE), {}, [&]() -> Values { return measure(own, values), Values(); },
            [&]() -> Values { return convert(own, values), Values(); });
        return {};
      });
}

//===----------------------------------------------------------------------===//
// Where the values of a thread are
//===----------------------------------------------------------------------===//

Place ValueConverter::place() {
  Value vectors = number(SPARSEC_CONVERSION_VECTORS_OF_LINE);
  Value vector = b.modulo(index, vectors);
  Place place;
  place.line = b.divide(index, vectors);
  place.column = b.mul(vector, vectorValues);
  Values of = rowAndEnd(place.line);
  Value isInside = b.less(index, number(SPARSEC_CONVERSION_VECTORS));
  auto countUpTo = [&](Value end) {
    Value count = b.minimum(atLeastZero(b.sub(end, place.column)), b.i32(vectorValues));
    return b.select(isInside, count, b.i32(0));
  };
  place.stored = countUpTo(number(SPARSEC_CONVERSION_COLUMNS));
  place.loaded = countUpTo(of[1]);
  place.scale = b.add(b.mul(b.extend(of[0]), wideNumber(SPARSEC_CONVERSION_SCALES_OF_LINE)),
                      b.extend(b.divide(vector, number(SPARSEC_CONVERSION_VECTORS_OF_SCALE))));
  return place;
}

/// The row of scales that a line takes, and the end of its columns in the matrix.
Values ValueConverter::rowAndEnd(Value line) {
  Value ofLines = b.divide(line, number(SPARSEC_CONVERSION_LINES_OF_SCALE)), starts = input(3);
  Value columns = number(SPARSEC_CONVERSION_COLUMNS), vectors = number(SPARSEC_CONVERSION_VECTORS);
  // Threads behind the last vector have no block.
  Value hasBlock = b.logicalAnd(b.isNotNull(starts), b.less(index, vectors));
  Type i32 = b.i32Type();
  return b.ifThenElse(
      hasBlock, {i32, i32},
      [&]() -> Values {
        Value blockRows = number(SPARSEC_CONVERSION_BLOCK_ROWS);
        Value block = b.divide(line, blockRows);
        Value row = b.add(b.mul(blockRowOf(block), blockRows), b.modulo(line, blockRows));
        Value firstColumn = b.mul(b.loadElement(i32, input(4), b.extend(block)), columns);
        Value end = b.minimum(columns, b.sub(number(SPARSEC_CONVERSION_MATRIX_COLUMNS), firstColumn));
        Value isInMatrix = b.less(row, number(SPARSEC_CONVERSION_MATRIX_ROWS));
        Value isByRow = b.equal(number(SPARSEC_CONVERSION_IS_BY_ROW), 1);
        return {b.select(isByRow, row, ofLines), b.select(isInMatrix, end, b.i32(0))};
      },
      [&]() -> Values { return {ofLines, columns}; });
}

/// The last block row that starts at or before a block; rows without blocks start where the next one does.
Value ValueConverter::blockRowOf(Value block) {
  Value starts = input(3), rows = number(SPARSEC_CONVERSION_BLOCK_ROW_COUNT);
  auto isWide = [&](ValueRange range) { return b.less(b.i32(1), b.sub(range[1], range[0])); };
  return b.whileLoop({b.i32(0), rows}, isWide, [&](ValueRange range) -> Values {
    Value middle = b.shiftRight(b.add(range[0], range[1]), 1);
    Value isBehind = b.less(block, b.loadElement(b.i32Type(), starts, b.extend(middle)));
    return {b.select(isBehind, range[0], middle), b.select(isBehind, middle, range[1])};
  })[0];
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// The values in f32; those that are not loaded are 0.
Values ValueConverter::load(const Place &place) {
  SmallVector<Type> types(vectorValues, b.getF32Type());
  Value type = number(SPARSEC_CONVERSION_SOURCE_TYPE);
  auto from = [&](Type element) { return [this, &place, element] { return loadFrom(place, element); }; };
  return b.ifThenElse(
      b.less(b.i32(0), place.loaded), types,
      [&] {
        return b.ifThenElse(b.equal(type, SPARSEC_DTYPE_F32), types, from(b.getF32Type()), [&] {
          return b.ifThenElse(b.equal(type, SPARSEC_DTYPE_F16), types, from(b.getF16Type()), from(b.getBF16Type()));
        });
      },
      [&] { return Values(vectorValues, zero()); });
}

Values ValueConverter::loadFrom(const Place &place, Type element) {
  SmallVector<Type> types(vectorValues, b.getF32Type());
  Value start = b.mul(b.extend(place.line), wideNumber(SPARSEC_CONVERSION_SOURCE_STRIDE));
  Value first = b.elementPointer(input(0), element, b.add(start, b.extend(place.column)));
  Value isWhole = b.logicalAnd(b.equal(place.loaded, vectorValues), b.equal(number(SPARSEC_CONVERSION_IS_ALIGNED), 1));
  return b.ifThenElse(
      isWhole, types, [&] { return loadVectors(first, element); },
      [&] { return loadElements(first, element, place.loaded); });
}

Values ValueConverter::loadVectors(Value first, Type element) {
  const int64_t count = vectorBytes * 8 / element.getIntOrFloatBitWidth();
  auto type = VectorType::get({count}, element);
  Values values;
  for (int64_t i = 0; i < vectorValues; i += count) {
    Value vector = b.loadInvariant(type, b.elementPointer(first, element, b.i32(i)));
    for (int64_t j = 0; j < count; ++j)
      values.push_back(b.widen(LLVM::ExtractElementOp::create(b, vector, b.i32(j))));
  }
  return values;
}

/// The loads have no conditions, so that all of them are on their way at once: those behind the last value load it.
Values ValueConverter::loadElements(Value first, Type element, Value count) {
  Values values;
  Value last = b.sub(count, 1);
  for (int64_t i = 0; i < vectorValues; ++i) {
    Value value = b.widen(b.loadElement(element, first, b.extend(b.minimum(b.i32(i), last))));
    values.push_back(b.select(b.less(b.i32(i), count), value, zero()));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The largest finite magnitude; 0 if there is none.
Value ValueConverter::largestOf(ValueRange values) {
  Value largest = zero(), infinity = b.fromBits(b.i32(infinityBits));
  for (Value value : values) {
    Value size = b.magnitude(value);
    Value isFinite = b.compareF(arith::CmpFPredicate::OLT, size, infinity);
    largest = b.larger(largest, b.select(isFinite, size, zero()));
  }
  return largest;
}

/// The largest magnitude of all lanes that share the scale.
Value ValueConverter::largestOfLanes(Value largest) {
  Value lanes = number(SPARSEC_CONVERSION_LANES_OF_SCALE);
  for (int64_t distance = 1; distance < warpLanes; distance *= 2) {
    Value other = b.larger(largest, ptx::exchange(b, largest, distance));
    largest = b.select(b.less(b.i32(distance), lanes), other, largest);
  }
  return largest;
}

/// The scale makes the largest number of the type out of the largest value.
Value ValueConverter::scaleOf(Value largest) {
  Value isE4M3 = b.equal(number(SPARSEC_CONVERSION_TARGET_TYPE), SPARSEC_DTYPE_F8E4M3FN);
  Value divided = b.divF(largest, b.select(isE4M3, b.f32(largestOfE4M3), b.f32(largestOfE5M2)));
  return b.larger(divided, b.f32(smallestScale));
}

/// Scales are positive, so that their bits have the same order.
void ValueConverter::measure(const Place &place, ValueRange values) {
  Value largest = largestOfLanes(largestOf(values));
  Value isFirst = b.equal(b.modulo(lane, number(SPARSEC_CONVERSION_LANES_OF_SCALE)), 0);
  Value isMeasured = b.compareF(arith::CmpFPredicate::OGT, largest, zero());
  b.ifThen(b.logicalAnd(isFirst, isMeasured), [&] {
    Value scale = b.bitsOf(scaleOf(largest));
    Value known = b.load(b.i32Type(), scaleAt(place.scale));
    // The known scale may be old, but it is never too large. Most threads have nothing to add: atomic operations on one
    // word run one after the other.
    b.ifThen(b.less(known, scale), [&] { ptx::maximumInto(b, scaleAt(place.scale), scale); });
  });
}

Value ValueConverter::findScale(const Place &place, ValueRange values) {
  Type f32 = b.getF32Type();
  auto orOne = [&](Value scale, Value largest) {
    return b.select(b.compareF(arith::CmpFPredicate::OGT, largest, zero()), scale, b.f32(1));
  };
  return b.ifThenElse(
      b.equal(number(SPARSEC_CONVERSION_IS_WHOLE), 1), f32,
      [&]() -> Values {
        Value largest = largestOfLanes(largestOf(values));
        Value scale = orOne(scaleOf(largest), largest);
        Value isFirst = b.equal(b.modulo(lane, number(SPARSEC_CONVERSION_LANES_OF_SCALE)), 0);
        b.ifThen(b.logicalAnd(isFirst, b.less(b.i32(0), place.stored)),
                 [&] { LLVM::StoreOp::create(b, scale, scaleAt(place.scale)); });
        return {scale};
      },
      [&]() -> Values {
        Value scale = b.ifThenElse(
            b.less(b.i32(0), place.loaded), f32, [&]() -> Values { return {b.load(f32, scaleAt(place.scale))}; },
            [&]() -> Values { return {zero()}; })[0];
        return {orOne(scale, scale)};
      })[0];
}

/// Other threads may read a scale at the same time: they take 0 as 1.
void ValueConverter::finishScales() {
  Value isMeasured = b.equal(number(SPARSEC_CONVERSION_IS_WHOLE), 0);
  b.ifThen(b.logicalAnd(isMeasured, b.less(index, number(SPARSEC_CONVERSION_SCALES))), [&] {
    Value scale = scaleAt(b.extend(index));
    Value isZero = b.compareF(arith::CmpFPredicate::OEQ, b.load(b.getF32Type(), scale), zero());
    b.ifThen(isZero, [&] { LLVM::StoreOp::create(b, b.f32(1), scale); });
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void ValueConverter::convert(const Place &place, ValueRange values) {
  Value scale = findScale(place, values);
  Values divided;
  for (Value value : values)
    divided.push_back(b.divF(value, scale));
  store(place, round(divided));
  finishScales();
}

/// Four words of fp8.
Values ValueConverter::round(ValueRange divided) {
  SmallVector<Type> words(vectorValues / wordValues, b.i32Type());
  return b.ifThenElse(
      b.equal(number(SPARSEC_CONVERSION_TARGET_TYPE), SPARSEC_DTYPE_F8E4M3FN), words,
      [&] { return roundTo(Float8E4M3FNType::get(b.getContext()), divided); },
      [&] { return roundTo(Float8E5M2Type::get(b.getContext()), divided); });
}

/// The instruction makes a finite number of an infinity. f8E4M3FN has none: x + 0 x is NaN then, and else x.
Values ValueConverter::roundTo(Type element, ValueRange divided) {
  const bool hasInfinity = isa<Float8E5M2Type>(element);
  Values words;
  for (int64_t i = 0; i < vectorValues; i += 2) {
    Value low = divided[i], high = divided[i + 1];
    if (!hasInfinity)
      low = b.fma(low, zero(), low), high = b.fma(high, zero(), high);
    Value pair = arith::ExtUIOp::create(b, b.i32Type(), ptx::packF8(b, element, low, high));
    if (hasInfinity)
      pair = withInfinity(pair, low, high);
    if (i % wordValues == 0)
      words.push_back(pair);
    else
      words.back() = b.bitOr(words.back(), b.shiftLeft(pair, 16));
  }
  return words;
}

Value ValueConverter::withInfinity(Value pair, Value low, Value high) {
  auto byteOf = [&](Value value, Value rounded) {
    Value bits = b.bitsOf(value);
    Value isInfinity = b.equal(b.bitAnd(bits, 0x7fffffff), infinityBits);
    Value infinity = b.bitOr(b.bitAnd(b.shiftRight(bits, 24), signBit), b.i32(infinityOfE5M2));
    return b.select(isInfinity, infinity, rounded);
  };
  return b.bitOr(byteOf(low, b.bitAnd(pair, 0xff)), b.shiftLeft(byteOf(high, b.shiftRight(pair, 8)), 8));
}

void ValueConverter::store(const Place &place, ValueRange words) {
  Value start = b.mul(b.extend(place.line), wideNumber(SPARSEC_CONVERSION_TARGET_STRIDE));
  Value first = b.byteOffset(input(1), b.add(start, b.extend(place.column)));
  Value isWhole = b.logicalAnd(b.equal(place.stored, vectorValues), b.equal(number(SPARSEC_CONVERSION_IS_ALIGNED), 1));
  b.ifThenElse(
      isWhole, {},
      [&]() -> Values {
        LLVM::StoreOp::create(b, b.vector(words), first, /*alignment=*/vectorBytes);
        return {};
      },
      [&]() -> Values {
        for (int64_t i = 0; i < vectorValues; ++i)
          b.ifThen(b.less(b.i32(i), place.stored), [&] {
            Value byte = b.shiftRight(words[i / wordValues], 8 * (i % wordValues));
            LLVM::StoreOp::create(b, arith::TruncIOp::create(b, b.getI8Type(), byte), b.byteOffset(first, i));
          });
        return {};
      });
}

bool sparsec::hasF8(ProgramOp program) {
  return llvm::any_of(program.getBody().getArgumentTypes(), [](Type type) {
    auto matrix = dyn_cast<BsrType>(type);
    return matrix && matrix.hasF8();
  });
}

void sparsec::emitConvertValues(ProgramOp program) {
  SideKernelShape shape = {"_convert",        converterWarps, /*tilesOfCta=*/1, converterThreads, /*tileN=*/1,
                           /*sharedMemory=*/0};
  emitAuxiliaryKernel<ProgramContext>(program, AuxiliaryKind::convert_values, shape,
                                      [](ProgramContext &context) { ValueConverter(context).emit(); });
}
