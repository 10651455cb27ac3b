// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SciPy BSR matrices. The good files were written by SciPy; the bad ones are put together here.

#include "../fuzz/stored_zip.h"
#include "readers_support.h"
#include "scipy.h"

#include <map>

using namespace sparsec::readers;

namespace {

constexpr BlockFormat format = {2, 3, SPARSEC_DTYPE_F32};

class SciPyFileTest : public testing::TestWithParam<const char *> {};

TEST_P(SciPyFileTest, ReadsTheMatrix) {
  BlockMatrix matrix = valueOf(readSciPyBsr(corpusFile(GetParam()), "a.npz", format, Limits()));
  EXPECT_EQ(matrix.rows, 4);
  EXPECT_EQ(matrix.columns, 6);
  EXPECT_EQ(matrix.rowPtr, (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(matrix.colIdx, (std::vector<int32_t>{1, 0, 1}));
  EXPECT_EQ(widen(matrix.values, SPARSEC_DTYPE_F32),
            (std::vector<double>{1, 2, 3, 4, 5, 0, 7, 8, 9, -1, -2, -3, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(matrix.nonzeros, 17);
}

INSTANTIATE_TEST_SUITE_P(Files, SciPyFileTest, testing::Values("scipy/compressed.npz", "scipy/stored.npz"));

/// The members of an archive, by name.
using Members = std::map<std::string, std::string>;

std::string makeArray(const std::string &type, const std::string &shape, const std::string &elements) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}}}\n", type, shape);
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header + elements;
}

std::string makeIntegers(const std::vector<int32_t> &values) {
  return makeArray("<i4", fmt::format("({},)", values.size()),
                   std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4));
}

/// A 4 x 3 matrix with the blocks (0, 0) and (1, 0).
Members goodMembers() {
  return {{"format.npy", makeArray("|S3", "()", "bsr")},
          {"shape.npy", makeIntegers({4, 3})},
          {"indptr.npy", makeIntegers({0, 1, 2})},
          {"indices.npy", makeIntegers({0, 0})},
          {"data.npy", makeArray("<f4", "(2, 2, 3)", std::string(48, '\0'))}};
}

std::string makeArchive(const Members &members) {
  return sparsec::fuzz::makeStoredZip({members.begin(), members.end()});
}

std::string messageWith(const std::string &member, const std::string &bytes) {
  Members members = goodMembers();
  members[member] = bytes;
  return messageOf(readSciPyBsr(makeArchive(members), "a.npz", format, Limits()));
}

TEST(SciPyTest, TheGoodMembersAreGood) {
  BlockMatrix matrix = valueOf(readSciPyBsr(makeArchive(goodMembers()), "a.npz", format, Limits()));
  EXPECT_EQ(matrix.blockCount(), 2);
  EXPECT_EQ(matrix.nonzeros, 0);
}

TEST(SciPyTest, BlocksMayReachBeyondTheMatrix) {
  Members members = goodMembers();
  members["shape.npy"] = makeIntegers({3, 2});
  std::string ones;
  for (int element = 0; element < 12; ++element)
    ones += std::string("\0\0\x80\x3f", 4);
  members["data.npy"] = makeArray("<f4", "(2, 2, 3)", ones);
  BlockMatrix matrix = valueOf(readSciPyBsr(makeArchive(members), "a.npz", format, Limits()));
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.columns, 2);
  EXPECT_EQ(matrix.values.size(), 12 * sizeof(float));
  EXPECT_EQ(matrix.nonzeros, 6);
}

TEST(SciPyTest, RefusesOtherFormats) {
  EXPECT_EQ(messageOf(readSciPyBsr(corpusFile("scipy/csr.npz"), "a.npz", format, Limits())),
            "a.npz: expects a BSR matrix, but got format 'csr' (matrix.tobsr((2, 3)) converts)");
}

TEST(SciPyTest, RefusesArchivesThatAreNone) {
  EXPECT_EQ(messageOf(readSciPyBsr("", "a.npz", format, Limits())),
            "a.npz: expects a zip archive (.npz), but got other or truncated data");
  EXPECT_EQ(messageOf(readSciPyBsr(corpusFile("scipy/truncated.npz"), "a.npz", format, Limits())),
            "a.npz: expects a zip archive (.npz), but got other or truncated data");
}

TEST(SciPyTest, RefusesMissingMembers) {
  Members members = goodMembers();
  for (const auto &[name, bytes] : goodMembers()) {
    members.erase(name);
    EXPECT_EQ(messageOf(readSciPyBsr(makeArchive(members), "a.npz", format, Limits())),
              fmt::format("a.npz: expects a member '{}', but the archive has none", name));
    members[name] = bytes;
  }
}

