// SPDX-License-Identifier: MIT
//
// The live file, byte by byte. Version 5; version 4 had no segments SITES, version 3 no SLICES.
//
// A header of one page, then segments, each a head of one page and data of whole pages.
// Numbers are in the machine's byte order (the header tells which), counters are 64-bit words
// that are stored in one piece. The writer never moves or removes a segment, and publishes it
// by raising header.end. The file grows as it is used: space is reserved before it is published.
//
//   file     offset  size
//   header        0  page         live_header below; the rest of the page is zero
//   segment    page  page         live_segment below (32 bytes); the rest of the page is zero
//                    data_bytes   its data
//   ...                           up to header.end; beyond, up to header.reserved, free space
//
//   kind       data
//   LANE       lane_state: 120 bytes, ouro__lane_state in internal.h. Lanes are numbered from 0
//   NODES      nodes of a lane from `first` on, then their accounts: as many as data_bytes has room
//              for, a multiple of segment_nodes. The next segment of the lane goes on where it ends
//   BASELINE   as NODES: the entries and metrics of these nodes and accounts at the last reset. A
//              reader subtracts them. Nodes without such a segment have counted from zero
//   SLICES     a part of what is kept of a lane's slices: slices.h says what, and how it is read.
//              `first` says which part. The area is current, and says where the others are
//   SITES      what call sites of a lane count, in cells of 32 bytes, see below. A lane has any
//              number of these segments
//   NOTED      what sampled stacks showed of the blocks from `first` on, 8 bytes each: how often
//              the block occurred on one stack at most, or zero if never twice; and 1 if it
//              occurred directly below itself, 2 if below others, 3 if both. Older readers skip it
//   BLOCKS     live_block records, from block `first` on; header.block_count tells how many
//   TEXT       bytes; offsets in the header and in live_block are offsets in the file
//
//   node   0  entries[3]   calls through a tree edge, a back edge, a back edge to itself
//         24  balance      private to the writer
//         32  12 bytes     private to the writer
//         44  block        0: this node is not in use; 0xffffffff: the root
//         48  parent       offset of the parent's record in 8-byte words, the nodes of the lane
//                          taken as one array; the root's is 0
//         52  reserved
//         56  metrics      metric_count words; then zeros up to node_bytes
//                          Counters of a node that is not in use hold what misuse charged there
//                          (stray.c). A reader adds them to [lost] if nobody writes any more
//   account                as a node: the [pruned] account of the node of the same number, in
//                          use if block is not 0
//
//   sites  0  8 bytes      private to the writer
//          8  used         cells that follow the first one, this
//         16  16 bytes     private to the writer
//   cells                  one that begins what a node has, then its entries, and so on:
//   begin  0  8 bytes      private to the writer
//          8  1 byte       private to the writer
//          9  room         1 byte: the number of entries that follow
//         10  1 byte       private to the writer
//         11  table        1 byte: a node has one begin with 0 here, and tables with other numbers
//         12  position     of the node, as `parent` above
//         16  16 bytes     private to the writer
//   entry  0  16 bytes     private to the writer
//         16  count        how often code went by; the highest bit is private to the writer, but an
//                          entry that has it, and no slot, has counted nothing
//         24  slot         the offset in words of an entries counter, as `parent` above: it has
//                          `count` more than its node says; 0: none
//         28  means        twice a number, + 0 or 1: metric 0 of the node at `position` has so many
//                          times `count` more than that says; the highest bit is private, too
//
// Node 0 is the root, node 1 is [lost]. Reading a lane:
//   1. read lane_state.sequence; if it is odd a pruning is under way: read again a little later
//   2. read SITES; then `used`, and that many nodes; read them again, and take what was a node the
//      first time (its block is written last), and its ancestors; then read the accounts; then read
//      SITES again, and take `count` as it was the first time and the rest as it is the second time
//   3. read `sequence` again; if it has changed, begin again
// A writer that was killed leaves things as they are. Then, if `active` is 2, a fold was cut short:
// the counter at word `node`, if that is not 0, has the value entries[0], metric 0 of the node at
// word `account` has metrics[0], and of the begin of that node whose `table` is site / 256, entry
// number site % 256 has counted nothing. If
// `active` is 1, an eviction was cut short, and the reader does it again: the account at word
// `account` has the values in lane_state (account / words per node - capacity is the number of its
// node), and the node at word `node` and its own account are not in use. So nothing is lost and
// nothing is counted twice.
//
// Counters never go back: a reset writes them down in the baselines. header.resets is odd
// meanwhile. A reader reads it before and after all lanes, and begins again if it has changed or is
// odd. So it sees all lanes before a reset, or all after it. If it stays odd, because the writer
// was killed or stopped in the middle, the reader does the reset itself: every count is zero.

