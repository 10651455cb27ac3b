// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX text as a list of functions with their instructions. Names are resolved to scopes, but nothing is decoded.

#ifndef SPARSEC_TEST_SIMULATOR_PTX_PARSER_H
#define SPARSEC_TEST_SIMULATOR_PTX_PARSER_H

#include "types.h"

#include <array>
#include <map>
#include <vector>

namespace sparsec::simulator {

struct ParsedOperand {
  enum class Kind {
    name,    ///< a register, a variable, a function or a label
    integer, ///< `bits`
    real,    ///< `bits` of an f32 (0f...) or an f64 (0d...)
    vector,  ///< {a, b}, or the (arguments) of a call
    address, ///< [base + offset], or [base, {coordinates}]
    sink,    ///< _
    pair,    ///< p|q
  };
  Kind kind = Kind::name;
  std::string text;
  uint64_t bits = 0;
  bool isDouble = false;  // of a real
  bool isNegated = false; // !p
  int64_t offset = 0;
  std::vector<ParsedOperand> parts; // of a vector, a pair; of an address the base, then the coordinates
};

struct ParsedInstruction {
  int line = 0;
  std::string guard; // empty without one
  bool isGuardNegated = false;
  std::string opcode;
  std::vector<ParsedOperand> operands;
  std::vector<int> scopes; // the numbers of the braces around it, but for those of the function
};

struct ParsedVariable {
  std::string name;
  Space space = Space::global;
  unsigned alignment = 1;
  uint64_t bytes = 0; // 0 for an array of open size
  std::vector<uint8_t> initial;
};

struct ParsedFunction {
  std::string name;
  int line = 0;
  bool isEntry = false;
  std::vector<ParsedVariable> results, parameters, variables;
  std::map<std::string, Type> registers;
  std::map<std::string, size_t> labels;                          // the instruction behind each
  std::map<std::string, std::vector<std::string>> branchTargets; // lists of labels
  std::vector<ParsedInstruction> body;
  unsigned mostThreads = 1024;
  unsigned cluster = 1;
};

struct ParsedModule {
  std::string target; // such as sm_90a
  std::vector<ParsedVariable> variables;
  std::vector<ParsedFunction> functions;
  std::vector<std::string> lines; // of the text, for reports
};

/// Throws SimulationError with the line.
ParsedModule parsePtx(std::string_view text);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_PTX_PARSER_H
