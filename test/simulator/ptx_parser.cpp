// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ptx_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <ranges>

namespace sparsec::simulator {

namespace {

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

/// Characters of PTX without white space and comments.
class Scanner {
public:
  explicit Scanner(std::string_view text) : rest(text) {}

  int line() {
    skip();
    return currentLine;
  }
  bool atEnd() {
    skip();
    return rest.empty();
  }
  char peek() {
    skip();
    return rest.empty() ? '\0' : rest.front();
  }
  bool take(std::string_view expected) {
    skip();
    if (!rest.starts_with(expected))
      return false;
    rest.remove_prefix(expected.size());
    return true;
  }
  void expect(std::string_view expected) {
    if (!take(expected))
      fail(fmt::format("expects '{}' before '{}'", expected, rest.substr(0, std::min<size_t>(rest.find('\n'), 40))));
  }
  /// Letters, digits and what `more` has.
  std::string word(std::string_view more = "") {
    skip();
    size_t end = 0;
    while (end < rest.size() && (isNameCharacter(rest[end]) || more.find(rest[end]) != std::string_view::npos))
      ++end;
    if (end == 0)
      fail(fmt::format("expects a name before '{}'", rest.substr(0, std::min<size_t>(rest.find('\n'), 40))));
    std::string result(rest.substr(0, end));
    rest.remove_prefix(end);
    return result;
  }
  void skipTo(char end) {
    while (!rest.empty() && rest.front() != end)
      step();
  }
  void skipLine() { skipTo('\n'); }
  [[noreturn]] void fail(const std::string &message) const {
    throw SimulationError(fmt::format("PTX line {}: {}", currentLine, message));
  }

private:
  void step() {
    currentLine += rest.front() == '\n';
    rest.remove_prefix(1);
  }
  void skip() {
    while (!rest.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest.front()))) {
        step();
      } else if (rest.starts_with("//")) {
        skipLine();
      } else if (rest.starts_with("/*")) {
        while (!rest.empty() && !rest.starts_with("*/"))
          step();
        rest.remove_prefix(std::min<size_t>(2, rest.size()));
      } else {
        return;
      }
    }
  }

  std::string_view rest;
  int currentLine = 1;
};

class Parser {
public:
  explicit Parser(std::string_view text) : scanner(text) {}

  ParsedModule parse() {
    while (!scanner.atEnd())
      parseTopLevel();
    return std::move(module);
  }

private:
  void parseTopLevel() {
    scanner.expect(".");
    const std::string directive = scanner.word();
    if (directive == "version" || directive == "address_size" || directive == "file") {
      scanner.skipLine();
    } else if (directive == "target") {
      module.target = scanner.word();
      scanner.skipLine();
    } else if (directive == "visible" || directive == "weak" || directive == "extern") {
      // The variable or function follows.
    } else if (directive == "entry" || directive == "func") {
      parseFunction(directive == "entry");
    } else if (directive == "global" || directive == "const" || directive == "shared") {
      module.variables.push_back(parseVariable(directive));
      scanner.expect(";");
    } else if (directive == "section") {
      scanner.skipTo('}');
      scanner.expect("}");
    } else {
      scanner.fail("does not know the directive ." + directive);
    }
  }

  uint64_t parseUnsigned() {
    const std::string text = scanner.word();
    return integerOf(text);
  }

