// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScheduleTable.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace sparsec;

/// The text of a field that every row has.
static FailureOr<StringRef> textOf(const llvm::json::Object &row, StringRef field, Location location) {
  std::optional<StringRef> text = row.getString(field);
  if (text && !text->empty())
    return *text;
  emitError(location) << "field '" << field << "' expects a text"
                      << (row.get(field) ? ", but got something else" : ", but is not there");
  return failure();
}

/// Reads what a schedule prints. The parser's own errors have no place in the file.
static FailureOr<ScheduleAttr> parseSchedule(StringRef text, Location location) {
  std::string reason = "something else";
  Attribute attribute;
  {
    ScopedDiagnosticHandler handler(location.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        reason = diagnostic.str();
      return success();
    });
    attribute = parseAttribute(text, location.getContext());
  }
  auto schedule = dyn_cast_if_present<ScheduleAttr>(attribute);
  if (schedule && !schedule.isForHost())
    return schedule;
  emitError(location) << "field 'schedule' expects #sparsec.schedule<...> of a chip, but got "
                      << (attribute ? "'" + text.str() + "'" : "'" + text.str() + "': " + reason);
  return failure();
}

static FailureOr<ScheduleRow> parseRow(StringRef line, Location location) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    emitError(location) << "expects a JSON object, but got a damaged line: " << llvm::toString(value.takeError());
    return failure();
  }
  const llvm::json::Object *row = value->getAsObject();
  if (!row) {
    emitError(location) << "expects a JSON object, but got another value";
    return failure();
  }
  FailureOr<StringRef> chip = textOf(*row, "chip", location), problem = textOf(*row, "problem", location),
                       text = textOf(*row, "schedule", location);
  if (failed(chip) || failed(problem) || failed(text))
    return failure();
  FailureOr<ScheduleAttr> schedule = parseSchedule(*text, location);
  if (failed(schedule))
    return failure();
  return ScheduleRow{chip->str(), problem->str(), *schedule, location};
}

FailureOr<ScheduleTable> ScheduleTable::read(StringRef path, MLIRContext *context) {
  auto at = [&](int64_t line) { return FileLineColLoc::get(context, path, unsigned(line), 1); };
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    emitError(at(1)) << "cannot read the schedule table: " << file.getError().message();
    return failure();
  }
  ScheduleTable table;
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/true); !line.is_at_eof(); ++line) {
    FailureOr<ScheduleRow> row = parseRow(*line, at(line.line_number()));
    if (failed(row) || failed(table.add(std::move(*row))))
      return failure();
  }
  return table;
}

LogicalResult ScheduleTable::add(ScheduleRow row) {
  if (const ScheduleRow *other = find(row.chip, row.problem, row.isPlanned())) {
    InFlightDiagnostic error = emitError(row.location)
                               << "field 'problem' expects another one than those of the rows before, but got '"
                               << row.problem << "' again";
    error.attachNote(other->location) << "the first one";
    return error;
  }
  rows.push_back(std::move(row));
  return success();
}

const ScheduleRow *ScheduleTable::find(StringRef chip, StringRef problem, bool isPlanned) const {
  auto row = llvm::find_if(rows, [&](const ScheduleRow &each) {
    return each.chip == chip && each.problem == problem && each.isPlanned() == isPlanned;
  });
  return row == rows.end() ? nullptr : &*row;
}
