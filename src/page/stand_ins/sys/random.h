// SPDX-License-Identifier: MIT
//
// The key of the hash tables need not be secret here: who makes the page chooses its script, too.

#ifndef OURO_STAND_IN_RANDOM_H
#define OURO_STAND_IN_RANDOM_H

#define GRND_NONBLOCK 1
#define getrandom(to, size, flags) ((void)(to), (ssize_t)-1)

#endif
