// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy arrays. The files were written by NumPy.

#include "numpy.h"
#include "readers_support.h"

using namespace sparsec::readers;
using testing::Values;

namespace {

const std::vector<double> expected = {1.0, -2.5, 3.0, 0.0, 65504.0, 1.0 / 16384};

/// A file of format version 1 with this header and elements.
std::string makeFile(std::string header, const std::string &elements = "") {
  header += "\n";
  std::string length = {char(header.size() & 0xff), char(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + header + elements;
}

class FloatFileTest : public testing::TestWithParam<const char *> {};

TEST_P(FloatFileTest, ReadsTheElements) {
  std::string file = corpusFile(std::string("numpy/") + GetParam());
  NumpyArray array = valueOf(readNumpy(file, "a.npy"));
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.elementCount(), 6);
  EXPECT_EQ(widen(valueOf(convertElements(array, SPARSEC_DTYPE_F32, "a.npy")), SPARSEC_DTYPE_F32), expected);
  EXPECT_EQ(widen(valueOf(convertElements(array, SPARSEC_DTYPE_F16, "a.npy")), SPARSEC_DTYPE_F16), expected);
  std::vector<double> rounded = expected;
  rounded[4] = 65536.0; // 65504 has 11 significant bits, bf16 has 8
  EXPECT_EQ(widen(valueOf(convertElements(array, SPARSEC_DTYPE_BF16, "a.npy")), SPARSEC_DTYPE_BF16), rounded);
}

INSTANTIATE_TEST_SUITE_P(Files, FloatFileTest, Values("float16.npy", "float32.npy", "float64.npy", "version2.npy"));

TEST(NumpyTest, Uint16IsTheBitsOfBf16) {
  std::string file = makeFile("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", "\x80\x3f\x20\xc0");
  NumpyArray array = valueOf(readNumpy(file, "a.npy"));
  EXPECT_EQ(widen(valueOf(convertElements(array, SPARSEC_DTYPE_BF16, "a.npy")), SPARSEC_DTYPE_BF16),
            (std::vector<double>{1.0, -2.5}));
  EXPECT_EQ(messageOf(convertElements(array, SPARSEC_DTYPE_F16, "a.npy")),
            "a.npy: expects float16, float32 or float64 elements, but got uint16");
}

TEST(NumpyTest, ReadsRank0AndEmptyArrays) {
  std::string scalar = corpusFile("numpy/rank0.npy");
  NumpyArray array = valueOf(readNumpy(scalar, "a.npy"));
  EXPECT_TRUE(array.shape.empty());
  EXPECT_EQ(widen(valueOf(convertElements(array, SPARSEC_DTYPE_F32, "a.npy")), SPARSEC_DTYPE_F32),
            std::vector<double>{2.5});
  std::string empty = corpusFile("numpy/empty.npy");
  array = valueOf(readNumpy(empty, "a.npy"));
  EXPECT_EQ(array.shape, (std::vector<int64_t>{0, 5}));
  EXPECT_TRUE(valueOf(convertElements(array, SPARSEC_DTYPE_BF16, "a.npy")).empty());
}

TEST(NumpyTest, ReadsIntegers) {
  std::string file = makeFile("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
                              std::string("\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\x7f\0\0\0\0", 16));
  EXPECT_EQ(valueOf(convertIntegers(valueOf(readNumpy(file, "a.npy")), "a.npy")),
            (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
  file = makeFile("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}",
                  std::string("\xff\xff\xff\x7f\xff\xff\xff\xff", 8));
  EXPECT_EQ(messageOf(convertIntegers(valueOf(readNumpy(file, "a.npy")), "a.npy")),
            "a.npy: expects integers in -2147483648 to 2147483647, but element 0 is -2147483649");
}

TEST(NumpyTest, ReadsIntegersOfAByte) {
  std::string file = makeFile("{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", std::string("\x80\x7f\0", 3));
  EXPECT_EQ(valueOf(convertIntegers(valueOf(readNumpy(file, "a.npy")), "a.npy")), (std::vector<int32_t>{-128, 127, 0}));
  file = makeFile("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", std::string("\1\0", 2));
  EXPECT_EQ(valueOf(convertIntegers(valueOf(readNumpy(file, "a.npy")), "a.npy")), (std::vector<int32_t>{1, 0}));
}

TEST(NumpyTest, ReadsIndices) {
  std::string file = corpusFile("numpy/int32.npy");
  NumpyArray array = valueOf(readNumpy(file, "a.npy"));
  EXPECT_EQ(messageOf(convertIndices(array, "a.npy")),
            "a.npy: expects integers in 0 to 2147483647, but element 1 is -2");
  file = makeFile("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
                  std::string("\x07\0\0\0\0\0\0\0\0\0\0\x80\0\0\0\0", 16));
  EXPECT_EQ(messageOf(convertIndices(valueOf(readNumpy(file, "a.npy")), "a.npy")),
            "a.npy: expects integers in 0 to 2147483647, but element 1 is 2147483648");
  file = makeFile("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", std::string("\x07\0\0\0\0\1\0\0", 8));
  EXPECT_EQ(valueOf(convertIndices(valueOf(readNumpy(file, "a.npy")), "a.npy")), (std::vector<int32_t>{7, 256}));
  file = corpusFile("numpy/float32.npy");
  EXPECT_EQ(messageOf(convertIndices(valueOf(readNumpy(file, "a.npy")), "a.npy")),
            "a.npy: expects int32, int64, int8 or bool elements, but got float32");
}

TEST(NumpyTest, RefusesElementTypes) {
  std::string file = corpusFile("numpy/int32.npy");
  NumpyArray array = valueOf(readNumpy(file, "a.npy"));
  EXPECT_EQ(messageOf(convertElements(array, SPARSEC_DTYPE_BF16, "a.npy")),
            "a.npy: expects float16, float32 or float64 elements, or uint16 with the bits of bf16, but got int32");
  EXPECT_EQ(messageOf(convertElements(array, SPARSEC_DTYPE_F8E5M2, "a.npy")),
            "a.npy: expects float16, float32 or float64 elements, or uint8 with the bits of fp8, but got int32");
  EXPECT_EQ(messageOf(convertElements(array, SPARSEC_DTYPE_I32, "a.npy")),
            "a.npy: expects an argument of a floating-point type");
}

struct BadFile {
  std::string bytes;
  const char *message;
};
class BadNumpyTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadNumpyTest, IsRefused) { EXPECT_EQ(messageOf(readNumpy(GetParam().bytes, "a.npy")), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Prefixes, BadNumpyTest,
    Values(BadFile{"PK", "a.npy: expects a NumPy array (.npy), but the file starts with 'PK'"},
           BadFile{"\x93NUMPY", "a.npy: expects a NumPy array (.npy), but the file starts with '\\x93NUMPY'"},
           BadFile{"\x93NUMPY\x04\x01....", "a.npy: expects .npy format version 1, 2 or 3, but got 4"},
           BadFile{std::string("\x93NUMPY\x02\x00..", 10), "a.npy: expects a header, but the file ends after 10 bytes"},
           BadFile{std::string("\x93NUMPY\x01\x00\xff\xff{}", 12),
                   "a.npy: expects a header of 65535 bytes, but only 2 are left"}));

INSTANTIATE_TEST_SUITE_P(
    Headers, BadNumpyTest,
    Values(BadFile{makeFile("x"), "a.npy: expects '{' in the header, but got 'x\\x0a'"},
           BadFile{makeFile("{descr"), "a.npy: expects a string in the header, but got 'descr\\x0a'"},
           BadFile{makeFile("{'descr"), "a.npy: expects a string in the header, but got ''descr\\x0a'"},
           BadFile{makeFile("{'descr' '<f4'"), "a.npy: expects ':' in the header, but got ''<f4'\\x0a'"},
           BadFile{makeFile("{'descr': '<f4' 'x'"), "a.npy: expects ',' or '}' in the header, but got ''x'\\x0a'"},
           BadFile{makeFile("{'descr': '<f4'} x"), "a.npy: expects nothing more in the header, but got ' x\\x0a'"},
           BadFile{makeFile("{'descr': '<f4'}"),
                   "a.npy: expects the keys 'descr', 'fortran_order' and 'shape' in the header"},
           BadFile{makeFile("{'other': 1}"),
                   "a.npy: expects the keys 'descr', 'fortran_order' and 'shape', but got 'other'"},
           BadFile{makeFile("{'fortran_order': 1}"), "a.npy: expects True or False in the header, but got '1}\\x0a'"},
           BadFile{makeFile("{'descr': '<c8'}"), "a.npy: expects elements that are numbers, but got type '<c8'"},
           BadFile{makeFile("{'descr': '<f0'}"), "a.npy: expects elements that are numbers, but got type '<f0'"},
           BadFile{makeFile("{'descr': ''}"), "a.npy: expects elements that are numbers, but got type ''"},
           BadFile{makeFile("{'shape': 3}"), "a.npy: expects '(' in the header, but got '3}\\x0a'"},
           BadFile{makeFile("{'shape': (-3,)}"), "a.npy: expects a size in the header, but got '-3,)}\\x0a'"},
           BadFile{makeFile("{'shape': (3 4)}"), "a.npy: expects ',' or ')' in the header, but got '4)}\\x0a'"},
           BadFile{makeFile("{'shape': (1, 1, 1, 1, 1, 1)}"), "a.npy: expects at most 5 dimensions, but got more"}));

INSTANTIATE_TEST_SUITE_P(
    Elements, BadNumpyTest,
    Values(BadFile{makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "12345678"),
                   "a.npy: expects 12 bytes of elements for shape (3), but got 8"},
           BadFile{makeFile("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345678"),
                   "a.npy: expects 4 bytes of elements for shape (1), but got 8"},
           BadFile{makeFile("{'descr': '<f8', 'fortran_order': False, 'shape': (2147483648, 0)}"),
                   "a.npy: expects sizes of at most 2147483647, but got an array of shape (2147483648, 0)"},
           BadFile{makeFile("{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2147483647)}"),
                   "a.npy: expects sizes of at most 2147483647, but got an array of shape (2147483647, 2147483647, "
                   "2147483647)"}));

TEST(NumpyTest, RefusesWhatNumpyWritesInOtherOrders) {
  EXPECT_EQ(messageOf(readNumpy(corpusFile("numpy/big_endian.npy"), "a.npy")),
            "a.npy: expects little-endian elements, but got type '>f4'");
  EXPECT_EQ(messageOf(readNumpy(corpusFile("numpy/fortran.npy"), "a.npy")),
            "a.npy: expects an array in C order, but got Fortran order (numpy.ascontiguousarray converts)");
  EXPECT_EQ(messageOf(readNumpy(corpusFile("numpy/structured.npy"), "a.npy")),
            "a.npy: expects numbers as elements, but got a structured type");
}

TEST(NumpyTest, RoundTrips) {
  for (sparsec_dtype_t dtype : {SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F16, SPARSEC_DTYPE_BF16}) {
    std::string file = corpusFile("numpy/float64.npy");
    std::vector<std::byte> elements = valueOf(convertElements(valueOf(readNumpy(file, "a.npy")), dtype, "a.npy"));
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{6}, {3, 2}}) {
      std::string written = valueOf(writeNumpy(elements.data(), dtype, shape));
      NumpyArray array = valueOf(readNumpy(written, "b.npy"));
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(array.typeName(), dtype == SPARSEC_DTYPE_F16 ? "float16" : "float32");
      EXPECT_EQ((array.data.data() - written.data()) % 64, 0); // as NumPy aligns
      EXPECT_EQ(valueOf(convertElements(array, dtype, "b.npy")), elements);
    }
  }
}

} // namespace
