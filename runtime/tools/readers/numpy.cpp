// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "numpy.h"

#include "reference/float_format.h"
#include "reference/numbers.h"

#include "llvm/Support/Endian.h"

#include <charconv>
#include <cstring>

namespace sparsec::readers {

static constexpr llvm::StringLiteral magic = "\x93NUMPY";

int64_t NumpyArray::elementCount() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string NumpyArray::typeName() const {
  switch (kind) {
  case 'f':
    return fmt::format("float{}", 8 * width);
  case 'i':
    return fmt::format("int{}", 8 * width);
  case 'u':
    return fmt::format("uint{}", 8 * width);
  case 'b':
    return "bool";
  default:
    return fmt::format("bytes of length {}", width);
  }
}

namespace {
/// The header of a .npy file: a Python dictionary with the keys descr, fortran_order and shape.
class HeaderParser {
public:
  HeaderParser(llvm::StringRef text, llvm::StringRef name) : rest(text), name(name) {}

  llvm::Error parse(NumpyArray &array) {
    if (!consume("{"))
      return unexpected("'{'");
    while (!consume("}")) {
      llvm::Expected<llvm::StringRef> key = parseString();
      if (!key)
        return key.takeError();
      if (!consume(":"))
        return unexpected("':'");
      if (llvm::Error error = parseValue(*key, array))
        return error;
      if (!consume(",") && !rest.ltrim().starts_with("}"))
        return unexpected("',' or '}'");
    }
    if (!rest.trim().empty())
      return unexpected("nothing more");
    if (!hasType || !hasOrder || !hasShape)
      return failure("{}: expects the keys 'descr', 'fortran_order' and 'shape' in the header", view(name));
    return llvm::Error::success();
  }

private:
  llvm::Error parseValue(llvm::StringRef key, NumpyArray &array) {
    if (key == "descr")
      return parseType(array);
    if (key == "fortran_order") {
      hasOrder = true;
      if (consume("False"))
        return llvm::Error::success();
      if (consume("True"))
        return failure("{}: expects an array in C order, but got Fortran order (numpy.ascontiguousarray converts)",
                       view(name));
      return unexpected("True or False");
    }
    if (key == "shape")
      return parseShape(array);
    return failure("{}: expects the keys 'descr', 'fortran_order' and 'shape', but got {}", view(name), quote(key));
  }

  /// '<f4': byte order, kind, width in bytes.
  llvm::Error parseType(NumpyArray &array) {
    if (rest.ltrim().starts_with("["))
      return failure("{}: expects numbers as elements, but got a structured type", view(name));
    llvm::Expected<llvm::StringRef> type = parseString();
    if (!type)
      return type.takeError();
    hasType = true;
    llvm::StringRef text = *type;
    if (text.starts_with(">"))
      return failure("{}: expects little-endian elements, but got type {}", view(name), quote(*type));
    if (!text.empty() && llvm::StringRef("<|=").contains(text.front()))
      text = text.drop_front();
    if (text.size() < 2 || !llvm::StringRef("fiubS").contains(text.front()) ||
        text.drop_front().getAsInteger(10, array.width) || array.width < 1 || array.width > 16)
      return failure("{}: expects elements that are numbers, but got type {}", view(name), quote(*type));
    array.kind = text.front();
    return llvm::Error::success();
  }

  /// (3, 4), (3,) or ().
  llvm::Error parseShape(NumpyArray &array) {
    hasShape = true;
    array.shape.clear();
    if (!consume("("))
      return unexpected("'('");
    while (!consume(")")) {
      rest = rest.ltrim();
      int64_t size = 0;
      auto [end, status] = std::from_chars(rest.begin(), rest.end(), size);
      if (status != std::errc() || size < 0)
        return unexpected("a size");
      rest = rest.drop_front(end - rest.begin());
      array.shape.push_back(size);
      if (array.shape.size() > SPARSEC_MAX_RANK)
        return failure("{}: expects at most {} dimensions, but got more", view(name), SPARSEC_MAX_RANK);
      if (!consume(",") && !rest.ltrim().starts_with(")"))
        return unexpected("',' or ')'");
    }
    return llvm::Error::success();
  }

  llvm::Expected<llvm::StringRef> parseString() {
    rest = rest.ltrim();
    char delimiter = rest.empty() ? '\0' : rest.front();
    size_t end = delimiter == '\'' || delimiter == '"' ? rest.find(delimiter, 1) : llvm::StringRef::npos;
    if (end == llvm::StringRef::npos)
      return unexpected("a string");
    llvm::StringRef text = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return text;
  }

  bool consume(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  llvm::Error unexpected(llvm::StringRef what) const {
    return failure("{}: expects {} in the header, but got {}", view(name), view(what), quote(rest));
  }

  llvm::StringRef rest, name;
  bool hasType = false, hasOrder = false, hasShape = false;
};
} // namespace

llvm::Expected<NumpyArray> readNumpy(llvm::StringRef bytes, llvm::StringRef name) {
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + 2)
    return failure("{}: expects a NumPy array (.npy), but the file starts with {}", view(name),
                   quote(bytes.take_front(magic.size())));
  unsigned major = static_cast<unsigned char>(bytes[magic.size()]);
  if (major < 1 || major > 3)
    return failure("{}: expects .npy format version 1, 2 or 3, but got {}", view(name), major);
  // Version 1 counts the header in 2 bytes, the others in 4.
  size_t lengthBytes = major == 1 ? 2 : 4;
  llvm::StringRef rest = bytes.drop_front(magic.size() + 2);
  if (rest.size() < lengthBytes)
    return failure("{}: expects a header, but the file ends after {} bytes", view(name), bytes.size());
  uint64_t length =
      major == 1 ? llvm::support::endian::read16le(rest.data()) : llvm::support::endian::read32le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (length > rest.size())
    return failure("{}: expects a header of {} bytes, but only {} are left", view(name), length, rest.size());

