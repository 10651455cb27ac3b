// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Feeds the files of a folder to a fuzz driver, without a fuzzer: for the ordinary tests.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // Every prefix too: files that were cut off are the most common broken ones.
    for (size_t size = 0; size <= bytes.size(); ++size) {
      std::vector<uint8_t> prefix(bytes.begin(), bytes.begin() + std::ptrdiff_t(size)); // its end is the heap block's
      LLVMFuzzerTestOneInput(prefix.data(), prefix.size());
    }
    ++count;
  }
  std::printf("%d files\n", count);
  return count == 0;
}
