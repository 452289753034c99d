// SPDX-License-Identifier: MIT
//
// Where sleds_x86_64.S finds what it needs, by name of the struct. sleds.c checks all of it.

#ifndef OURO_NATIVE_SLED_LAYOUT_H
#define OURO_NATIVE_SLED_LAYOUT_H

#include "ouro_layout.h"

#define SELF_TOP 0
#define SELF_TOP_MARK 7 // the byte that says that an enter has begun
#define SELF_LIMIT 8
#define SELF_LOW 16
#define SELF_THREAD 32
#define SELF_PLACES 40
#define SELF_MIRROR 48
#define FRAME_HEIGHT 0
#define FRAME_KEY 8
#define FRAME_TOKEN 12
#define FRAME_BYTES 16
#define FUNCTION_ADDRESS 0
#define FUNCTION_WAY 8
#define FUNCTION_BYTES 16
#define MIRROR_BIT 44
#define MIRROR_SHIFT 0x840

#endif
