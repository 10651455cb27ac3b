// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckText.h"

#include "SparsecDialect.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {
enum class TokenKind { End, Word, Open, Close, Other };

struct Token {
  TokenKind kind = TokenKind::End;
  StringRef text;

  bool is(char character) const { return text.size() == 1 && text.front() == character; }
  bool isAliasName() const { return kind == TokenKind::Word && (text.front() == '#' || text.front() == '!'); }
};

/// Splits a text as MLIR's lexer does, as far as brackets, names and strings are concerned.
class Tokens {
public:
  explicit Tokens(StringRef text) : rest(text) {}

  Token next();

private:
  Token take(TokenKind kind, size_t size) {
    Token token{kind, rest.take_front(size)};
    rest = rest.drop_front(size);
    return token;
  }
  void skipSpaceAndComments();

  StringRef rest;
};
} // namespace

static constexpr StringLiteral nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

void Tokens::skipSpaceAndComments() {
  for (;;) {
    rest = rest.ltrim(StringRef(" \t\r\n\0", 5));
    if (!rest.starts_with("//"))
      return;
    rest = rest.drop_until([](char character) { return character == '\n'; });
  }
}

/// The size of the string literal at the start of `text`. It ends with its line, too.
static size_t getStringSize(StringRef text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

Token Tokens::next() {
  skipSpaceAndComments();
  if (rest.empty())
    return {};
  char first = rest.front();
  if (first == '"')
    return take(TokenKind::Word, getStringSize(rest));
  if (StringRef("#!%^@").contains(first)) {
    // A hyphen may be part of these names, and a name after @ may be a string, which is then a word of its own.
    size_t end = 1;
    while (end < rest.size() && (rest[end] == '-' || nameCharacters.contains(rest[end])))
      ++end;
    return take(TokenKind::Word, end);
  }
  if (nameCharacters.contains(first))
    return take(TokenKind::Word, std::min(rest.find_first_not_of(nameCharacters), rest.size()));
  if (rest.starts_with("->") || rest.starts_with("<="))
    return take(TokenKind::Other, 2);
  TokenKind kind = StringRef("([{<").contains(first)   ? TokenKind::Open
                   : StringRef(")]}>").contains(first) ? TokenKind::Close
                                                       : TokenKind::Other;
  return take(kind, 1);
}

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

namespace {
/// Follows the brackets of a text. An expression `a + b + c` nests as deep as it has operators, and an attribute or a
/// type as deep as the aliases in it.
class TextCheck {
public:
  TextCheck(StringRef text, function_ref<InFlightDiagnostic(StringRef)> emitError)
      : tokens(text), emitError(emitError) {}

  LogicalResult run();

private:
  struct Level {
    char open;
    int64_t operators = 0;
  };
  struct Alias {
    int64_t depth = 0;
    bool isIndex = false;
  };

  LogicalResult visit(const Token &token);
  void close(char bracket);
  bool isOperator(const Token &token) const;
  bool isIndex(const Token &token) const { return token.text == "index" || aliases.lookup(token.text).isIndex; }
  void followDefinition(const Token &token, const Token &next);
  LogicalResult enter(const Token &token, int64_t levels);

  Tokens tokens;
  function_ref<InFlightDiagnostic(StringRef)> emitError;
  SmallVector<Level> open;
  int64_t depth = 0; // open brackets and the operators in them
  /// The types and attributes that the aliases so far stand for; `defined` is the one whose definition is being read.
  llvm::StringMap<Alias> aliases;
  StringRef defined;
  Token previous, beforePrevious;
};
} // namespace

LogicalResult TextCheck::run() {
  for (Token token = tokens.next(), next; token.kind != TokenKind::End; token = next) {
    next = tokens.next();
    followDefinition(token, next);
    if (failed(visit(token)))
      return failure();
    beforePrevious = previous;
    previous = token;
  }
  return success();
}

/// Notes where the definition of an alias starts and ends: `#a = [1]`, then something that cannot continue it.
void TextCheck::followDefinition(const Token &token, const Token &next) {
  if (!open.empty())
    return;
  bool continues =
      token.kind != TokenKind::Word || !(previous.kind == TokenKind::Word || previous.kind == TokenKind::Close);
  if (!continues)
    defined = {};
  if (token.isAliasName() && next.is('='))
    defined = token.text;
}

LogicalResult TextCheck::visit(const Token &token) {
  // MLIR takes the width of the elements of array<...>, which index has not.
  if (previous.is('<') && beforePrevious.text == "array" && isIndex(token))
    return emitError(token.text) << "expects the elements of an array to be integers or floats, but got index";
  if (!defined.empty() && previous.is('='))
    aliases[defined].isIndex = isIndex(token);

  switch (token.kind) {
  case TokenKind::Open:
    open.push_back({token.text.front()});
    ++depth;
    return enter(token, 0);
  case TokenKind::Close:
    close(token.text.front());
    return success();
  case TokenKind::Word:
    if (token.isAliasName() && token.text != defined)
      return enter(token, 1 + aliases.lookup(token.text).depth);
    break;
  default:
    break;
  }
  if (open.empty())
    return success();
  Level &level = open.back();
  if (token.is(',')) {
    depth -= level.operators;
    level.operators = 0;
  } else if (isOperator(token)) {
    ++level.operators;
    ++depth;
    return enter(token, 0);
  }
  return success();
}

/// Whether a token is an operator of an affine expression. Between braces stand ops, or a list of attributes.
bool TextCheck::isOperator(const Token &token) const {
  if (open.back().open == '{')
    return false;
  return token.is('+') || token.is('-') || token.is('*') || token.text == "mod" || token.text == "floordiv" ||
         token.text == "ceildiv";
}

/// Closes the last bracket of the kind of `bracket`, with all in it: `<` and `>` may be comparisons.
void TextCheck::close(char bracket) {
  static constexpr StringLiteral opening = "([{<", closing = ")]}>";
  char wanted = opening[closing.find(bracket)];
  if (bracket == '>' && (open.empty() || open.back().open != '<'))
    return;
  if (llvm::none_of(open, [&](const Level &level) { return level.open == wanted; }))
    return;
  for (char closed = 0; closed != wanted;) {
    closed = open.back().open;
    depth -= 1 + open.back().operators;
    open.pop_back();
  }
}

/// Checks and notes a depth that is reached, `levels` below the open brackets.
LogicalResult TextCheck::enter(const Token &token, int64_t levels) {
  int64_t reached = depth + levels;
  if (!defined.empty()) {
    int64_t &deepest = aliases[defined].depth;
    deepest = std::max(deepest, reached);
  }
  if (reached <= mostNesting)
    return success();
  return emitError(token.text) << "expects at most " << mostNesting
                               << " levels of nested brackets, aliases and operators, but got " << reached;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// Finds the names of ops, types and attributes as far as they say which dialect is meant.
class NameCheck {
public:
  NameCheck(StringRef text, MLIRContext &context, function_ref<InFlightDiagnostic(StringRef)> emitError)
      : tokens(text), context(context), emitError(emitError) {}

  LogicalResult run();

private:
  bool isOpName(const Token &previous, const Token &token, const Token &next) const;
  LogicalResult checkName(StringRef name, bool isOp);
  void followBrackets(const Token &token);

  Tokens tokens;
  MLIRContext &context;
  function_ref<InFlightDiagnostic(StringRef)> emitError;
  SmallVector<char> open;
};
} // namespace

LogicalResult NameCheck::run() {
  for (Token previous, token = tokens.next(), next; token.kind != TokenKind::End; previous = token, token = next) {
    next = tokens.next();
    followBrackets(token);
    bool isOp = isOpName(previous, token, next);
    if ((isOp || token.isAliasName()) && token.text.contains('.') && failed(checkName(token.text, isOp)))
      return failure();
  }
  return success();
}

/// Ops stand at the top and between braces, and so do the attributes of a dictionary: `foo.bar = 1`, or `foo.bar`
/// alone.
bool NameCheck::isOpName(const Token &previous, const Token &token, const Token &next) const {
  if (token.kind != TokenKind::Word || !(open.empty() || open.back() == '{'))
    return false;
  if (token.text.front() == '"')
    return next.is('(') && !previous.is('@'); // but @"..." names a symbol
  return llvm::isAlpha(token.text.front()) && !next.is('=') && !next.is(',') && !next.is('}');
}

LogicalResult NameCheck::checkName(StringRef text, bool isOp) {
  StringRef name = text.trim("\"#!"), dialect = name.split('.').first;
  if (isOp && open.empty() && name != "sparsec.kernel" && name != "builtin.module")
    return emitError(text) << "expects only sparsec.kernel in a module, but got " << name;
  if (!context.getOrLoadDialect(dialect))
    return emitError(text) << "expects only names of sparsec, arith and math in a kernel, but got " << name;
  return success();
}

void NameCheck::followBrackets(const Token &token) {
  if (token.kind == TokenKind::Open)
    open.push_back(token.text.front());
  // An angle that closes nothing is a comparison.
  else if (token.kind == TokenKind::Close && !open.empty() && (!token.is('>') || open.back() == '<'))
    open.pop_back();
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Emits an error where `token`, a part of the main file, begins.
static InFlightDiagnostic emitErrorAt(const llvm::SourceMgr &sources, MLIRContext &context, StringRef token) {
  auto [line, column] = sources.getLineAndColumn(llvm::SMLoc::getFromPointer(token.data()));
  StringRef name = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  return emitError(FileLineColLoc::get(&context, name, line, column));
}

LogicalResult sparsec::checkText(const llvm::SourceMgr &sources, MLIRContext &context) {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
  StringRef text = buffer->getBuffer();
  // The line of a binary file is nothing for a terminal.
  auto start = FileLineColLoc::get(&context, buffer->getBufferIdentifier(), 0, 0);
  if (isBytecode(*buffer))
    return emitError(start) << "expects MLIR as text, but got bytecode";
  if (size_t zero = text.find('\0'); zero != StringRef::npos)
    return emitError(start) << "expects MLIR as text, but got a binary file, with a zero at byte " << zero;
  return TextCheck(text, [&](StringRef token) { return emitErrorAt(sources, context, token); }).run();
}

LogicalResult sparsec::checkNames(const llvm::SourceMgr &sources, MLIRContext &context) {
  context.loadDialect<SparsecDialect>(); // and those that it depends on
  StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  return NameCheck(text, context, [&](StringRef token) { return emitErrorAt(sources, context, token); }).run();
}
