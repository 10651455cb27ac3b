// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Status objects inside the runtime: made from message pieces, moved up, released at the C interface.

#ifndef SPARSEC_RUNTIME_STATUS_H
#define SPARSEC_RUNTIME_STATUS_H

#include "sparsec/runtime.h"

#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <string>

struct sparsec_status_s {
  sparsec_status_code_t code;
  std::string message;
};

namespace sparsec::runtime {

struct StatusDeleter {
  void operator()(sparsec_status_t status) const { sparsec_status_free(status); }
};

/// Owns a status; empty means OK. Converts to true when it is an error.
class [[nodiscard]] Status : public std::unique_ptr<sparsec_status_s, StatusDeleter> {
  using unique_ptr::unique_ptr;
};

/// The one status that needs no memory.
Status outOfMemoryStatus();

inline void appendPiece(std::string &message, const std::string &piece) { message += piece; }
inline void appendPiece(std::string &message, const char *piece) { message += piece; }
inline void appendPiece(std::string &message, std::integral auto piece) { message += std::to_string(piece); }

/// The subject of a message: "argument 2 'bias'", or just the name where the number is negative.
struct Subject {
  const char *name;
  int64_t number = -1;
};
inline void appendPiece(std::string &message, const Subject &subject) {
  if (subject.number < 0)
    message += subject.name;
  else
    message += "argument " + std::to_string(subject.number) + " '" + subject.name + "'";
}

/// Makes an error from text and numbers in sequence.
template <typename... Pieces> Status makeStatus(sparsec_status_code_t code, const Pieces &...pieces) {
  try {
    std::string message;
    (appendPiece(message, pieces), ...);
    return Status(new sparsec_status_s{code, std::move(message)});
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus();
  }
}

template <typename... Pieces> Status invalidArgument(const Pieces &...pieces) {
  return makeStatus(SPARSEC_STATUS_INVALID_ARGUMENT, pieces...);
}
template <typename... Pieces> Status invalidImage(const Pieces &...pieces) {
  return makeStatus(SPARSEC_STATUS_INVALID_IMAGE, pieces...);
}

/// The body of a C function: turns exceptions into statuses.
template <typename Body> sparsec_status_t guarded(Body &&body) noexcept {
  try {
    return body().release();
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus().release();
  } catch (const std::exception &exception) {
    return makeStatus(SPARSEC_STATUS_INTERNAL, "unexpected exception: ", exception.what()).release();
  }
}

} // namespace sparsec::runtime

/// Returns from the enclosing function when the expression is an error.
#define SPARSEC_RETURN_IF_ERROR(expression)                                                                            \
  do {                                                                                                                 \
    if (::sparsec::runtime::Status status_ = (expression))                                                             \
      return status_;                                                                                                  \
  } while (false)

#endif // SPARSEC_RUNTIME_STATUS_H
