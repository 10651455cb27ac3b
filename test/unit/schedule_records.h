// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads what was measured: rows of the files in bench/results/.

#ifndef SPARSEC_TEST_UNIT_SCHEDULE_RECORDS_H
#define SPARSEC_TEST_UNIT_SCHEDULE_RECORDS_H

#include "Schedule.h"
#include "TargetInfo.h"

#include <string>

/// The value behind `"key": ` in a row, up to a comma outside of brackets, without its quotes.
std::string fieldOf(const std::string &row, const std::string &key);

/// Reads what toString writes.
sparsec::Schedule parseSchedule(const std::string &text);

/// The chip that all records are of.
const sparsec::Chip &h200();

#endif // SPARSEC_TEST_UNIT_SCHEDULE_RECORDS_H
