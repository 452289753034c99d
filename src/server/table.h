// SPDX-License-Identifier: MIT
//
// Tables of the API. A table is described once, as a list of columns; JSON, CSV and sorting are
// done from the description.
//
// WORDS
//   column   a name, a kind, where it appears, and a getter that gives the cell of a row
//   page     the rows that were asked for, in order

#ifndef OURO_TABLE_H
#define OURO_TABLE_H

#include "api.h"

typedef struct table table;

// Blocks in a row, like a path. Of a long one some in the middle are skipped.
typedef struct {
    const uint32_t *blocks;
    uint32_t count, skipped;
} block_list;

typedef enum {
    COLUMN_BLOCK,  // CSV: its name, file, line and column. NO_BLOCK is the root
    COLUMN_VALUE,  // in units of the metric; CSV has decimals
    COLUMN_COUNT,  // a whole number
    COLUMN_FLAG,   // true or false; not in CSV
    COLUMN_TEXT,   // sorts in alphabetical order, then by the column after it if that is text
    COLUMN_BLOCKS, // CSV: names with semicolons between them
    COLUMN_ROWS,   // a table in a table; not in CSV
} column_kind;

enum { IN_JSON = 1, IN_CSV = 2, SORTS = 4 };

// An unknown number: null, or nothing in CSV. No value of a profile is that small, see profile.h.
#define NOT_KNOWN NOT_COUNTED

typedef struct {
    const char *name;
    column_kind kind;
    unsigned where; // IN_JSON, IN_CSV, SORTS
    union {         // by kind; `of` is the table's
        int64_t (*number)(void *of, uint32_t row);
        const char *(*text)(void *of, uint32_t row);
        block_list (*blocks)(void *of, uint32_t row);
        table (*rows)(void *of, uint32_t row);
    };
} column;

struct table {
    const column *columns; // the last has no name
    const column *usual;   // sorted by this, descending, unless another is asked for
    void *of;              // for the getters
    uint32_t count;
    const uint8_t *keep; // by row; NULL: all are kept
    uint32_t decimals;   // of COLUMN_VALUE
};

typedef struct {
    uint32_t *rows, count; // those to be shown; freed by the caller
    uint32_t kept;         // those that there are
    uint32_t offset;
} page;

// The page that the parameters offset, limit and sort ask for. The first two have a prefix, like
// in_offset. A table without columns that sort is always in its usual order.
bool ouro__table_page(question *q, const table *t, const char *prefix, page *to);

// A member of JSON: a number, or null for NOT_KNOWN.
void ouro__write_known(question *q, const char *name, int64_t number);

// CSV: the line with the names. JSON: nothing.
void ouro__table_head(question *q, const column *columns);
// These rows, NULL for the first `count`. JSON: an array. CSV: lines.
void ouro__table_rows(question *q, const char *name, const table *t, const uint32_t *rows,
                      uint32_t count);
// JSON: the members count and offset. CSV: nothing.
void ouro__table_foot(question *q, uint32_t kept, uint32_t offset);
// All of that: the whole answer of a question that is a table.
bool ouro__table_answer(question *q, const table *t);
// One column of all rows, as an array.
void ouro__table_column(question *q, const table *t, const column *c);

uint32_t ouro__count_kept(const uint8_t *keep, uint32_t count);

#endif
