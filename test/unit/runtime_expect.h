// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expectations on statuses.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_EXPECT_H
#define SPARSEC_TEST_UNIT_RUNTIME_EXPECT_H

#include "status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsec::test {

inline void expectStatus(runtime::Status status, sparsec_status_code_t code, const std::string &messagePart) {
  EXPECT_STREQ(sparsec_status_code_name(sparsec_status_code(status.get())), sparsec_status_code_name(code));
  EXPECT_THAT(sparsec_status_message(status.get()), ::testing::HasSubstr(messagePart));
}
inline void expectStatus(sparsec_status_t status, sparsec_status_code_t code, const std::string &messagePart) {
  expectStatus(runtime::Status(status), code, messagePart);
}
inline std::string messageOf(sparsec_status_t status) { return sparsec_status_message(runtime::Status(status).get()); }
inline std::string messageOf(runtime::Status status) { return sparsec_status_message(status.get()); }

} // namespace sparsec::test

#define EXPECT_STATUS(expression, code, messagePart)                                                                   \
  do {                                                                                                                 \
    SCOPED_TRACE(#expression);                                                                                         \
    ::sparsec::test::expectStatus((expression), code, messagePart);                                                    \
  } while (false)
#define EXPECT_OK(expression) EXPECT_EQ(::sparsec::test::messageOf(expression), "ok")
#define ASSERT_OK(expression) ASSERT_EQ(::sparsec::test::messageOf(expression), "ok")

#endif // SPARSEC_TEST_UNIT_RUNTIME_EXPECT_H
