// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy arrays (.npy, format versions 1 to 3).

#ifndef SPARSEC_TOOLS_READERS_NUMPY_H
#define SPARSEC_TOOLS_READERS_NUMPY_H

#include "reader.h"
#include "sparsec/launch_info.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sparsec::readers {

/// A view of an array inside the bytes of a file: little-endian, C order, any alignment.
struct NumpyArray {
  char kind;     // as in numpy.dtype.kind: f, i, u, b or S
  int64_t width; // bytes of one element
  std::vector<int64_t> shape;
  llvm::StringRef data;

  int64_t elementCount() const;
  /// The NumPy name of the element type, e.g. float32.
  std::string typeName() const;
};

/// `name` is the file's name, for messages. The array is a view of `bytes`.
llvm::Expected<NumpyArray> readNumpy(llvm::StringRef bytes, llvm::StringRef name);

/// The elements, rounded to a kernel's element type. Takes float16, float32 and float64 for all types, and uint16 as
/// the bits of bf16, for which NumPy has no type.
llvm::Expected<std::vector<std::byte>> convertElements(const NumpyArray &array, sparsec_dtype_t dtype,
                                                       llvm::StringRef name);

/// The elements of an array of integers that an i32 holds.
llvm::Expected<std::vector<int32_t>> convertIntegers(const NumpyArray &array, llvm::StringRef name);

/// The same, of indices: none is negative.
llvm::Expected<std::vector<int32_t>> convertIndices(const NumpyArray &array, llvm::StringRef name);

/// The bytes of a .npy file for row-major elements: f16 as float16, bf16 and f32 as float32 (exactly).
llvm::Expected<std::string> writeNumpy(const void *elements, sparsec_dtype_t dtype, llvm::ArrayRef<int64_t> shape);

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_NUMPY_H
