// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "status.h"
#include "image/enum_values.h"

using namespace sparsec::runtime;

namespace {
/// Must exist before memory runs out; the text fits the string's own storage, so that making it allocates nothing.
sparsec_status_s outOfMemory = {SPARSEC_STATUS_OUT_OF_MEMORY, "out of memory"};
} // namespace

Status sparsec::runtime::outOfMemoryStatus() { return Status(&outOfMemory); }

sparsec_status_code_t sparsec_status_code(sparsec_status_t status) { return status ? status->code : SPARSEC_STATUS_OK; }

const char *sparsec_status_message(sparsec_status_t status) { return status ? status->message.c_str() : "ok"; }

const char *sparsec_status_code_name(sparsec_status_code_t code) {
  switch (enumValue(code)) {
  case SPARSEC_STATUS_OK:
    return "ok";
  case SPARSEC_STATUS_INVALID_ARGUMENT:
    return "invalid argument";
  case SPARSEC_STATUS_INVALID_PATTERN:
    return "invalid pattern";
  case SPARSEC_STATUS_INVALID_IMAGE:
    return "invalid image";
  case SPARSEC_STATUS_VERSION_MISMATCH:
    return "version mismatch";
  case SPARSEC_STATUS_WRONG_DEVICE:
    return "wrong device";
  case SPARSEC_STATUS_DEVICE_LIMIT:
    return "device limit";
  case SPARSEC_STATUS_UNAVAILABLE:
    return "unavailable";
  case SPARSEC_STATUS_OUT_OF_MEMORY:
    return "out of memory";
  case SPARSEC_STATUS_NOT_FOUND:
    return "not found";
  case SPARSEC_STATUS_DRIVER_ERROR:
    return "driver error";
  case SPARSEC_STATUS_INTERNAL:
    return "internal error";
  case SPARSEC_STATUS_CANCELLED:
    return "cancelled";
  case SPARSEC_STATUS_INVALID_PLAN:
    return "invalid plan";
  }
  return "unknown status code";
}

void sparsec_status_free(sparsec_status_t status) {
  if (status != &outOfMemory)
    delete status;
}

const char *sparsec_version(void) { return SPARSEC_VERSION; }
