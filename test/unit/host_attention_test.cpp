// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// That the machine code of attention on the host (HostQueries.h) computes what SPEC.md says: against plain loops in
// double that know nothing of blocks' order, chunks or running maxima, over all options and their combinations.

#include "host_attention_cases.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace sparsec::test;

namespace {

/// A tensor with room around its rows, filled with NaN (f16, f32) or numbers that are too large to go unnoticed.
struct Tensor {
  Tensor(std::vector<int64_t> sizes, std::vector<int64_t> strides, const Format &format)
      : format(format), sizes(std::move(sizes)), strides(std::move(strides)) {
    int64_t last = 0;
    for (size_t d = 0; d < this->sizes.size(); ++d)
      last += this->strides[d] * std::max<int64_t>(this->sizes[d] - 1, 0);
    bytes.assign((last + 1) * format.bytes, 0x7f);
  }

  double at(const std::vector<int64_t> &indices) const {
    uint32_t bits = 0;
    std::memcpy(&bits, &bytes[offset(indices)], format.bytes);
    return decode(bits, format);
  }
  void set(const std::vector<int64_t> &indices, double value) {
    uint32_t bits = encode(round(value, format), format);
    std::memcpy(&bytes[offset(indices)], &bits, format.bytes);
  }
  size_t offset(const std::vector<int64_t> &indices) const {
    return std::inner_product(indices.begin(), indices.end(), strides.begin(), int64_t(0)) * format.bytes;
  }
  /// All elements, one row after the other.
  std::vector<double> values() const {
    std::vector<double> all;
    forEach([&](const std::vector<int64_t> &indices) { all.push_back(at(indices)); });
    return all;
  }
  /// Calls `visit` with the indices of every element.
  template <typename Visit> void forEach(Visit visit) const {
    int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int64_t> indices(sizes.size());
      for (int64_t d = sizes.size(), rest = i; d-- > 0; rest /= sizes[d])
        indices[d] = rest % sizes[d];
      visit(indices);
    }
  }

  Format format;
  std::vector<int64_t> sizes, strides;
  std::vector<unsigned char> bytes;
};

/// A copy of an array that ends where memory ends: who reads beyond it faults.
class GuardedArray {
public:
  explicit GuardedArray(const std::vector<int32_t> &values) {
    size_t page = sysconf(_SC_PAGESIZE), bytes = values.size() * sizeof(int32_t);
    size_t readable = (bytes + page - 1) / page * page;
    size = readable + page;
    memory = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(mprotect(memory + readable, page, PROT_NONE), 0);
    data = memory + readable - bytes;
    std::copy(values.begin(), values.end(), reinterpret_cast<int32_t *>(data));
  }
  GuardedArray(GuardedArray &&other) noexcept : memory(other.memory), data(other.data), size(other.size) {
    other.memory = nullptr;
  }
  ~GuardedArray() {
    if (memory)
      munmap(memory, size);
  }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(data); }

private:
  char *memory, *data;
  size_t size;
};

class Attention : public testing::TestWithParam<AttentionCase> {
protected:
  const AttentionCase &p = GetParam();
  int blockRows = (p.queries + p.queryBlock - 1) / p.queryBlock;
  int blockColumns = (p.keys + p.keyBlock - 1) / p.keyBlock;
  int listBatches = p.oneListForBatches ? 1 : p.batches, listHeads = p.oneListForHeads ? 1 : p.heads;
  Tensor q = tensor4(p.heads, p.queries, p.headDimension, p.input),
         k = tensor4(p.keyHeads, p.keys, p.headDimension, p.input),
         v = tensor4(p.keyHeads, p.keys, p.valueDimension, p.input),
         o = tensor4(p.heads, p.queries, p.valueDimension, p.output);
  Tensor lse{{p.batches, p.heads, p.queries}, {p.heads * (p.queries + 3), p.queries + 3, 1}, f32};
  // The operands that the regions read. Documents are numbers by batch and position, of i8 and i64.
  Tensor slopes{{p.heads}, {1}, f32}, cap{{}, {}, f32};
  Tensor bias{{p.queries, p.keys}, {p.keys + 5, 1}, f16};
  std::vector<int8_t> queryDocuments;
  std::vector<int64_t> keyDocuments;
  std::vector<double> queries, keys, values; // Q, K and V
  std::vector<float> sinks;                  // by head
  float scale = 0.3f;
  // By list: which blocks, in this order; and what the kernel gets of it.
  std::vector<std::vector<int32_t>> partial, full;
  std::vector<GuardedArray> starts, indices; // of partial, of full
  int64_t capacity = 0;

