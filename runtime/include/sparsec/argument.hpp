// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// argument.hpp: kernel arguments that hold their views. Header-only, C++17; runtime.hpp includes it.

#ifndef SPARSEC_ARGUMENT_HPP
#define SPARSEC_ARGUMENT_HPP

#include "sparsec/runtime.h"

#include <initializer_list>
#include <vector>

namespace sparsec {

/// A struct of the C interface that is zero but for its size, for a function to fill.
template <typename Struct> Struct sized() {
  Struct result = {};
  result.size = sizeof(result);
  return result;
}

/// A kernel argument with its view; views and numbers convert to it.
struct Argument {
  /// Makes an argument that is open in a plan.
  Argument() : kind(0), scalar(0) {}
  Argument(const sparsec_blocks_t &blocks) : kind(sparsec_argument_blocks(&blocks).kind), blocks(blocks) {}
  Argument(const sparsec_dense_t &dense) : kind(SPARSEC_ARGUMENT_DENSE), dense(dense) {}
  Argument(double scalar) : kind(SPARSEC_ARGUMENT_SCALAR), scalar(scalar) {}

  /// The argument of the C interface. It is valid as long as this object is not moved or destroyed.
  sparsec_argument_t handle() const {
    if (kind == SPARSEC_ARGUMENT_SCALAR)
      return sparsec_argument_scalar(scalar);
    sparsec_argument_t argument = {kind, 0, {kind == 0 ? nullptr : &blocks}}; // all views are at one place
    return argument;
  }

  uint32_t kind; // sparsec_argument_kind_t; 0: open
  union {
    sparsec_blocks_t blocks;
    sparsec_dense_t dense;
    double scalar;
  };
};

/// Arguments for the C interface. They are valid as long as the arguments they are made from. The constructor allocates
/// nothing for up to 16 of them.
class ArgumentArray {
public:
  ArgumentArray(const Argument *arguments, size_t count) : count(count), more(count > inlineCount ? count : 0) {
    for (size_t i = 0; i < count; ++i)
      (more.empty() ? some : more.data())[i] = arguments[i].handle();
  }
  ArgumentArray(std::initializer_list<Argument> arguments) : ArgumentArray(arguments.begin(), arguments.size()) {}
  ArgumentArray(const std::vector<Argument> &arguments) : ArgumentArray(arguments.data(), arguments.size()) {}
  ArgumentArray(std::vector<Argument> &&) = delete; // they would be gone

  const sparsec_argument_t *data() const { return more.empty() ? some : more.data(); }
  size_t size() const { return count; }

private:
  static constexpr size_t inlineCount = 16;

  size_t count;
  sparsec_argument_t some[inlineCount];
  std::vector<sparsec_argument_t> more;
};

} // namespace sparsec

#endif // SPARSEC_ARGUMENT_HPP
