// SPDX-License-Identifier: MIT
//
// Ids of paths, for addresses: a path of any depth in eleven characters. An id is a hash of the
// labels along the path, so it outlives filters, reloads of a live file and restarts, which change
// the numbers of nodes. Two paths may have the same id by chance; finding one tells.

#ifndef OURO_PATH_IDS_H
#define OURO_PATH_IDS_H

#include "labels.h"

enum { PATH_ID_LENGTH = 11, PATH_ID_ROOM = PATH_ID_LENGTH + 1 };

// By node; freed by the caller. `l` are the labels of the profile that p was filtered from, or of p
// itself. The root has no id. NULL: out of memory.
uint64_t *ouro__path_ids(const profile *p, const labels *l);
// The same for some nodes: those with wanted[n], which are wanted together with their parents. The
// others have 0.
uint64_t *ouro__path_ids_of(const profile *p, const labels *l, const uint8_t *wanted);

// As text: letters, digits, - and _.
void ouro__path_id_print(uint64_t id, char text[PATH_ID_ROOM]);
// false: the first characters of the text are no id.
bool ouro__path_id_parse(const char *text, uint64_t *id);

// The node that has the id. NO_NODE: none has it, or, with *several, more than one.
uint32_t ouro__path_id_find(const uint64_t *ids, uint32_t count, uint64_t id, bool *several);

#endif