#ifndef OURO_LIVE_FORMAT_H
#define OURO_LIVE_FORMAT_H

#include "internal.h"

#define LIVE_MAGIC "OUROLIVE"
#define LIVE_VERSION 5u
#define LIVE_VERSION_LEAST 3u // that is still read
#define LIVE_BYTE_ORDER 0x01020304u
#define LIVE_SEGMENT_MAGIC 0x4745534fu // "OSEG"

enum { LIVE_RUNNING = 1, LIVE_FINISHED = 2 };
enum {
    LIVE_LANE = 1,
    LIVE_NODES = 2,
    LIVE_BLOCKS = 3,
    LIVE_TEXT = 4,
    LIVE_BASELINE = 5,
    LIVE_SLICES = 6,
    LIVE_SITES = 7,
    LIVE_NOTED = 8
};

typedef struct {
    uint64_t offset;
    uint32_t length, reserved;
} live_text;

typedef struct {
    char magic[8];                            //   0
    uint32_t version;                         //   8
    uint32_t byte_order;                      //  12
    uint32_t page;                            //  16  bytes
    uint32_t node_bytes;                      //  20
    uint32_t segment_nodes;                   //  24  a multiple of these in a segment
    uint32_t capacity;                        //  28  nodes of a lane; accounts begin there
    uint32_t metric_count;                    //  32
    uint32_t compaction;                      //  36  OURO_LOOPS ...
    uint32_t edge_length;                     //  40
    uint32_t max_nodes;                       //  44
    uint32_t state;                           //  48  running or finished
    uint32_t block_count;                     //  52  published blocks
    uint64_t end;                             //  56  of the published segments
    uint64_t reserved;                        //  64  bytes of the file
    uint64_t process;                         //  72  the writer's id
    uint64_t process_start;                   //  80  its start time, as in /proc/PID/stat field 22
    uint64_t start_time;                      //  88  nanoseconds since 1970
    uint64_t end_time;                        //  96  the same; 0 while running
    live_text program;                        // 104
    live_text metric_names[OURO_METRICS_MAX]; // 120
    live_text metric_units[OURO_METRICS_MAX]; // 248
    uint32_t resets;                          // 376  twice their number; odd: one is under way
    uint32_t full;                            // 380  1: there was no more space for nodes
    unsigned char recording[16];              // 384  random: no other run has the same
} live_header;                                // 400 bytes

typedef struct {
    uint32_t magic;      //  0
    uint32_t kind;       //  4
    uint32_t lane;       //  8
    uint32_t first;      // 12
    uint64_t data_bytes; // 16
    uint64_t reserved;   // 24
} live_segment;          // 32 bytes

typedef struct {
    live_text name;  //  0
    live_text file;  // 16
    uint32_t line;   // 32
    uint32_t column; // 36
} live_block;        // 40 bytes

_Static_assert(sizeof(live_header) == 400, "written down above");
_Static_assert(sizeof(live_segment) == 32, "written down above");
_Static_assert(sizeof(live_block) == 40, "written down above");
_Static_assert(sizeof(ouro__noted) == 8, "written down above");
_Static_assert(sizeof(ouro__lane_state) == 120, "written down above");
_Static_assert(sizeof(ouro_known_) == 32 && offsetof(ouro_here, room) == 9 &&
                   offsetof(ouro_here, table) == 11 && offsetof(ouro_here, position) == 12 &&
                   offsetof(ouro_known_, count) == 16 && offsetof(ouro_known_, slot) == 24 &&
                   offsetof(ouro_known_, means) == 28,
               "written down above");
_Static_assert(offsetof(ouro_node_, block) == 44, "written down above");
_Static_assert(offsetof(ouro_node_, parent) == 48, "written down above");
_Static_assert(offsetof(ouro_node_, metrics) == 56, "written down above");

#endif
