// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of matrix instructions and of copies that feed them: what a schedule may ask of each. They know no chip;
// Targets.def says which chip has which.

#ifndef SPARSEC_COMPILER_TARGET_MATRIXINSTRUCTIONS_H
#define SPARSEC_COMPILER_TARGET_MATRIXINSTRUCTIONS_H

#include "EnumSet.h"

#include <cstdint>
#include <span>

namespace sparsec {

// The values of these two enums equal those of the dialect. A kernel that multiplies no matrices has None, and Vector
// or Scalar: its threads load operands to registers.
enum class MatrixInstruction { Wgmma = 1, MmaSync = 2, None = 4 };
enum class CopyMethod { Tma = 1, CpAsync = 2, Scalar = 3, Vector = 5 };

enum class ElementType { Bf16, F16, F8E4M3, F8E5M2 };

constexpr int64_t bytesOf(ElementType type) { return type == ElementType::Bf16 || type == ElementType::F16 ? 2 : 1; }

/// As MLIR writes it.
const char *nameOf(ElementType type);

/// Where an operand or the accumulator lies while the instruction runs.
enum class Place { Registers, SharedMemory };

/// How rows of a slot lie in shared memory.
enum class SlotLayout {
  /// Rows of 128 bytes, whose 16-byte units the 128-byte swizzle permutes.
  Swizzle128,
  /// Rows of 16-byte units, whose numbers are mixed with the row by xor.
  Units16,
};

/// The bytes of a row that lie together, whatever the row: parts of a tile are multiples of them.
constexpr int64_t granuleBytes(SlotLayout layout) { return layout == SlotLayout::Swizzle128 ? 128 : 32; }

/// One row of MatrixInstructions.def. The result has m x n elements, and the sum k.
struct MatrixInstructionInfo {
  MatrixInstruction instruction;
  /// As #sparsec.schedule writes it.
  const char *name;
  /// Threads that issue it together: those of one consumer.
  int64_t threads;
  int64_t m, mostN;
  /// The most columns that a consumer multiplies before it adds them to its sums, where those have two levels.
  int64_t promotedColumns;
  /// Those of k elements of a row of A.
  int64_t depthBytes;
  /// A consumer repeats the instruction over its part of the tile. Otherwise it has one instruction's m x n of it.
  bool isRepeated;
  /// Where the operands may lie.
  EnumSet<Place> a, b;
  /// How they lie in the slots of a ring, from which the instruction reads them or fragments are loaded.
  SlotLayout slotLayout;
  Place accumulator;
};

/// k, for elements of a type.
constexpr int64_t depthOf(const MatrixInstructionInfo &info, ElementType type) {
  return info.depthBytes / bytesOf(type);
}

/// Columns of a consumer are multiples of this number: those of 16 bits that lie together where N is contiguous. It
/// suffices for those of 8 bits, whose K is contiguous.
constexpr int64_t columnGranule(const MatrixInstructionInfo &info) { return granuleBytes(info.slotLayout) / 2; }

/// The elements of a row that lie together in the slots of an instruction.
constexpr int64_t granule(const MatrixInstructionInfo &info, ElementType type) {
  return granuleBytes(info.slotLayout) / bytesOf(type);
}

/// The least K of a stage, and of a block, where rows of slots lie together as a whole: the swizzle also permutes rows
/// of half as many bytes.
constexpr int64_t leastDepth(const MatrixInstructionInfo &info, ElementType type) { return granule(info, type) / 2; }

/// One row of Copies.def.
struct CopyInfo {
  CopyMethod copy;
  /// As #sparsec.schedule writes it.
  const char *name;
  SlotLayout slotLayout;
  /// Pointers and row strides are multiples of this number of bytes. 0 stands for the size of an element.
  int64_t alignment;
  /// The threads of a producer of its own, which starts the copies; 0 where consumers copy.
  int64_t producerThreads;
  /// The most CTAs of a cluster that one copy can reach.
  int64_t mostCtas;
};

/// All rows of the tables: those of matrix instructions, and of copies to shared memory.
std::span<const MatrixInstructionInfo> matrixInstructions();
std::span<const CopyInfo> copies();

/// The row of the table, or what a kernel has that multiplies no matrices.
const MatrixInstructionInfo &infoOf(MatrixInstruction instruction);
const CopyInfo &infoOf(CopyMethod copy);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TARGET_MATRIXINSTRUCTIONS_H
