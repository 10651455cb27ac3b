// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-run --device.

#include "execute.h"

#include <gtest/gtest.h>

using sparsec::run::DeviceRequest;

namespace {

void expectRequest(const char *text, DeviceRequest::Kind kind, int32_t ordinal) {
  std::optional<DeviceRequest> request = DeviceRequest::parse(text);
  ASSERT_TRUE(request) << text;
  EXPECT_EQ(request->kind, kind) << text;
  EXPECT_EQ(request->ordinal, ordinal) << text;
}

TEST(DeviceRequestTest, Parses) {
  expectRequest("auto", DeviceRequest::Kind::automatic, 0);
  expectRequest("host", DeviceRequest::Kind::host, 0);
  expectRequest("cuda", DeviceRequest::Kind::cuda, 0);
  expectRequest("cuda:3", DeviceRequest::Kind::cuda, 3);
}

TEST(DeviceRequestTest, RefusesOtherText) {
  for (const char *text : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "host:0", "cuda:99999999999"})
    EXPECT_FALSE(DeviceRequest::parse(text)) << text;
}

} // namespace