TEST(SciPyTest, RefusesWrongPatterns) {
  EXPECT_EQ(messageWith("shape.npy", makeIntegers({4})), "a.npz: shape.npy: expects 2 sizes, but got 1");
  EXPECT_EQ(messageWith("shape.npy", makeIntegers({5, 3})), "a.npz: indptr.npy: expects 4 row offsets, but got 3");
  EXPECT_EQ(messageWith("indptr.npy", makeIntegers({0, 2})), "a.npz: indptr.npy: expects 3 row offsets, but got 2");
  EXPECT_EQ(messageWith("indptr.npy", makeIntegers({1, 1, 2})),
            "a.npz: indptr.npy: expects row offsets from 0 to 2, but got 1 to 2");
  EXPECT_EQ(messageWith("indptr.npy", makeIntegers({0, 3, 2})),
            "a.npz: indptr.npy: expects ascending row offsets, but got 3 and 2 for block rows 1 and 2");
  EXPECT_EQ(messageWith("indices.npy", makeIntegers({0, 1})),
            "a.npz: indices.npy: expects block columns below 1, but block 1 is in 1");
  EXPECT_EQ(messageWith("indices.npy", makeArray("<i4", "(1, 1)", std::string(4, '\0'))),
            "a.npz: indices.npy: expects 1 dimension, but got 2");
  EXPECT_EQ(messageWith("data.npy", makeArray("<f4", "(2, 3, 2)", std::string(48, '\0'))),
            "a.npz: data.npy: expects 2 blocks of 2x3, but got shape (2, 3, 2)");
  EXPECT_EQ(messageWith("data.npy", makeArray("<i4", "(2, 2, 3)", std::string(48, '\0'))),
            "a.npz: data.npy: expects float16, float32 or float64 elements, but got int32");
}

TEST(SciPyTest, RefusesEncryptedMembers) {
  std::string archive = makeArchive(goodMembers());
  // The general-purpose flags of every entry of the central directory; bit 0 says encrypted.
  for (size_t entry = archive.find("PK\x01\x02"); entry != std::string::npos;
       entry = archive.find("PK\x01\x02", entry + 1))
    archive[entry + 8] |= 1;
  EXPECT_EQ(messageOf(readSciPyBsr(archive, "a.npz", format, Limits())),
            "a.npz: format.npy: expects a member without encryption, but got an encrypted one");
}

/// Sets a little-endian number in every entry of the central directory.
std::string patchDirectory(std::string archive, size_t offset, const std::string &bytes) {
  for (size_t entry = archive.find("PK\x01\x02"); entry != std::string::npos;
       entry = archive.find("PK\x01\x02", entry + 1))
    archive.replace(entry + offset, bytes.size(), bytes);
  return archive;
}

TEST(SciPyTest, RefusesFalseSizesAndMethods) {
  std::string archive = makeArchive(goodMembers());
  EXPECT_EQ(messageOf(readSciPyBsr(patchDirectory(archive, 10, std::string("\x0c\x00", 2)), "a.npz", format, Limits())),
            "a.npz: format.npy: expects a stored or deflated member, but got compression method 12");
  const size_t size = goodMembers()["format.npy"].size();
  EXPECT_EQ(
      messageOf(readSciPyBsr(patchDirectory(archive, 24, std::string("\0\0\0\x7f", 4)), "a.npz", format, Limits())),
      fmt::format("a.npz: format.npy: expects sizes that the archive can hold, but got 2130706432 bytes from {}",
                  size));
  EXPECT_EQ(
      messageOf(readSciPyBsr(patchDirectory(archive, 20, std::string("\0\0\0\x7f", 4)), "a.npz", format, Limits())),
      fmt::format("a.npz: format.npy: expects sizes that the archive can hold, but got {} bytes from 2130706432",
                  size));
  EXPECT_EQ(messageOf(readSciPyBsr(archive, "a.npz", format, Limits{size - 1})),
            fmt::format("a.npz: format.npy: expects at most {} bytes, but got {}", size - 1, size));
  EXPECT_EQ(
      messageOf(readSciPyBsr(patchDirectory(archive, 42, std::string("\x01\0\0\0", 4)), "a.npz", format, Limits())),
      "a.npz: format.npy: expects a readable entry, but got corrupt data");
}

TEST(SciPyTest, RefusesCorruptData) {
  std::string archive = makeArchive(goodMembers());
  archive[archive.find("bsr")] = 'B';
  EXPECT_EQ(messageOf(readSciPyBsr(archive, "a.npz", format, Limits())),
            "a.npz: format.npy: expects data that matches its checksum, but got other data");
  archive = corpusFile("scipy/compressed.npz");
  // The data of the first member follow its name and extra field; no deflate block starts with these bits.
  size_t extra = archive.find("indices.npy") + std::string("indices.npy").size();
  archive.replace(extra + size_t(archive[28]), 4, "\xff\xff\xff\xff");
  EXPECT_NE(messageOf(readSciPyBsr(archive, "a.npz", format, Limits())).find("the compressed data ends or is corrupt"),
            std::string::npos);
}

} // namespace