  /// B x heads x sequence x width, in the order of the case, with gaps.
  Tensor tensor4(int64_t heads, int64_t sequence, int64_t width, const Format &format) {
    int64_t row = width + 8;
    if (p.batchSequenceHead)
      return Tensor({p.batches, heads, sequence, width}, {(sequence * heads + 1) * row, row, heads * row, 1}, format);
    return Tensor({p.batches, heads, sequence, width}, {(sequence + 1) * heads * row, sequence * row, row, 1}, format);
  }

  //===--------------------------------------------------------------------===//
  // The kernel
  //===--------------------------------------------------------------------===//

  std::string scoreRegion() const {
    std::string head = "score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, " + extraArguments("%e") + ") {\n";
    switch (p.score) {
    case None:
      return "";
    case Alibi:
      return head + R"mlir(
        %slope = sparsec.element %e0[%h] : tensor<?xf32>
        %d = arith.subi %j, %i : i32
        %distance = arith.sitofp %d : i32 to f32
        %0 = math.fma %slope, %distance, %s : f32
        sparsec.yield %0 : f32
      })mlir";
    case Softcap:
      return head + R"mlir(
        %cap = sparsec.element %e1[] : tensor<f32>
        %0 = arith.divf %s, %cap : f32
        %1 = math.tanh %0 : f32
        %2 = arith.mulf %1, %cap : f32
        sparsec.yield %2 : f32
      })mlir";
    case Bias:
      return head + R"mlir(
        %x = sparsec.element %e2[%i, %j] : tensor<?x?xf16>
        %x32 = arith.extf %x : f16 to f32
        %0 = arith.addf %s, %x32 : f32
        sparsec.yield %0 : f32
      })mlir";
    case Hide: // batch 0 from the second query on, all of what is left of key 70
      return head + R"mlir(
        %zero = arith.constant 0 : i32
        %limit = arith.constant 70 : i32
        %minus = arith.constant 0xFF800000 : f32
        %late = arith.cmpi sgt, %i, %zero : i32
        %first = arith.cmpi eq, %b, %zero : i32
        %near = arith.cmpi slt, %j, %limit : i32
        %0 = arith.andi %late, %first : i1
        %1 = arith.andi %0, %near : i1
        %2 = arith.select %1, %minus, %s : f32
        sparsec.yield %2 : f32
      })mlir";
    }
    return "";
  }

  double scoreOf(double s, int b, int h, int i, int j) const {
    switch (p.score) {
    case None:
      return s;
    case Alibi:
      return s + slopes.at({h}) * (j - i);
    case Softcap:
      return cap.at({}) * std::tanh(s / cap.at({}));
    case Bias:
      return s + bias.at({i, j});
    case Hide:
      return b == 0 && i > 0 && j < 70 ? -INFINITY : s;
    }
    return s;
  }

  /// The same document, and not every third key after the query.
  std::string maskRegion() const {
    if (!p.mask)
      return "";
    return "mask (%b: i32, %h: i32, %i: i32, %j: i32, " + extraArguments("%e") + R"mlir() {
      %three = arith.constant 3 : i32
      %zero = arith.constant 0 : i32
      %dq = sparsec.element %e3[%b, %i] : tensor<?x?xi8>
      %dk = sparsec.element %e4[%b, %j] : tensor<?x?xi64>
      %same = arith.cmpi eq, %dq, %dk : i32
      %d = arith.subi %j, %i : i32
      %rest = arith.remsi %d, %three : i32
      %other = arith.cmpi ne, %rest, %zero : i32
      %before = arith.cmpi sle, %d, %zero : i32
      %0 = arith.ori %other, %before : i1
      %1 = arith.andi %same, %0 : i1
      sparsec.yield %1 : i1
    })mlir";
  }

  bool maskOf(int b, int i, int j) const {
    bool isSame = queryDocuments[b * p.queries + i] == int32_t(keyDocuments[b * p.keys + j]);
    return isSame && (j <= i || (j - i) % 3 != 0);
  }

  bool hasRegions() const { return p.mask || p.score != None; }
  /// The extra operands: of the kernel with name %t, of a region with name %e.
  static std::string extraArguments(const std::string &name) {
    const char *types[] = {"?xf32", "f32", "?x?xf16", "?x?xi8", "?x?xi64"};
    std::string list;
    for (int i = 0; i < 5; ++i)
      list += (i ? ", " : "") + name + std::to_string(i) + ": tensor<" + types[i] + ">";
    return list;
  }

  std::string text() const {
    auto tensorType = [](int width, const Format &format) {
      return "tensor<?x?x?x" + std::to_string(width) + "x" + format.name + ">";
    };
    std::string in = tensorType(p.headDimension, p.input), inOfV = tensorType(p.valueDimension, p.input);
    std::string out = tensorType(p.valueDimension, p.output), options, types = in + ", " + in + ", " + inOfV;
    std::string arguments = "%q: " + in + ", %k: " + in + ", %v: " + inOfV;
    if (p.lists != Dense) {
      std::string pattern = "!sparsec.pattern<" + std::to_string(p.queryBlock) + "x" + std::to_string(p.keyBlock) + ">";
      arguments += ", %p: " + pattern;
      types += ", " + pattern;
      options += " pattern(%p)";
    }
    if (p.scale) {
      arguments += ", %c: f32";
      types += ", f32";
      options += " scale(%c)";
    }
    if (p.sinks) {
      arguments += ", %sinks: tensor<?xf32>";
      types += ", tensor<?xf32>";
      options += " sinks(%sinks)";
    }
    if (hasRegions()) {
      arguments += ", " + extraArguments("%t");
      types += ", tensor<?xf32>, tensor<f32>, tensor<?x?xf16>, tensor<?x?xi8>, tensor<?x?xi64>";
      options += " extras(%t0, %t1, %t2, %t3, %t4)";
    }
    if (p.causal)
      options += " causal";
    if (p.left != -1 || p.right != -1)
      options += " window = [" + std::to_string(p.left) + ", " + std::to_string(p.right) + "]";
    std::string results = "o: " + out, resultTypes = out, names = "%o";
    if (p.lse) {
      results += ", lse: tensor<?x?x?xf32>";
      resultTypes += ", tensor<?x?x?xf32>";
      names += ", %lse";
    }
    return "sparsec.kernel @attention(" + arguments + ") -> (" + results + ") {\n" + names +
           " = sparsec.attention %q, %k, %v" + options + " " + scoreRegion() + maskRegion() + " : (" + types +
           ") -> (" + resultTypes + ")\nsparsec.return " + names + " : " + resultTypes + "\n}\n";
  }

  //===--------------------------------------------------------------------===//
  // The data
  //===--------------------------------------------------------------------===//

  void SetUp() override {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    auto fill = [&](Tensor &tensor, double amplitude) {
      tensor.forEach([&](const std::vector<int64_t> &at) {
        double value = amplitude * normal(random);
        tensor.set(at, std::abs(value) < 1e-3 ? 0 : value); // f16 has no smaller normal numbers
      });
    };
    fill(q, p.course == Normal ? p.amplitude : 1);
    for (Tensor *tensor : {&k, &v, &bias})
      fill(*tensor, 1);
    if (p.course != Normal)
      fillCourse();
    cap.set({}, 2);
    for (int h = 0; h < p.heads; ++h) {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      slopes.set({h}, std::exp2(-h - 2));
      // Among the scores, none, more than all scores, and next to nothing.
      sinks.push_back(std::array{1.5f, -infinity, 300.0f, -300.0f}[h % 4]);
    }
    for (int b = 0; b < p.batches; ++b) {
      for (int i = 0; i < p.queries; ++i)
        queryDocuments.push_back(int8_t((i + 20 * b) / 50 - 2));
      for (int j = 0; j < p.keys; ++j)
        keyDocuments.push_back((int64_t(j) << 32) + j / 50 - 2); // only the low half counts
    }
    makeLists(random);
    queries = q.values();
    keys = k.values();
    values = v.values();
  }

  /// Element 0 of Q and K, on top of which the others make small scores.
  void fillCourse() {
    q.forEach([&](std::vector<int64_t> at) {
      at[3] = 0;
      q.set(at, std::sqrt(p.headDimension) * (at[2] % 2 ? -1 : 1));
    });
    k.forEach([&](std::vector<int64_t> at) {
      at[3] = 0;
      k.set(at, p.amplitude * (p.course == Spikes ? at[2] % 61 == 60 : 2.0 * at[2] / (p.keys - 1) - 1));
    });
  }

  /// Random lists in random order. List 1 is empty, list 2 has partial blocks only.
  void makeLists(std::mt19937 &random) {
    int count = listBatches * listHeads * blockRows;
    partial.resize(count);
    full.resize(count);
    for (int list = 0; list < count; ++list) {
      std::vector<int32_t> blocks(blockColumns);
      std::iota(blocks.begin(), blocks.end(), 0);
      std::shuffle(blocks.begin(), blocks.end(), random);
      for (int32_t block : blocks) {
        int kind = random() % 3;
        if (list == 1 || kind == 0)
          continue;
        (kind == 1 || list == 2 || p.noFullLists ? partial : full)[list].push_back(block);
      }
    }
    capacity = p.lists == Padded ? blockColumns + 2 : -1;
    encodeLists(partial);
    encodeLists(full);
  }

  void encodeLists(const std::vector<std::vector<int32_t>> &lists) {
    std::vector<int32_t> starts, indices;
    if (p.lists == Index)
      starts.push_back(0);
    for (const std::vector<int32_t> &list : lists) {
      indices.insert(indices.end(), list.begin(), list.end());
      if (p.lists == Padded) {
        indices.resize(indices.size() + capacity - list.size(), 1 << 30); // what must not be read
        starts.push_back(list.size());
      } else {
        starts.push_back(indices.size());
      }
    }
    this->starts.emplace_back(starts);
    this->indices.emplace_back(indices);
  }

  //===--------------------------------------------------------------------===//
  // The definition
  //===--------------------------------------------------------------------===//

  bool isVisible(int b, int h, int i, int j) const {
    int position = i + p.keys - p.queries;
    if (p.causal && j > position)
      return false;
    if ((p.left != -1 && j < position - p.left) || (p.right != -1 && j > position + p.right))
      return false;
    if (p.lists == Dense)
      return !p.mask || maskOf(b, i, j);
    int list = ((p.oneListForBatches ? 0 : b) * listHeads + (p.oneListForHeads ? 0 : h)) * blockRows + i / p.queryBlock;
    auto holds = [&](const std::vector<int32_t> &blocks) {
      return std::find(blocks.begin(), blocks.end(), j / p.keyBlock) != blocks.end();
    };
    return holds(full[list]) || (holds(partial[list]) && (!p.mask || maskOf(b, i, j)));
  }

  /// One query: Dv results, the sizes of the sums behind them, and LSE.
  struct Row {
    std::vector<double> o, magnitude;
    double lse;
  };

  Row exact(int b, int h, int i) const {
    const double *query = &queries[((b * p.heads + h) * p.queries + i) * p.headDimension];
    int64_t firstKey = (b * p.keyHeads + h / (p.heads / p.keyHeads)) * int64_t(p.keys);
    std::vector<double> s(p.keys, -INFINITY);
    for (int j = 0; j < p.keys; ++j) {
      if (!isVisible(b, h, i, j))
        continue;
      double sum = 0;
      for (int d = 0; d < p.headDimension; ++d)
        sum += query[d] * keys[(firstKey + j) * p.headDimension + d];
      s[j] = scoreOf(sum * (p.scale ? double(scale) : 1 / std::sqrt(double(p.headDimension))), b, h, i, j);
    }
    double sink = p.sinks ? double(sinks[h]) : -INFINITY;
    double maximum = s.empty() ? sink : std::max(sink, *std::max_element(s.begin(), s.end()));
    Row row{std::vector<double>(p.valueDimension), std::vector<double>(p.valueDimension), -INFINITY};
    if (maximum == -INFINITY)
      return row;
    double total = std::exp(sink - maximum);
    for (double score : s)
      total += std::exp(score - maximum);
    for (int j = 0; j < p.keys; ++j) {
      double weight = std::exp(s[j] - maximum) / total;
      for (int d = 0; d < p.valueDimension && weight > 0; ++d) {
        double term = weight * values[(firstKey + j) * p.valueDimension + d];
        row.o[d] += term;
        row.magnitude[d] += std::abs(term);
      }
    }
    row.lse = maximum + std::log(total);
    return row;
  }

  //===--------------------------------------------------------------------===//
  // The call
  //===--------------------------------------------------------------------===//

  /// One argument, as far as parameters ask for it.
  struct Argument {
    const void *data;
    std::vector<int64_t> sizes, strides;
  };

  std::vector<Argument> makeArguments() {
    auto of = [](const Tensor &tensor) { return Argument{tensor.bytes.data(), tensor.sizes, tensor.strides}; };
    std::vector<Argument> arguments{of(q), of(k), of(v)};
    if (p.lists != Dense)
      arguments.push_back({});
    if (p.scale)
      arguments.push_back({&scale, {}, {}});
    if (p.sinks)
      arguments.push_back({sinks.data(), {p.heads}, {1}});
    if (hasRegions()) {
      for (const Tensor *tensor : {&slopes, &cap, &bias})
        arguments.push_back(of(*tensor));
      arguments.push_back({queryDocuments.data(), {p.batches, p.queries}, {p.queries, 1}});
      arguments.push_back({keyDocuments.data(), {p.batches, p.keys}, {p.keys, 1}});
    }
    arguments.push_back(of(o));
    arguments.push_back(of(lse));
    return arguments;
  }

  uint64_t patternField(uint32_t field) {
    switch (field) {
    case SPARSEC_FIELD_ENCODING:
      return p.lists == Index ? SPARSEC_PATTERN_INDEX_ARRAYS : SPARSEC_PATTERN_PADDED_LISTS;
    case SPARSEC_FIELD_BATCHES:
      return listBatches;
    case SPARSEC_FIELD_HEADS:
      return listHeads;
    case SPARSEC_FIELD_CAPACITY:
      return capacity;
    case SPARSEC_FIELD_PARTIAL_STARTS:
      return starts[0].address();
    case SPARSEC_FIELD_PARTIAL_INDICES:
      return indices[0].address();
    case SPARSEC_FIELD_FULL_STARTS:
      return p.noFullLists ? 0 : starts[1].address();
    case SPARSEC_FIELD_FULL_INDICES:
      return p.noFullLists ? 0 : indices[1].address();
    }
    ADD_FAILURE() << "pattern field " << field;
    return 0;
  }

  uint64_t slotOf(const sparsec_parameter_info_t &parameter, const std::vector<Argument> &arguments) {
    EXPECT_EQ(parameter.source, uint32_t(SPARSEC_SOURCE_ARGUMENT));
    const Argument &argument = arguments[parameter.index];
    uint64_t slot = 0xaaaaaaaaaaaaaaaa;
    auto setLow = [&](auto value) { std::memcpy(&slot, &value, sizeof(value)); };
    switch (parameter.field) {
    case SPARSEC_FIELD_DATA:
      setLow(argument.data);
      break;
    case SPARSEC_FIELD_SIZE:
      setLow(int32_t(argument.sizes[parameter.dimension]));
      break;
    case SPARSEC_FIELD_STRIDE:
      setLow(argument.strides[parameter.dimension]);
      break;
    case SPARSEC_FIELD_SCALAR:
      setLow(*static_cast<const float *>(argument.data));
      break;
    case SPARSEC_FIELD_ENCODING:
    case SPARSEC_FIELD_BATCHES:
    case SPARSEC_FIELD_HEADS:
      setLow(int32_t(patternField(parameter.field)));
      break;
    default:
      setLow(patternField(parameter.field));
    }
    return slot;
  }

  void run() {
    std::string object = compile(text());
    ASSERT_FALSE(object.empty()) << text();
    std::unique_ptr<llvm::orc::LLJIT> jit = load(object);
    auto *info = llvm::cantFail(jit->lookup(SPARSEC_LAUNCH_INFO_SYMBOL)).toPtr<const sparsec_launch_info_t *>();
    const auto &stage = sparsec::recordsOf<sparsec_stage_info_t>(*info)[0];
    EXPECT_EQ(stage.tile_m, unsigned(p.lists == Dense ? 64 : p.queryBlock));
    std::vector<uint64_t> slots;
    std::vector<Argument> arguments = makeArguments();
    for (const auto &parameter : sparsec::recordsOf<sparsec_parameter_info_t>(*info))
      slots.push_back(slotOf(parameter, arguments));
    auto kernel = llvm::cantFail(jit->lookup(stage.symbol)).toPtr<sparsec_host_kernel_t>();
    int64_t rows = (p.queries + stage.tile_m - 1) / stage.tile_m, tiles = p.batches * p.heads * rows;
    kernel(slots.data(), tiles / 2, tiles); // in two parts, as two threads would
    kernel(slots.data(), 0, tiles / 2);
  }
};

