// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reader.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>

namespace sparsec::readers {

static constexpr llvm::StringLiteral separators = " \t\r,";

std::string quote(llvm::StringRef text) {
  constexpr size_t shown = 32;
  std::string quoted = "'";
  for (char character : text.take_front(shown))
    quoted += llvm::isPrint(character) ? std::string(1, character)
                                       : fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
  return quoted + (text.size() > shown ? "...'" : "'");
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failure("cannot read '{}': {}", view(path), buffer.getError().message());
  return std::move(*buffer);
}

std::optional<uint64_t> multiply(uint64_t count, uint64_t size) {
  uint64_t product;
  if (__builtin_mul_overflow(count, size, &product))
    return std::nullopt;
  return product;
}

bool LineReader::nextLine() {
  ++number; // also at the end of the file: what is missing there is missing on the line after the last
  bool hasLine = !rest.empty();
  std::tie(current, rest) = rest.split('\n');
  return hasLine;
}

llvm::StringRef LineReader::nextWord() {
  current = current.ltrim(separators);
  llvm::StringRef word = current.take_front(current.find_first_of(separators));
  current = current.drop_front(word.size());
  return word;
}

llvm::Expected<int64_t> LineReader::nextInteger(llvm::StringRef what, int64_t low, int64_t high) {
  llvm::StringRef word = nextWord();
  int64_t value = 0;
  auto [end, status] = std::from_chars(word.begin(), word.end(), value);
  if (word.empty() || end != word.end() || status == std::errc::invalid_argument)
    return error("expects an integer as {}, but got {}", view(what), word.empty() ? "nothing" : quote(word));
  if (status == std::errc::result_out_of_range || value < low || value > high)
    return error("expects {} in {} to {}, but got {}", view(what), low, high, view(word.take_front(40)));
  return value;
}

llvm::Expected<double> LineReader::nextReal(llvm::StringRef what) {
  llvm::StringRef word = nextWord();
  llvm::StringRef digits = word;
  digits.consume_front("+"); // from_chars takes no plus sign
  double value = 0.0;
  auto [end, status] = std::from_chars(digits.begin(), digits.end(), value);
  if (word.empty() || end != digits.end() || status == std::errc::invalid_argument)
    return error("expects a number as {}, but got {}", view(what), word.empty() ? "nothing" : quote(word));
  // Too small a number is zero, as everywhere; too large a one has no meaning.
  if (status == std::errc::result_out_of_range && llvm::StringRef(digits).contains_insensitive("e-"))
    return 0.0;
  if (status != std::errc() || !std::isfinite(value))
    return error("expects a finite number as {}, but got {}", view(what), quote(word));
  return value;
}

llvm::Error LineReader::expectLineEnd(llvm::StringRef what) {
  llvm::StringRef word = nextWord();
  if (word.empty())
    return llvm::Error::success();
  return error("expects the end of the line after {}, but got {}", view(what), quote(word));
}

} // namespace sparsec::readers