  uint64_t integerOf(std::string_view text) {
    int base = 10;
    std::string_view digits = text;
    if (digits.ends_with('U'))
      digits.remove_suffix(1);
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits.starts_with('0')) {
      base = 8;
    }
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size())
      scanner.fail(fmt::format("expects a number, but got '{}'", text));
    return value;
  }

  /// `.align 16 .b8 name[64] = {...}`, from behind the space on.
  ParsedVariable parseVariable(std::string_view space) {
    ParsedVariable variable;
    variable.space = space == "shared"  ? Space::shared
                     : space == "local" ? Space::local
                     : space == "param" ? Space::param
                     : space == "const" ? Space::constant
                                        : Space::global;
    std::optional<Type> type;
    while (scanner.take(".")) {
      const std::string word = scanner.word();
      if (word == "align") {
        variable.alignment = unsigned(parseUnsigned());
      } else if (word == "ptr" || word == "global" || word == "shared" || word == "const" || word == "local") {
        // The state space and alignment of a pointer.
      } else {
        type = typeNamed(word);
        if (!type)
          scanner.fail("does not know the type ." + word);
      }
    }
    if (!type)
      scanner.fail("expects a type of the variable");
    // A variable with an alignment of its own keeps it; others have that of their elements.
    variable.alignment = std::max(variable.alignment, bytesOf(*type));
    variable.name = scanner.word();
    variable.bytes = bytesOf(*type);
    while (scanner.take("["))
      if (scanner.take("]")) {
        variable.bytes = 0;
      } else {
        variable.bytes *= parseUnsigned();
        scanner.expect("]");
      }
    if (scanner.take("="))
      parseInitial(variable, bytesOf(*type));
    return variable;
  }

  void parseInitial(ParsedVariable &variable, unsigned elementBytes) {
    const bool isList = scanner.take("{");
    do {
      ParsedOperand value = parseOperand();
      for (unsigned i = 0; i < elementBytes; ++i)
        variable.initial.push_back(uint8_t(value.bits >> (8 * i)));
    } while (isList && scanner.take(","));
    if (isList)
      scanner.expect("}");
  }

  std::vector<ParsedVariable> parseParameters(std::string_view space) {
    std::vector<ParsedVariable> parameters;
    while (!scanner.take(")")) {
      scanner.expect(".param");
      parameters.push_back(parseVariable(space));
      scanner.take(",");
    }
    return parameters;
  }

  void parseFunction(bool isEntry) {
    ParsedFunction function;
    function.isEntry = isEntry;
    // Every call has parameters of its own, which lie where other variables of a thread do.
    const std::string_view space = isEntry ? "param" : "local";
    if (scanner.take("("))
      function.results = parseParameters(space);
    function.line = scanner.line();
    function.name = scanner.word();
    if (scanner.take("("))
      function.parameters = parseParameters(space);
    while (scanner.take("."))
      parseEntryDirective(function);
    if (scanner.take(";"))
      return; // a declaration
    scanner.expect("{");
    current = &function;
    scopes.assign(1, {});
    scopeNumbers.clear();
    while (!scopes.empty())
      parseStatement();
    resolveLabels(function);
    module.functions.push_back(std::move(function));
  }

  static std::string scopedLabel(const std::string &name, int scope) { return fmt::format("{}@{}", name, scope); }

  /// Labels of inner scopes got the number of their scope. A branch means the innermost label of its name.
  static void resolveLabels(ParsedFunction &function) {
    for (ParsedInstruction &instruction : function.body)
      for (auto scope = instruction.scopes.rbegin(); scope != instruction.scopes.rend(); ++scope)
        for (ParsedOperand &operand : instruction.operands)
          if (const std::string label = scopedLabel(operand.text, *scope); function.labels.contains(label))
            operand.text = label;
  }

  void parseEntryDirective(ParsedFunction &function) {
    const std::string directive = scanner.word();
    auto product = [&] {
      uint64_t result = parseUnsigned();
      while (scanner.take(","))
        result *= parseUnsigned();
      return unsigned(result);
    };
    if (directive == "maxntid" || directive == "reqntid")
      function.mostThreads = product();
    else if (directive == "reqnctapercluster")
      function.cluster = product();
    else if (directive == "minnctapersm" || directive == "maxnreg" || directive == "maxclusterrank")
      product();
    else if (directive != "explicitcluster" && directive != "noreturn")
      scanner.fail("does not know the directive ." + directive);
  }

  void parseStatement() {
    if (scanner.take("{")) {
      scopes.emplace_back();
      scopeNumbers.push_back(++scopeCount);
      return;
    }
    if (scanner.take("}")) {
      scopes.pop_back();
      if (!scopeNumbers.empty())
        scopeNumbers.pop_back();
      return;
    }
    if (scanner.take(";"))
      return;
    if (scanner.take("."))
      return parseDirective();
    ParsedInstruction instruction;
    instruction.line = scanner.line();
    if (scanner.take("@")) {
      instruction.isGuardNegated = scanner.take("!");
      instruction.guard = resolve(scanner.word());
    }
    instruction.scopes = scopeNumbers;
    instruction.opcode = scanner.word(".:");
    if (instruction.opcode.ends_with(':')) {
      instruction.opcode.pop_back();
      const std::string label =
          scopeNumbers.empty() ? instruction.opcode : scopedLabel(instruction.opcode, scopeNumbers.back());
      current->labels[label] = current->body.size();
      lastLabel = label;
      return;
    }
    while (!scanner.take(";")) {
      instruction.operands.push_back(parseOperand());
      scanner.take(",");
    }
    current->body.push_back(std::move(instruction));
  }

  void parseDirective() {
    const std::string directive = scanner.word();
    if (directive == "reg")
      return parseRegisters();
    if (directive == "pragma" || directive == "loc" || directive == "file")
      return scanner.skipLine();
    if (directive == "branchtargets") {
      std::vector<std::string> &targets = current->branchTargets[lastLabel];
      do {
        targets.push_back(scanner.word());
      } while (scanner.take(","));
      return scanner.expect(";");
    }
    if (directive != "local" && directive != "shared" && directive != "param")
      scanner.fail("does not know the directive ." + directive);
    ParsedVariable variable = parseVariable(directive == "param" ? "local" : directive);
    if (directive == "param") {
      const std::string unique = fmt::format("{}@{}", variable.name, ++scopedNames);
      scopes.back()[variable.name] = unique;
      variable.name = unique;
    }
    current->variables.push_back(std::move(variable));
    scanner.expect(";");
  }

  void parseRegisters() {
    scanner.expect(".");
    const std::string typeName = scanner.word();
    const std::optional<Type> type = typeNamed(typeName);
    if (!type)
      scanner.fail("does not know the type ." + typeName);
    do {
      const std::string name = scanner.word();
      if (scanner.take("<")) {
        const uint64_t count = parseUnsigned();
        scanner.expect(">");
        for (uint64_t i = 0; i < count; ++i)
          current->registers[name + std::to_string(i)] = *type;
        continue;
      }
      // Registers of inner scopes, as inline assembly has, get names of their own.
      std::string unique = name;
      if (scopes.size() > 1) {
        unique += fmt::format("@{}", ++scopedNames);
        scopes.back()[name] = unique;
      }
      current->registers[unique] = *type;
    } while (scanner.take(","));
    scanner.expect(";");
  }

  std::string resolve(const std::string &name) const {
    for (const auto &scope : scopes | std::views::reverse)
      if (auto found = scope.find(name); found != scope.end())
        return found->second;
    return name;
  }

  ParsedOperand parseOperand() {
    ParsedOperand operand;
    if (const bool isList = scanner.take("{"); isList || scanner.take("(")) {
      operand.kind = ParsedOperand::Kind::vector;
      while (!scanner.take(isList ? "}" : ")")) {
        operand.parts.push_back(parseOperand());
        scanner.take(",");
      }
      return operand;
    }
    if (scanner.take("["))
      return parseAddress();
    operand.isNegated = scanner.take("!");
    const bool isNegative = scanner.take("-");
    const std::string word = scanner.word(".");
    if (std::isdigit(static_cast<unsigned char>(word.front()))) {
      parseNumber(word, operand);
      if (isNegative)
        operand.bits = ~operand.bits + 1;
      return operand;
    }
    operand.kind = word == "_" ? ParsedOperand::Kind::sink : ParsedOperand::Kind::name;
    operand.text = resolve(word);
    if (scanner.take("|")) {
      ParsedOperand pair;
      pair.kind = ParsedOperand::Kind::pair;
      pair.parts = {operand, parseOperand()};
      return pair;
    }
    if (scanner.take("+")) {
      const bool isOffsetNegative = scanner.take("-");
      const auto offset = int64_t(parseUnsigned());
      operand.offset = isOffsetNegative ? -offset : offset;
    }
    return operand;
  }

  void parseNumber(const std::string &word, ParsedOperand &operand) {
    const std::string_view prefix = std::string_view(word).substr(0, 2);
    const bool isSingle = prefix == "0f" || prefix == "0F", isDouble = prefix == "0d" || prefix == "0D";
    if (isSingle || isDouble) {
      operand.kind = ParsedOperand::Kind::real;
      operand.isDouble = isDouble;
      operand.bits = integerOf("0x" + word.substr(2));
      return;
    }
    operand.kind = ParsedOperand::Kind::integer;
    operand.bits = integerOf(word);
  }

  /// From behind the bracket on: a base with an offset, and perhaps the coordinates of a tensor.
  ParsedOperand parseAddress() {
    ParsedOperand address;
    address.kind = ParsedOperand::Kind::address;
    address.parts.push_back(parseOperand());
    std::swap(address.offset, address.parts[0].offset);
    while (scanner.take(",")) {
      ParsedOperand more = parseOperand();
      address.parts.insert(address.parts.end(), more.parts.begin(), more.parts.end());
    }
    scanner.expect("]");
    return address;
  }

  Scanner scanner;
  ParsedModule module;
  ParsedFunction *current = nullptr;
  std::string lastLabel;
  std::vector<std::map<std::string, std::string>> scopes; // unique names of what inner scopes declare
  std::vector<int> scopeNumbers;
  int scopedNames = 0, scopeCount = 0;
};

} // namespace

ParsedModule parsePtx(std::string_view text) {
  ParsedModule module = Parser(text).parse();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    module.lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return module;
}

} // namespace sparsec::simulator