  NumpyArray array = {};
  if (llvm::Error error = HeaderParser(rest.take_front(length), name).parse(array))
    return error;
  array.data = rest.drop_front(length);
  // With a size of 0 the other sizes may be anything that fits a 32-bit size.
  uint64_t expected = uint64_t(array.width);
  for (int64_t size : array.shape) {
    std::optional<uint64_t> product = multiply(expected, uint64_t(size));
    if (!product || size > maxSize)
      return failure("{}: expects sizes of at most {}, but got an array of shape ({})", view(name), maxSize,
                     fmt::join(array.shape, ", "));
    expected = *product;
  }
  if (expected != array.data.size())
    return failure("{}: expects {} bytes of elements for shape ({}), but got {}", view(name), expected,
                   fmt::join(array.shape, ", "), array.data.size());
  return array;
}

/// An element of a float16, float32 or float64 array.
static double readReal(const NumpyArray &array, size_t index) {
  if (array.width == 8)
    return llvm::bit_cast<double>(llvm::support::endian::read64le(array.data.data() + 8 * index));
  return runtime::readElement(array.data.data(), array.width == 2 ? SPARSEC_DTYPE_F16 : SPARSEC_DTYPE_F32,
                              int64_t(index));
}

llvm::Expected<std::vector<std::byte>> convertElements(const NumpyArray &array, sparsec_dtype_t dtype,
                                                       llvm::StringRef name) {
  std::optional<runtime::FloatFormat> format = runtime::getFloatFormat(dtype);
  if (!format)
    return failure("{}: expects an argument of a floating-point type", view(name));
  const size_t count = array.data.size() / array.width;
  std::vector<std::byte> elements(count * format->bytes);
  // NumPy has neither bf16 nor fp8.
  const char *bits = dtype == SPARSEC_DTYPE_BF16 ? ", or uint16 with the bits of bf16"
                     : format->bytes == 1        ? ", or uint8 with the bits of fp8"
                                                 : "";
  if (*bits && array.kind == 'u' && array.width == format->bytes) {
    if (count != 0)
      std::memcpy(elements.data(), array.data.data(), elements.size());
    return elements;
  }
  if (array.kind != 'f' || (array.width != 2 && array.width != 4 && array.width != 8))
    return failure("{}: expects float16, float32 or float64 elements{}, but got {}", view(name), bits,
                   array.typeName());
  for (size_t index = 0; index < count; ++index)
    runtime::storeElement(elements.data(), index, readReal(array, index), *format);
  return elements;
}

static llvm::Expected<std::vector<int32_t>> convertFrom(int64_t least, const NumpyArray &array, llvm::StringRef name) {
  const bool isByte = (array.kind == 'i' || array.kind == 'b') && array.width == 1;
  if (!isByte && (array.kind != 'i' || (array.width != 4 && array.width != 8)))
    return failure("{}: expects int32, int64, int8 or bool elements, but got {}", view(name), array.typeName());
  std::vector<int32_t> integers(array.data.size() / array.width);
  for (size_t index = 0; index < integers.size(); ++index) {
    const char *element = array.data.data() + array.width * index;
    int64_t value = isByte             ? int8_t(*element)
                    : array.width == 4 ? int32_t(llvm::support::endian::read32le(element))
                                       : int64_t(llvm::support::endian::read64le(element));
    if (value < least || value > maxSize)
      return failure("{}: expects integers in {} to {}, but element {} is {}", view(name), least, maxSize, index,
                     value);
    integers[index] = int32_t(value);
  }
  return integers;
}

llvm::Expected<std::vector<int32_t>> convertIntegers(const NumpyArray &array, llvm::StringRef name) {
  return convertFrom(INT32_MIN, array, name);
}

llvm::Expected<std::vector<int32_t>> convertIndices(const NumpyArray &array, llvm::StringRef name) {
  return convertFrom(0, array, name);
}

llvm::Expected<std::string> writeNumpy(const void *elements, sparsec_dtype_t dtype, llvm::ArrayRef<int64_t> shape) {
  if (!runtime::getFloatFormat(dtype))
    return failure("expects a result of a floating-point type");
  size_t count = 1;
  for (int64_t size : shape)
    count *= size_t(size);
  runtime::FloatFormat stored =
      *runtime::getFloatFormat(dtype == SPARSEC_DTYPE_F16 ? SPARSEC_DTYPE_F16 : SPARSEC_DTYPE_F32);
  std::string header = fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}{}), }}", stored.bytes,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The elements start at a multiple of 64 bytes, and the header ends with a line feed.
  constexpr size_t prefix = 10, alignment = 64;
  header.append(alignment - 1 - (prefix + header.size()) % alignment, ' ');
  header.push_back('\n');
  std::string bytes = magic.str();
  bytes += {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};
  bytes += header;
  size_t start = bytes.size();
  bytes.resize(start + count * stored.bytes);
  for (size_t index = 0; index < count; ++index)
    runtime::storeElement(bytes.data() + start, index, runtime::readElement(elements, dtype, int64_t(index)), stored);
  return bytes;
}

} // namespace sparsec::readers
