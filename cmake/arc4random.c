/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arc4random, for the wheel. libstdc++ calls it for std::random_device, and glibc has it only since 2.36. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  /* The kernel gives so few bytes whole once it has collected entropy. */
  if (getrandom(&value, sizeof value, 0) != sizeof value)
    abort();
  return value;
}
