// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec_reference_run and sparsec_reference_lse: what a kernel computes, in double.

#include "arguments/overlap.h"
#include "operations/operation.h"

namespace sparsec::runtime {

namespace {

Status checkRows(RowRange rows, int64_t count) {
  if (rows.begin < 0 || rows.end < rows.begin || rows.end > count)
    return invalidArgument("expects rows within 0 to ", count, ", but got row_begin ", rows.begin, " and row_end ",
                           rows.end);
  return {};
}

/// One of the arrays of doubles that a reference writes; no array where data is null.
struct Output {
  const char *name;
  const double *data;
};

/// That the outputs, of so many elements each, share no memory with the inputs or with each other.
Status checkOutputs(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, int64_t elements,
                    const Output &first, const Output &second) {
  auto footprint = [&](const Output &output) {
    return footprintOf(output.data, output.data ? uint64_t(elements) * sizeof(double) : 0);
  };
  for (const Output &output : {first, second})
    SPARSEC_RETURN_IF_ERROR(checkApartFromInputs(kernel, arguments, output.name, footprint(output)));
  if (overlap(footprint(first), footprint(second)))
    return invalidArgument(second.name, ": its memory overlaps ", first.name);
  return {};
}

/// `required` and `magnitude` are the arrays of `out` that this call writes, one element a row or all columns of it.
Status runReference(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, RowRange rows,
                    const Output &required, const double *magnitude, bool hasColumns, const ReferenceRows &out) {
  Problem problem;
  SPARSEC_RETURN_IF_ERROR(checkArguments(kernel, arguments, count, Use::reference, problem));
  SPARSEC_RETURN_IF_ERROR(checkHostLists(kernel, arguments));
  SPARSEC_RETURN_IF_ERROR(checkValues(kernel, arguments, problem));
  SPARSEC_RETURN_IF_ERROR(checkRows(rows, problem.resultRows()));
  int64_t elements = (rows.end - rows.begin) * (hasColumns ? problem.columns : 1);
  if (elements == 0)
    return {};
  if (!required.data)
    return invalidArgument(required.name, " is NULL");
  SPARSEC_RETURN_IF_ERROR(checkOutputs(kernel, arguments, elements, required, {"magnitude", magnitude}));
  return operationOf(kernel).reference(kernel, arguments, problem, rows, out);
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_reference_run(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                       size_t argument_count, int64_t row_begin, int64_t row_end, double *y,
                                       double *magnitude) {
  return guarded([&]() -> Status {
    if (!kernel)
      return invalidArgument("kernel is NULL");
    return runReference(*kernel, host_arguments, argument_count, {row_begin, row_end}, {"y", y}, magnitude,
                        /*hasColumns=*/true, {y, magnitude, nullptr, nullptr});
  });
}

sparsec_status_t sparsec_reference_lse(sparsec_kernel_t kernel, const sparsec_argument_t *host_arguments,
                                       size_t argument_count, int64_t row_begin, int64_t row_end, double *lse,
                                       double *magnitude) {
  return guarded([&]() -> Status {
    if (!kernel)
      return invalidArgument("kernel is NULL");
    if (!operationOf(*kernel).hasLse)
      return invalidArgument("kernel '", kernel->info->name, "' has no LSE: it is neither attention nor a merge");
    return runReference(*kernel, host_arguments, argument_count, {row_begin, row_end}, {"lse", lse}, magnitude,
                        /*hasColumns=*/false, {nullptr, nullptr, lse, magnitude});
  });
}
