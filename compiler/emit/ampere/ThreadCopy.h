// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec.copy by all threads of a CTA, or by the warp of a slice. They copy a vector of 16 bytes at a time: by
// cp.async where the operands are aligned, element by element where they are not. A copy whose elements all exist, as
// nearly all do, skips the checks.

#ifndef SPARSEC_EMIT_AMPERE_THREAD_COPY_H
#define SPARSEC_EMIT_AMPERE_THREAD_COPY_H

#include "ProgramEmitter.h"
#include "ampere/BufferLayout.h"

namespace sparsec {

class ThreadCopy {
public:
  ThreadCopy(ProgramEmitter &program, CopyOp op);
  virtual ~ThreadCopy() = default;
  void emit();

protected:
  /// A position in a dimension of the buffer: lane + constant, where 0 <= lane < range. The split lets the part be
  /// known at compile time where all lanes agree.
  struct Position {
    mlir::Value lane;
    int64_t constant, range;
  };
  /// A position in a dimension: the part that holds it, and its offset from the begin of that part.
  struct InPart {
    mlir::Value part, offset;
  };
  /// A vector in memory: `valid` of its elements exist, from base[index] on (i64). A readable one can be read as a
  /// whole even where that is 0.
  struct Source {
    mlir::Value base, index, valid;
    bool isReadable = false;
  };
  /// The way in which the threads cover the buffer: in pass i a thread copies vector `vector` of row `row + i * rows`,
  /// and so it goes for each of `parts` parts of `vectors` vectors of the rows.
  struct Passes {
    int64_t count, rows, vectors, parts;
    mlir::Value row, vector;
  };

  /// i1, or null where all elements of the copy always exist.
  virtual mlir::Value isWhole() = 0;
  /// The addresses that a thread reads in a copy whose elements all exist, one for each pass. They share their
  /// instruction slots with the products, so that a vector should cost one cp.async and one addition.
  virtual KernelBuilder::Values wholeSources(const Passes &passes) = 0;
  /// Whether the parts of a row follow one another in memory, whatever their size.
  virtual bool hasContiguousRows() { return false; }
  virtual Source source(const Position &row, const Position &column) = 0;
  /// Whether other copies of the multiprocessor will soon read the same memory.
  virtual bool staysInL1() { return false; }

  InPart locate(const Position &position, int64_t extent, int64_t parts);
  mlir::Value maximum(mlir::ValueRange all);
  /// Rows of the buffer that the copy fills.
  int64_t rows() { return rowCount; }
  mlir::Value argument(ParameterKind kind, int64_t index = 0) { return context.parameters.get(kind, number, index); }

  ProgramContext &context;
  KernelBuilder &b;
  ProgramValues &values;
  CopyOp op;
  Ring &ring;
  BufferLayout layout;
  mlir::Value slot;
  int64_t number; // of the kernel argument
  mlir::Type element;
  int64_t vectorElements;

private:
  bool goesByElement();
  Passes passes();
  int64_t vectorsOfPart();
  bool hasWholePasses();
  void emitWhole();
  void emitChecked();
  void copyVector(mlir::Value destination, const Source &source);
  void copyElements(mlir::Value destination, const Source &source);

  mlir::Value thread; // among those that share the copy
  int64_t threads, firstRow, rowCount;
};

/// Makes the copy of an op: of blocks of a matrix, or of a tensor.
std::unique_ptr<ThreadCopy> makeThreadCopy(ProgramEmitter &program, CopyOp op);

} // namespace sparsec

#endif // SPARSEC_EMIT_AMPERE_THREAD_COPY_H
