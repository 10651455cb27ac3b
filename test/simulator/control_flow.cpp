// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lanes of a branch meet again: its immediate postdominator.

#include "decoder.h"

#include <algorithm>

namespace sparsec::simulator {

namespace {

/// Basic blocks of one function, and one block more for its end.
class Flow {
public:
  Flow(std::vector<Instruction> &code, uint32_t begin, uint32_t end) : code(code), begin(begin), end(end) {
    findBlocks();
    order();
    findPostdominators();
  }

  void write() {
    for (size_t block = 0; block + 1 < starts.size(); ++block) {
      Instruction &last = code[starts[block + 1] - 1];
      if ((isIndexedBranch(last) || (isBranch(last) && last.hasGuard)) && postdominator[block] >= 0 &&
          size_t(postdominator[block]) != exit())
        last.reconvergence = starts[size_t(postdominator[block])];
    }
  }

private:
  size_t exit() const { return starts.size() - 1; }
  size_t blockAt(uint32_t pc) const {
    return size_t(std::upper_bound(starts.begin(), starts.end() - 1, pc) - starts.begin()) - 1;
  }

  void findBlocks() {
    starts = {begin, end};
    for (uint32_t pc = begin; pc < end; ++pc) {
      if (isBranch(code[pc]))
        starts.push_back(code[pc].target);
      if (isIndexedBranch(code[pc]))
        starts.insert(starts.end(), code[pc].list.begin(), code[pc].list.end());
      if (isBranch(code[pc]) || isIndexedBranch(code[pc]) || isReturn(code[pc]))
        starts.push_back(pc + 1);
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    successors.resize(starts.size());
    predecessors.resize(starts.size());
    for (size_t block = 0; block < exit(); ++block) {
      const Instruction &last = code[starts[block + 1] - 1];
      if (isReturn(last))
        link(block, exit());
      else if (isBranch(last))
        link(block, last.target == end ? exit() : blockAt(last.target));
      else if (isIndexedBranch(last))
        for (Place target : last.list)
          link(block, blockAt(uint32_t(target)));
      if ((!isBranch(last) && !isIndexedBranch(last) && !isReturn(last)) || last.hasGuard)
        link(block, block + 1);
    }
  }

  void link(size_t from, size_t to) {
    successors[from].push_back(to);
    predecessors[to].push_back(from);
  }

  /// Postorder of the reversed graph, from the end on.
  void order() {
    number.assign(starts.size(), -1);
    std::vector<std::pair<size_t, size_t>> stack = {{exit(), 0}};
    std::vector<bool> seen(starts.size());
    seen[exit()] = true;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next == predecessors[block].size()) {
        number[block] = int(postorder.size());
        postorder.push_back(block);
        stack.pop_back();
        continue;
      }
      const size_t predecessor = predecessors[block][next++];
      if (!seen[predecessor]) {
        seen[predecessor] = true;
        stack.emplace_back(predecessor, 0);
      }
    }
  }

  int meet(int a, int b) const {
    while (a != b) {
      while (number[size_t(a)] < number[size_t(b)])
        a = postdominator[size_t(a)];
      while (number[size_t(b)] < number[size_t(a)])
        b = postdominator[size_t(b)];
    }
    return a;
  }

  /// The iteration of Cooper, Harvey and Kennedy on the reversed graph.
  void findPostdominators() {
    postdominator.assign(starts.size(), -1);
    postdominator[exit()] = int(exit());
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (auto block = postorder.rbegin() + 1; block != postorder.rend(); ++block) {
        int best = -1;
        for (size_t successor : successors[*block])
          if (postdominator[successor] >= 0)
            best = best < 0 ? int(successor) : meet(int(successor), best);
        hasChanged |= postdominator[*block] != best;
        postdominator[*block] = best;
      }
    }
  }

  std::vector<Instruction> &code;
  uint32_t begin, end;
  std::vector<uint32_t> starts; // of blocks; the last is the end
  std::vector<std::vector<size_t>> successors, predecessors;
  std::vector<size_t> postorder;
  std::vector<int> number, postdominator;
};

} // namespace

void findReconvergence(std::vector<Instruction> &code, uint32_t begin, uint32_t end) {
  if (begin != end)
    Flow(code, begin, end).write();
}

} // namespace sparsec::simulator
