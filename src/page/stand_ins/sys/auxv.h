// SPDX-License-Identifier: MIT

#ifndef OURO_STAND_IN_AUXV_H
#define OURO_STAND_IN_AUXV_H

#define AT_RANDOM 25
#define getauxval(type) 0ul

#endif
