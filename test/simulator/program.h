// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoded PTX: an array of instructions that name their handlers, with registers as places in the register file of a
// warp.

#ifndef SPARSEC_TEST_SIMULATOR_PROGRAM_H
#define SPARSEC_TEST_SIMULATOR_PROGRAM_H

#include "ptx_parser.h"

#include <array>
#include <memory>

namespace sparsec::simulator {

class Warp;
struct Instruction;

/// Executes an instruction for the lanes of the mask.
using Handler = void (*)(Warp &warp, const Instruction &instruction, uint32_t mask);
/// For instructions that have no effect here.
inline void nothing(Warp &, const Instruction &, uint32_t) {}

/// A place in the register file, in units of one 32-bit word for each lane. Registers of 64 bits have two units,
/// predicates are a mask in the first word of a unit. Negative places are constants of the program: ~place.
using Place = int32_t;

inline constexpr uint32_t noTarget = ~uint32_t(0);

struct Address {
  Place base = 0;
  bool isWide = false; // 64 bits
  int64_t offset = 0;
};

struct Instruction {
  Handler run = nullptr;
  int line = 0;
  bool hasGuard = false, isGuardNegated = false;
  bool isCopy = false; // of one register to another
  Place guard = 0;
  std::array<Place, 6> at{};          // operands, in the order of the decoder
  std::vector<Place> list;            // elements of vectors, coordinates, fragments
  std::array<Address, 3> addresses{}; // in the order of the operands
  int64_t immediate = 0;
  uint32_t target = noTarget;        // of a branch or a call
  uint32_t reconvergence = noTarget; // of a branch: where the lanes meet again
  Type type = Type::b32, source = Type::b32;
  Space space = Space::generic;
  uint8_t count = 1;                // elements of a vector, dimensions
  uint8_t wide = 0;                 // bit i: element i of the list has 64 bits
  uint32_t flags = 0;               // of the family of the instruction
  std::vector<Place> reads, writes; // registers, for the checks of WGMMA
};

/// Where a variable of a program lies: an offset in its space, or the address of a global.
struct Variable {
  Space space = Space::global;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct KernelProgram {
  std::string name;
  uint32_t begin = 0; // the first instruction
  unsigned mostThreads = 1024, cluster = 1;
  bool waitsForFront = false; // has griddepcontrol.wait
  std::vector<ParsedVariable> parameters;
  std::vector<uint64_t> parameterOffsets;
  uint64_t parameterBytes = 0;
  uint64_t staticShared = 0; // bytes in front of the dynamic shared memory
};

/// Values that the machine writes into the first places of each warp.
enum class SpecialRegister : Place {
  tidX,
  tidY,
  tidZ,
  ntidX,
  ntidY,
  ntidZ,
  ctaidX,
  ctaidY,
  ctaidZ,
  nctaidX,
  nctaidY,
  nctaidZ,
  laneid,
  warpid,
  nwarpid,
  laneMaskLt,
  laneMaskLe,
  laneMaskGt,
  laneMaskGe,
  laneMaskEq,
  clusterRank,
  clusterSize,
  clusterCtaidX,
  clusterIdX,
  clusterCount,
  dynamicSharedBytes,
  count
};

class Program {
public:
  /// Throws SimulationError on text that it does not know.
  explicit Program(std::string_view ptx);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const KernelProgram *find(std::string_view name) const;
  std::string_view textOfLine(int line) const;

  std::string target;
  std::vector<Instruction> code;
  std::vector<KernelProgram> kernels;
  std::vector<uint32_t> constants; // in units
  std::map<std::pair<uint64_t, Type>, Place> constantPlaces;
  Place registerUnits = 0;
  uint64_t localBytes = 0; // of a thread
  bool usesWgmma = false;
  /// Globals: the memory of the module.
  std::vector<std::unique_ptr<std::vector<uint8_t>>> globals;
  std::map<std::string, Variable> globalVariables;

private:
  std::vector<std::string> lines;
};

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_PROGRAM_H
