// SPDX-License-Identifier: MIT
#include "run_text.h"
#include "test.h"
TEST(nothing_yet) {}
