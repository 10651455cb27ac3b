// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_expect.h"

#include <set>
#include <stdexcept>

using namespace sparsec::runtime;

TEST(Status, NullIsOk) {
  EXPECT_EQ(sparsec_status_code(nullptr), SPARSEC_STATUS_OK);
  EXPECT_STREQ(sparsec_status_message(nullptr), "ok");
  sparsec_status_free(nullptr);
}

TEST(Status, MessageIsMadeOfPieces) {
  EXPECT_STATUS(makeStatus(SPARSEC_STATUS_NOT_FOUND, "no ", std::string("kernel"), " ", -3, " of ", uint64_t(7)),
                SPARSEC_STATUS_NOT_FOUND, "no kernel -3 of 7");
  EXPECT_STATUS(invalidArgument(Subject{"pattern"}, ", ", Subject{"w", 0}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "pattern, argument 0 'w'");
}

TEST(Status, ExceptionsBecomeStatuses) {
  EXPECT_STATUS(guarded([]() -> Status { throw std::bad_alloc(); }), SPARSEC_STATUS_OUT_OF_MEMORY, "out of memory");
  EXPECT_STATUS(guarded([]() -> Status { throw std::runtime_error("surprise"); }), SPARSEC_STATUS_INTERNAL, "surprise");
}

TEST(Status, OutOfMemoryCanBeFreedAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    sparsec_status_t status = outOfMemoryStatus().release();
    EXPECT_STREQ(sparsec_status_message(status), "out of memory");
    sparsec_status_free(status);
  }
}

TEST(Status, EveryCodeHasItsName) {
  std::set<std::string> names;
  for (int code = SPARSEC_STATUS_OK; code <= SPARSEC_STATUS_INVALID_PLAN; ++code)
    names.insert(sparsec_status_code_name(sparsec_status_code_t(code)));
  EXPECT_EQ(names.size(), size_t(SPARSEC_STATUS_INVALID_PLAN + 1));
  EXPECT_EQ(names.count("unknown status code"), 0u);
  EXPECT_STREQ(sparsec_status_code_name(sparsec_status_code_t(99)), "unknown status code");
}
