// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "matrix_market.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace sparsec::readers {

namespace {
enum class Symmetry { general, symmetric, skew };

struct Banner {
  bool hasValues;
  Symmetry symmetry;
};
} // namespace

/// Line 1: `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, in any case.
static llvm::Expected<Banner> readBanner(LineReader &reader) {
  reader.nextLine();
  if (llvm::StringRef word = reader.nextWord(); !word.equals_insensitive("%%MatrixMarket"))
    return reader.error("expects '%%MatrixMarket', but got {}", quote(word));
  if (llvm::StringRef word = reader.nextWord(); !word.equals_insensitive("matrix"))
    return reader.error("expects object 'matrix', but got {}", quote(word));
  if (llvm::StringRef word = reader.nextWord(); !word.equals_insensitive("coordinate"))
    return reader.error("expects format 'coordinate', but got {}", quote(word));
  llvm::StringRef field = reader.nextWord(), symmetry = reader.nextWord();
  auto hasValues = llvm::StringSwitch<std::optional<bool>>(field)
                       .CasesLower({"real", "integer"}, true)
                       .CaseLower("pattern", false)
                       .Default(std::nullopt);
  if (!hasValues)
    return reader.error("expects field 'real', 'integer' or 'pattern', but got {}", quote(field));
  auto kind = llvm::StringSwitch<std::optional<Symmetry>>(symmetry)
                  .CaseLower("general", Symmetry::general)
                  .CaseLower("symmetric", Symmetry::symmetric)
                  .CaseLower("skew-symmetric", Symmetry::skew)
                  .Default(std::nullopt);
  if (!kind)
    return reader.error("expects symmetry 'general', 'symmetric' or 'skew-symmetric', but got {}", quote(symmetry));
  if (llvm::Error error = reader.expectLineEnd("the banner"))
    return error;
  return Banner{*hasValues, *kind};
}

/// Moves to the next line that is neither empty nor a comment; false at the end of the file.
static bool nextDataLine(LineReader &reader) {
  while (reader.nextLine()) {
    llvm::StringRef line = reader.line().trim();
    if (!line.empty() && !line.starts_with("%"))
      return true;
  }
  return false;
}

/// The current line: `row column` and, unless the matrix is a pattern, `value`; counted from 1.
static llvm::Expected<Entry> readEntry(LineReader &reader, const Banner &banner, int64_t rows, int64_t columns) {
  llvm::Expected<int64_t> row = reader.nextInteger("a row", 1, rows);
  if (!row)
    return row.takeError();
  llvm::Expected<int64_t> column = reader.nextInteger("a column", 1, columns);
  if (!column)
    return column.takeError();
  double value = 1.0;
  if (banner.hasValues) {
    llvm::Expected<double> number = reader.nextReal("a value");
    if (!number)
      return number.takeError();
    value = *number;
  }
  if (llvm::Error error = reader.expectLineEnd("an entry"))
    return error;
  if (banner.symmetry == Symmetry::symmetric && *row < *column)
    return reader.error("expects entries on or below the diagonal of a symmetric matrix, but got row {}, column {}",
                        *row, *column);
  if (banner.symmetry == Symmetry::skew && *row <= *column)
    return reader.error("expects entries below the diagonal of a skew-symmetric matrix, but got row {}, column {}",
                        *row, *column);
  return Entry{int32_t(*row - 1), int32_t(*column - 1), value};
}

llvm::Expected<CoordinateMatrix> readMatrixMarket(llvm::StringRef text, llvm::StringRef name) {
  LineReader reader(text, name);
  llvm::Expected<Banner> banner = readBanner(reader);
  if (!banner)
    return banner.takeError();
  if (!nextDataLine(reader))
    return reader.error("expects a line 'rows columns entries', but the file ends");
  CoordinateMatrix matrix;
  int64_t count = 0;
  for (auto [what, size] :
       {std::pair("the number of rows", &matrix.rows), std::pair("the number of columns", &matrix.columns),
        std::pair("the number of entries", &count)}) {
    llvm::Expected<int64_t> number = reader.nextInteger(what, 0, maxSize);
    if (!number)
      return number.takeError();
    *size = *number;
  }
  if (llvm::Error error = reader.expectLineEnd("rows columns entries"))
    return error;
  if (banner->symmetry != Symmetry::general && matrix.rows != matrix.columns)
    return reader.error("expects a symmetric matrix to be square, but got {} x {}", matrix.rows, matrix.columns);

  // The list grows with the lines that are there, not with the number that the file claims.
  int64_t read = 0;
  for (; nextDataLine(reader); ++read) {
    if (read == count)
      return reader.error("expects {} entries, but got more", count);
    llvm::Expected<Entry> entry = readEntry(reader, *banner, matrix.rows, matrix.columns);
    if (!entry)
      return entry.takeError();
    matrix.entries.push_back(*entry);
    if (banner->symmetry != Symmetry::general && entry->row != entry->column)
      matrix.entries.push_back(
          {entry->column, entry->row, banner->symmetry == Symmetry::skew ? -entry->value : entry->value});
  }
  if (read != count)
    return reader.error("expects {} entries, but the file ends after {}", count, read);
  return matrix;
}

} // namespace sparsec::readers
