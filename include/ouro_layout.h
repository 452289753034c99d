// SPDX-License-Identifier: MIT
//
// Where hooks in assembly find what ouro_place_knows, ouro_place_follow and ouro_exit use: offsets
// in an ouro_thread, a node and an ouro_place, for this version of the library. The library checks
// them when it is built. Only definitions, so that assembly can include it.

#ifndef OURO_LAYOUT_H
#define OURO_LAYOUT_H

#define OURO_THREAD_NODES 0    // the address of the nodes
#define OURO_THREAD_POSITION 8 // 4 bytes: the node, in words from there
#define OURO_NODE_BALANCE 24   // counted down by an exit
#define OURO_PLACE_WAY 0       // position | block << 32
#define OURO_PLACE_SLOT 8 // counted up by an enter, in words from the nodes; the node is slot & -4
#define OURO_PLACE_BYTES 16
#define OURO_PLACES 1024 // a place is the address / 2, modulo this
#define OURO_NO_WAY 1    // of a place that knows nothing
// A second place is (callee + (position * factor >> shift)) / 16, modulo OURO_PLACES, behind these.
#define OURO_SECOND_PLACES (OURO_PLACES * OURO_PLACE_BYTES)
#define OURO_PLACE_FACTOR 0x9E3779B1
#define OURO_PLACE_SHIFT 18

#endif
