// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the families of instructions decode: the modifiers and operands of one instruction are taken one after another.
// A modifier that is left at the end is an error, so that nothing is ignored.

#ifndef SPARSEC_TEST_SIMULATOR_DECODER_H
#define SPARSEC_TEST_SIMULATOR_DECODER_H

#include "program.h"

namespace sparsec::simulator {

/// Names of one function.
struct Names {
  std::map<std::string, std::pair<Place, Type>> registers;
  std::map<std::string, Variable> variables;
  std::map<std::string, uint32_t> labels;
  std::map<std::string, std::vector<std::string>> branchTargets;
};

class Decoder {
public:
  Decoder(const ParsedInstruction &parsed, const Names &names, Program &program, Instruction &out);

  Instruction &out;
  std::vector<Instruction> followers;

  const std::string &name() const { return modifiers.front(); }
  /// Takes the modifier out if the instruction has it.
  bool take(std::string_view modifier);
  void require(std::string_view modifier);
  /// Takes the first modifier that is not taken.
  std::string takeNext();
  /// Takes the first modifier that names a type.
  Type takeType();
  Space takeSpace();

  size_t operandsLeft() const { return parsed.operands.size() - nextOperand; }
  const ParsedOperand &peek() const;

  /// The next operand: a register that the instruction writes. A sink is a place that nothing reads.
  Place destination(Type type);
  /// A register or an immediate.
  Place source(Type type);
  Place predicate();
  /// `p|q` or `p`: the second place is that of a sink then.
  std::pair<Place, Place> predicatePair();
  /// `d|p`.
  std::pair<Place, Place> registerAndPredicate(Type type);
  /// The next of the addresses. Coordinates behind its base go to the list.
  void address();
  /// The registers of a vector, or of a single operand, appended to the list.
  void destinations(Type type);
  void sources(Type type);
  int64_t immediate();
  uint32_t label();
  /// The labels of a list, as places of the instruction's list.
  void labelList();
  Variable variableNamed(const std::string &name) const;
  std::vector<Variable> variableList();
  /// An instruction of the simulator's own that is executed behind this one.
  Instruction &follow();
  bool isWideRegister(const ParsedOperand &operand) const;

  /// The machine keeps account of registers for programs with WGMMA.
  void markWgmma() { program.usesWgmma = true; }

  /// Ends the decoding.
  void finish(Handler handler);

  [[noreturn]] void fail(const std::string &message) const;

private:
  const ParsedOperand &next();
  uint32_t labelNamed(const std::string &name) const;
  Place placeOf(const ParsedOperand &operand, Type type, bool isWritten);
  Place constant(uint64_t bits, Type type);
  uint64_t immediateBits(const ParsedOperand &operand, Type type) const;

  const ParsedInstruction &parsed;
  const Names &names;
  Program &program;
  std::vector<std::string> modifiers;
  std::vector<bool> taken;
  size_t nextOperand = 0, nextAddress = 0;
};

/// Families: each returns whether the instruction is one of its own, and has decoded it then.
bool decodeArithmetic(Decoder &decoder);
bool decodeLogic(Decoder &decoder);
bool decodeComparison(Decoder &decoder);
bool decodeConversion(Decoder &decoder);
bool decodeMemory(Decoder &decoder);
bool decodeControl(Decoder &decoder);
bool decodeBarrier(Decoder &decoder);
bool decodeMatrix(Decoder &decoder);
bool decodeWgmma(Decoder &decoder);
bool decodeAsync(Decoder &decoder);

/// Fills `reconvergence` of the branches of one function, whose instructions are [begin, end).
void findReconvergence(std::vector<Instruction> &code, uint32_t begin, uint32_t end);

bool isBranch(const Instruction &instruction);
bool isWaitForFront(const Instruction &instruction);
/// One of several targets, which the list has.
bool isIndexedBranch(const Instruction &instruction);
bool isReturn(const Instruction &instruction);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_DECODER_H
