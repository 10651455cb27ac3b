// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule_records.h"

#include <sstream>
#include <stdexcept>

using namespace sparsec;

std::string fieldOf(const std::string &row, const std::string &key) {
  size_t begin = row.find("\"" + key + "\": ");
  if (begin == std::string::npos)
    throw std::runtime_error("a row has no " + key);
  begin += key.size() + 4;
  char close = row[begin] == '"' ? '"' : row[begin] == '[' ? ']' : ',';
  begin += close == ',' ? 0 : 1;
  return row.substr(begin, row.find(close, begin) - begin);
}

Schedule parseSchedule(const std::string &text) {
  Schedule schedule;
  std::istringstream in(text);
  std::string word;
  in >> word;
  for (const MatrixInstructionInfo &info : matrixInstructions())
    if (word == info.name)
      schedule.instruction = info.instruction;
  in >> word;
  for (const CopyInfo &info : copies())
    if (word == info.name)
      schedule.copy = info.copy;
  char times;
  in >> schedule.tileM >> times >> schedule.tileN >> times >> schedule.tileK;
  while (in >> word) {
    if (word == "stages")
      in >> schedule.stages;
    else if (word == "consumers")
      in >> schedule.consumersM >> times >> schedule.consumersN;
    else if (word == "cluster")
      in >> schedule.cluster;
    else if (word == "group_m")
      in >> schedule.groupM;
    else if (word == "ctas_per_sm")
      in >> schedule.ctasPerSm;
    else if (word == "registers") {
      in >> schedule.consumerRegisters;
      if (in.peek() == '/') {
        schedule.producerRegisters = schedule.consumerRegisters;
        in >> times >> schedule.consumerRegisters;
      }
    }
  }
  return schedule;
}

const Chip &h200() { return *findChip("sm_90a"); }
