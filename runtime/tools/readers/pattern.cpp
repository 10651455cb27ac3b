// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "pattern.h"

namespace sparsec::readers {

/// Reads the current line: exactly `count` numbers in [0, high]. `one` and `many` name them.
static llvm::Expected<std::vector<int32_t>> readNumbers(LineReader &reader, llvm::StringRef one, llvm::StringRef many,
                                                        int64_t count, int64_t high) {
  // Every number takes a digit and a separator, so the line itself bounds what a false count can allocate.
  if (count > int64_t(reader.line().size() + 1) / 2)
    return reader.error("expects {} {}, but the line has only {} characters", count, view(many), reader.line().size());
  std::vector<int32_t> numbers;
  numbers.reserve(count);
  for (int64_t index = 0; index < count; ++index) {
    llvm::Expected<int64_t> number = reader.nextInteger(one, 0, high);
    if (!number)
      return number.takeError();
    numbers.push_back(int32_t(*number));
  }
  if (llvm::Error error = reader.expectLineEnd(fmt::format("{} {}", count, view(many))))
    return error;
  return numbers;
}

llvm::Expected<Pattern> readPattern(llvm::StringRef text, llvm::StringRef name) {
  LineReader reader(text, name);
  reader.nextLine();
  int64_t sizes[3];
  const char *names[3] = {"the number of rows", "the number of columns", "the number of nonzeros"};
  for (int index = 0; index < 3; ++index) {
    llvm::Expected<int64_t> size = reader.nextInteger(names[index], 0, maxSize);
    if (!size)
      return size.takeError();
    sizes[index] = *size;
  }
  if (llvm::Error error = reader.expectLineEnd("rows, columns, nonzeros"))
    return error;

  auto [rows, columns, nonzeros] = sizes;
  Pattern pattern;
  pattern.rows = rows;
  pattern.columns = columns;
  reader.nextLine();
  auto rowPtr = readNumbers(reader, "a row offset", "row offsets", rows + 1, nonzeros);
  if (!rowPtr)
    return rowPtr.takeError();
  pattern.rowPtr = std::move(*rowPtr);
  if (pattern.rowPtr.front() != 0)
    return reader.error("expects row offset 0 to be 0, but got {}", pattern.rowPtr.front());
  for (int64_t row = 0; row < rows; ++row)
    if (pattern.rowPtr[row] > pattern.rowPtr[row + 1])
      return reader.error("expects ascending row offsets, but got {} and {} for rows {} and {}", pattern.rowPtr[row],
                          pattern.rowPtr[row + 1], row, row + 1);
  if (pattern.rowPtr.back() != nonzeros)
    return reader.error("expects the last row offset to be the number of nonzeros, {}, but got {}", nonzeros,
                        pattern.rowPtr.back());

  reader.nextLine(); // a file without nonzeros may end before
  auto colIdx = readNumbers(reader, "a column index", "column indices", nonzeros, columns - 1);
  if (!colIdx)
    return colIdx.takeError();
  pattern.colIdx = std::move(*colIdx);
  while (reader.nextLine())
    if (llvm::Error error = reader.expectLineEnd("the column indices"))
      return error;
  return pattern;
}

} // namespace sparsec::readers
