// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers that the readers of untrusted files share: limits, errors, lines and numbers.
//
// A reader takes the whole file in memory and its name for messages. It never allocates more than a small multiple of
// the file's size plus Limits::bytes, whatever the file claims about itself.

#ifndef SPARSEC_TOOLS_READERS_READER_H
#define SPARSEC_TOOLS_READERS_READER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace sparsec::readers {

/// Sizes, offsets and indices are 32-bit in BSR.
constexpr int64_t maxSize = std::numeric_limits<int32_t>::max();

struct Limits {
  /// Largest array that a file may expand to (compressed data, blocks with fill-in, row offsets).
  uint64_t bytes = uint64_t(16) << 30;
};

/// An error with a formatted message.
template <typename... Arguments>
llvm::Error failure(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Text for a message.
inline std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

/// Text from an untrusted file for a message: shortened, unprintable bytes escaped.
std::string quote(llvm::StringRef text);

/// Reads a whole file into memory.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path);

/// `count * size`, or nothing if the product does not fit 64 bits.
std::optional<uint64_t> multiply(uint64_t count, uint64_t size);

/// Lines of a text file and the numbers on them. Numbers are separated by white space or commas.
class LineReader {
public:
  LineReader(llvm::StringRef text, llvm::StringRef name) : rest(text), name(name) {}

  /// Moves to the next line; false, and an empty line, at the end of the file.
  bool nextLine();
  /// The part of the current line that has not been read.
  llvm::StringRef line() const { return current; }
  /// The next word of the current line, empty at its end.
  llvm::StringRef nextWord();
  /// The next number of the current line. `what` names it in the message; values outside of [low, high] are errors.
  llvm::Expected<int64_t> nextInteger(llvm::StringRef what, int64_t low, int64_t high);
  llvm::Expected<double> nextReal(llvm::StringRef what);
  /// An error if anything is left on the current line.
  llvm::Error expectLineEnd(llvm::StringRef what);

  /// An error at the current line: `name:line: message`.
  template <typename... Arguments>
  llvm::Error error(fmt::format_string<Arguments...> format, Arguments &&...arguments) const {
    return failure("{}:{}: {}", view(name), number, fmt::format(format, std::forward<Arguments>(arguments)...));
  }

private:
  llvm::StringRef rest, current, name;
  int64_t number = 0;
};

} // namespace sparsec::readers

#endif // SPARSEC_TOOLS_READERS_READER_H
