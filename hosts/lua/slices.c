// SPDX-License-Identifier: MIT
//
// Slices by calls, in precise mode: every call of a function is a slice, from its call to its
// return. A recursive call belongs to the outermost one, and so does a call of another coroutine
// meanwhile. A tail call in the frame of the slice begins the next one if it is of that function.
// Lua 5.1 tells a tail call as a call, so there it is a recursive one.
//
// Functions appear while the program runs, so a name that nobody has is noticed at the end only.

#include "precise.h"
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUGGESTED = 5, FIRST_BLOCK = 3 };

// "update" is also the name of Game.update and Game:update.
bool slices_name(const session *s, ouro_block block) {
    ouro_block_info info;
    const char *wanted = s->settings.slice;
    if (!wanted || !block || !ouro_block_get(s->profile, block, &info)) return false;
    size_t length = strlen(info.name), end = strlen(wanted);
    if (length < end || strcmp(info.name + length - end, wanted) != 0) return false;
    return length == end || strchr(".:", info.name[length - end - 1]);
}

void slices_call(coroutine *co, size_t depth) {
    session *s = co->session;
    if (s->slicing && (s->slicing != co || co->sliced != depth)) return;
    s->slicing = co;
    co->sliced = depth;
    s->slices++;
    ouro_slice(co->thread);
}

void slices_end(coroutine *co) {
    co->sliced = 0;
    co->session->slicing = NULL;
    ouro_slice_stop(co->thread);
}

void slices_leave_open(session *s) {
    if (s->slicing) s->slicing->sliced = 0;
    s->slicing = NULL;
}

// What the command line asks for goes before what the program says.
void slices_say(session *s, bool next) {
    ouro_thread *thread = s->sampler ? s->sampler->thread : s->root;
    if (s->settings.slice) return;
    if (!next) {
        ouro_slice_stop(thread);
        return;
    }
    s->slices++;
    ouro_slice(thread);
}

// Up to five names that have this one as a part.
char *slices_near(const session *s) {
    char *text = NULL;
    size_t length = 0;
    ouro_block_info info;
    FILE *out = open_memstream(&text, &length);
    int count = 0;
    if (!out) return NULL;
    for (ouro_block b = FIRST_BLOCK; ouro_block_get(s->profile, b, &info); b++) {
        if (count == SUGGESTED || !strcasestr(info.name, s->settings.slice)) continue;
        fprintf(out, "%s%s", count++ ? ", " : "", info.name);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