TEST_P(Attention, IsWhatTheDefinitionSays) {
  Tensor expected = o;
  run();
  int emptyRows = 0;
  for (int b = 0; b < p.batches; ++b)
    for (int h = 0; h < p.heads; ++h)
      for (int i = 0; i < p.queries; ++i) {
        Row row = exact(b, h, i);
        emptyRows += row.lse == -INFINITY;
        for (int d = 0; d < p.valueDimension; ++d) {
          double half = std::ldexp(std::abs(row.o[d]), -p.output.fractionBits - 1);
          // Scores have rounding errors of f32 in proportion to their size, and they are in an exponent. Weights below
          // 2^-126, of values that are below 8, may count as 0.
          double allowed = half * 1.01 + 4e-6 * (1 + p.amplitude) * row.magnitude[d] + p.keys * 0x1p-123;
          ASSERT_NEAR(o.at({b, h, i, d}), row.o[d], allowed) << b << ", " << h << ", " << i << ", " << d;
          size_t at = o.offset({b, h, i, d});
          std::copy_n(&o.bytes[at], p.output.bytes, &expected.bytes[at]);
        }
        if (!p.lse)
          continue;
        if (row.lse == -INFINITY)
          ASSERT_EQ(lse.at({b, h, i}), -INFINITY) << b << ", " << h << ", " << i;
        else
          ASSERT_NEAR(lse.at({b, h, i}), row.lse, 4e-6 * (1 + std::abs(row.lse))) << b << ", " << h << ", " << i;
      }
  EXPECT_EQ(o.bytes, expected.bytes) << "what lies between the rows of O";
  bool mayBeEmpty = p.lists != Dense || p.mask || p.score == Hide || p.queries > p.keys;
  EXPECT_TRUE(mayBeEmpty || emptyRows == 0);
}

INSTANTIATE_TEST_SUITE_P(Options, Attention, testing::ValuesIn(attentionCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
