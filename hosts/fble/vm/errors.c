// SPDX-License-Identifier: MIT
//
// Run-time errors: where the program was, and how it came there. The spots of a code say where the
// instruction at a pc stands in the source; for frames that wait, their sites do. The text is
//
//   FILE:LINE:COL: error: TEXT, in BLOCK
//   FILE:LINE:COL: called by BLOCK           a line per frame that waits; tail callers are gone
//
// Only the newest and the oldest frames of a deep stack are shown.

#include "machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST = 20, OLDEST = 10 };

void fble_add_code(struct fble_machine *machine, struct fble_code *code) {
    fble_vector_add(&machine->codes, code);
}

// The first spot of the instruction at pc, or NULL. *code is the code that the pc is in, or NULL.
static const struct fble_spot *find_spot(const struct fble_machine *m, const uint64_t *pc,
                                         const struct fble_code **code) {
    for (size_t i = 0; i < m->codes.count; i++) {
        *code = m->codes.at[i];
        const struct fble_spot *spot = (*code)->spots, *end = spot + (*code)->spot_count;
        uintptr_t inside = (uintptr_t)pc - (uintptr_t)spot;
        if (inside < sizeof *spot * (*code)->spot_count) return spot + inside / sizeof *spot;
        if (pc < (*code)->words || pc >= (*code)->words + (*code)->word_count) continue;
        while (spot < end && (*code)->words + spot->word != pc) spot++;
        return spot < end ? spot : NULL;
    }
    *code = NULL;
    return NULL;
}

static void add_location(FILE *to, const struct fble_code *code, uint32_t line, uint32_t column) {
    fprintf(to, "%s:%u:%u: ", code->file, (unsigned)line, (unsigned)column);
}

// From the frame's caller on; the sites know their code.
static void add_trace(FILE *to, uint64_t *fp) {
    struct fble_frame frame = {fp, NULL};
    size_t depth = 0, shown = 0;
    while (fble_frame_next(&frame)) depth += frame.site->code != NULL;
    frame = (struct fble_frame){fp, NULL};
    while (fble_frame_next(&frame)) {
        const struct fble_site *site = frame.site;
        if (!site->code) continue;
        shown++;
        if (shown == NEWEST + 1 && depth > NEWEST + OLDEST)
            fprintf(to, "... %zu more ...\n", depth - NEWEST - OLDEST);
        if (shown > NEWEST && shown + OLDEST <= depth) continue;
        add_location(to, site->code, site->line, site->column);
        fprintf(to, "called by %s\n", site->code->name);
    }
}

static void fail(struct fble_machine *m, const struct fble_code *code, uint32_t line,
                 uint32_t column, uint64_t *fp, const char *format, va_list arguments) {
    if (m->failed) return;
    size_t length = 0;
    free(m->error);
    m->error = NULL;
    m->failed = true;
    FILE *to = open_memstream(&m->error, &length);
    if (!to) {
        fble_no_memory();
        return;
    }
    if (code) add_location(to, code, line, column);
    fputs("error: ", to);
    vfprintf(to, format, arguments);
    if (code) fprintf(to, ", in %s", code->name);
    fputs("\n", to);
    add_trace(to, fp);
    fclose(to);
}

void fble_fail_spot(struct fble_machine *m, uint32_t n, const char *format, ...) {
    const struct fble_code *code;
    const struct fble_spot *spot = find_spot(m, m->pc, &code);
    va_list arguments;
    va_start(arguments, format);
    fail(m, code, spot ? spot[n].line : 0, spot ? spot[n].column : 0, m->fp, format, arguments);
    va_end(arguments);
}

void fble_fail_here(struct fble_machine *m, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fble_fail_spot(m, 0, "%s", text);
}

// Fails at the newest frame, from this one on, whose site is in a source file.
static void fail_in(struct fble_machine *m, struct fble_frame frame, const char *format,
                    va_list arguments) {
    while (!(frame.site && frame.site->code)) // natives have none
        if (!fble_frame_next(&frame)) break;
    const struct fble_site *site = frame.site;
    bool known = site && site->code;
    fail(m, known ? site->code : NULL, known ? site->line : 0, known ? site->column : 0, frame.fp,
         format, arguments);
}

void fble_fail_native(struct fble_machine *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_in(m, (struct fble_frame){m->fp, NULL}, format, arguments);
    va_end(arguments);
}

static void fail_collecting(struct fble_machine *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_in(m, (struct fble_frame){m->fp, m->site}, format, arguments);
    va_end(arguments);
}

// The error's text needs memory, and writing the profile needs more. Neither needs objects, and the
// objects of a collection that did not end are of no use. The trace needs the frames.
void fble_fail_no_memory(struct fble_machine *m) {
    bool collecting = m->collecting;
    m->failed = m->error != NULL; // an error that came before is kept
    fble_heap_drop(m);
    if (collecting)
        fail_collecting(m, "out of memory");
    else
        fble_fail_native(m, "out of memory");
    for (struct fble_thread *t = m->threads; t; t = t->older) fble_stack_free(m, t);
}

fble_ref fble_fail(fble_machine *machine, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_in(machine, (struct fble_frame){machine->fp, NULL}, format, arguments);
    va_end(arguments);
    return 0;
}

const char *fble_error(const fble_machine *machine) {
    return machine->failed ? machine->error : NULL;
}

void fble_clear_error(fble_machine *machine) {
    machine->failed = false;
    machine->interrupted = 0;
    if (machine->thread) machine->stack_limit = machine->thread->chunk->limit;
}
