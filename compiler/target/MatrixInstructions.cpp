// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixInstructions.h"

using namespace sparsec;

static constexpr MatrixInstructionInfo instructionTable[] = {
#include "MatrixInstructions.def"
};

static constexpr CopyInfo copyTable[] = {
#include "Copies.def"
};

// A consumer is a warp. Everything else belongs to products.
static constexpr MatrixInstructionInfo noInstruction = {
    .instruction = MatrixInstruction::None,
    .name = "none",
    .threads = 32,
    .m = 1,
    .mostN = 1,
    .promotedColumns = 1,
    .depthBytes = 1,
    .isRepeated = true,
    .a = {Place::Registers},
    .b = {Place::Registers},
    .slotLayout = SlotLayout::Units16,
    .accumulator = Place::Registers,
};

// Loads of 16 bytes.
static constexpr CopyInfo vectorCopy = {
    .copy = CopyMethod::Vector,
    .name = "vector",
    .slotLayout = SlotLayout::Units16,
    .alignment = 16,
    .producerThreads = 0,
    .mostCtas = 1,
};

std::span<const MatrixInstructionInfo> sparsec::matrixInstructions() { return instructionTable; }

std::span<const CopyInfo> sparsec::copies() { return copyTable; }

// The values of the enums begin with 1.
const MatrixInstructionInfo &sparsec::infoOf(MatrixInstruction instruction) {
  return instruction == MatrixInstruction::None ? noInstruction
                                                : instructionTable[static_cast<size_t>(instruction) - 1];
}

const CopyInfo &sparsec::infoOf(CopyMethod copy) {
  return copy == CopyMethod::Vector ? vectorCopy : copyTable[static_cast<size_t>(copy) - 1];
}

const char *sparsec::nameOf(ElementType type) {
  switch (type) {
  case ElementType::Bf16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  case ElementType::F8E4M3:
    return "f8E4M3FN";
  case ElementType::F8E5M2:
    return "f8E5M2";
  }
  return "unknown";
}
