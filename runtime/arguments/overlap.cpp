// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/overlap.h"
#include "arguments/strides.h"
#include "operations/operation.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

/// Sums of addresses and of strides times sizes, each of which fits 64 bits or little more.
__extension__ typedef __int128 Wide;

Wide divideDown(Wide a, Wide b) { return a / b - (a % b < 0); }
Wide divideUp(Wide a, Wide b) { return a / b + (a % b > 0); }

/// Looks for a run of `a` and a run of `b` that share a byte. With d the distance from the run of `a` to that of `b`,
/// they do if -b.run < d < a.run. d = b.begin - a.begin + the sum of x[i] * bytes[i], where x[i] is the number of steps
/// of `b` less that of `a`. So steps of equal strides are one variable, and the search is exact and short for all
/// layouts whose strides nest.
class CommonByte {
public:
  CommonByte(const Footprint &a, const Footprint &b) : least(1 - Wide(b.run)), most(Wide(a.run) - 1) {
    for (uint32_t i = 0; i < a.stepCount; ++i)
      add(a.steps[i].bytes, 1 - a.steps[i].count, 0);
    for (uint32_t i = 0; i < b.stepCount; ++i)
      add(b.steps[i].bytes, 0, b.steps[i].count - 1);
  }

  bool exists(Wide distance) { return search(0, distance); }

private:
  struct Term {
    int64_t bytes;
    int64_t least, most; // of x
  };

  /// The terms descend in bytes.
  void add(int64_t bytes, int64_t leastSteps, int64_t mostSteps) {
    Term *end = terms + termCount;
    Term *term = std::find_if(terms, end, [&](const Term &other) { return other.bytes <= bytes; });
    if (term == end || term->bytes != bytes) {
      std::move_backward(term, end, end + 1);
      *term = {bytes, 0, 0};
      ++termCount;
    }
    term->least += leastSteps;
    term->most += mostSteps;
  }

  /// Whether the terms from number `first` on can bring the distance into the limits.
  bool search(uint32_t first, Wide distance) {
    if (first == termCount)
      return least <= distance && distance <= most;
    Wide below = 0, above = 0; // what the smaller terms can add
    for (uint32_t i = first + 1; i < termCount; ++i) {
      below += Wide(terms[i].bytes) * terms[i].least;
      above += Wide(terms[i].bytes) * terms[i].most;
    }
    const Term &term = terms[first];
    Wide x = std::max<Wide>(term.least, divideUp(least - distance - above, term.bytes));
    Wide last = std::min<Wide>(term.most, divideDown(most - distance - below, term.bytes));
    for (; x <= last && trials-- > 0; ++x)
      if (search(first + 1, distance + x * term.bytes))
        return true;
    return false;
  }

  const Wide least, most;
  uint32_t termCount = 0;
  Term terms[2 * SPARSEC_MAX_RANK];
  int trials = 4096; // microseconds
};

} // namespace

bool overlap(const Footprint &a, const Footprint &b) {
  if (a.run == 0 || b.run == 0)
    return false;
  Wide distance = Wide(b.begin) - Wide(a.begin);
  if (distance >= Wide(a.extent()) || -distance >= Wide(b.extent()))
    return false;
  return CommonByte(a, b).exists(distance);
}

namespace {

/// Whether a kernel reads each element of an operand before it writes the same element of the result.
bool mayShareMemory(const Operation &operation, const CheckedOperand &operand, const CheckedOperand &result) {
  const std::span<const SameMemory> pairs = operation.sameMemory;
  return operand.operand.broadcast == SPARSEC_BROADCAST_FULL ||
         std::any_of(pairs.begin(), pairs.end(), [&](const SameMemory &pair) {
           return pair.operand == operand.operand.slot && pair.result == result.operand.slot;
         });
}

/// Whether an operand of the result's shape has each element where the result has it.
bool isSameMemory(const CheckedOperand &operand, const CheckedOperand &result) {
  const sparsec_dense_t &from = operand.dense(), &to = result.dense();
  bool isSame = from.data == to.data && dtypeBytes(operand.info.dtype) == dtypeBytes(result.info.dtype) &&
                operand.operand.layout == result.operand.layout;
  for (int32_t d = 0; d + 1 < to.rank; ++d)
    isSame &= !usesStride(to, d) || from.strides[d] == to.strides[d];
  return isSame;
}

Status checkApart(const Operation &operation, const CheckedOperand &result, const CheckedOperand &other) {
  const bool mayShare = mayShareMemory(operation, other, result);
  if (mayShare && isSameMemory(other, result))
    return {};
  const Footprint written = footprintOf(result.dense());
  for (const auto &[member, footprint] : ArgumentMemory(other.value))
    if (overlap(written, footprint))
      return result.refuse("its memory overlaps ", member, " of ", other.subject(),
                           mayShare ? ", but not element for element" : "");
  return {};
}

} // namespace

Status checkOverlaps(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  for (const sparsec_operand_info_t &written : kernel.operands()) {
    if (!kernel.isResult(written.argument))
      continue;
    CheckedOperand result = checkedOperand(kernel, arguments, written);
    for (const sparsec_operand_info_t &other : kernel.operands())
      if (other.argument < written.argument) // inputs, and results of which each pair is looked at once
        SPARSEC_RETURN_IF_ERROR(checkApart(operationOf(kernel), result, checkedOperand(kernel, arguments, other)));
  }
  return {};
}

Status checkApartFromInputs(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const char *name,
                            const Footprint &written) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.isResult(i))
      continue;
    Checked input = checkedArgument(kernel, arguments, i);
    for (const auto &[member, footprint] : ArgumentMemory(input.value))
      if (overlap(written, footprint))
        return invalidArgument(name, ": its memory overlaps ", member, " of ", input.subject());
  }
  return {};
}

} // namespace sparsec::runtime
