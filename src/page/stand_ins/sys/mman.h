// SPDX-License-Identifier: MIT
//
// Advice about pages of memory: there is nobody to take it.

#ifndef OURO_STAND_IN_MMAN_H
#define OURO_STAND_IN_MMAN_H

#define MADV_HUGEPAGE 14
#define madvise(at, size, advice) ((void)(at))

#endif
