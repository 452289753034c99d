// SPDX-License-Identifier: MIT
//
// The native values of the standard library: files of bytes, the environment, debug output; and the
// monad that the runner of command-line programs passes to Main@. An action is a function of unit,
// and natives do what they do when that unit arrives. `do` calls back, so it is bytecode, and steps
// for compiled programs (calls.c): the continuation is a tail call and loops of actions run in
// constant space.

#include "compiled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- files

static void close_file(void *file) {
    if (file) fclose(file);
}

static fble_value get_stdin(struct fble_machine *m, fble_value *arguments) {
    (void)arguments;
    return fble_handle_value(m, stdin, NULL);
}

static fble_value get_stdout(struct fble_machine *m, fble_value *arguments) {
    (void)arguments;
    return fble_handle_value(m, stdout, NULL);
}

static fble_value get_stderr(struct fble_machine *m, fble_value *arguments) {
    (void)arguments;
    return fble_handle_value(m, stderr, NULL);
}

static char *text_argument(struct fble_machine *m, fble_value value) {
    char *text = fble_value_string(value, NULL);
    if (!text) fble_fail_native(m, "a string has a character that is none");
    return text;
}

// Files are closed when they are collected, so there may be too many open that nobody has any more.
static FILE *open_named(struct fble_machine *m, const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (file || (errno != EMFILE && errno != ENFILE)) return file;
    fble_collect_all(m);
    return fopen(name, mode);
}

static fble_value open_file(struct fble_machine *m, fble_value *arguments) {
    char *name = text_argument(m, arguments[0]), *mode = text_argument(m, arguments[1]);
    fflush(NULL); // who reads a file finds what was written to it, closed or not
    FILE *file = name && mode ? open_named(m, name, mode) : NULL;
    free(name);
    free(mode);
    if (m->failed) return 0;
    fble_reserve(m, 32); // for both at once
    return fble_maybe(m, file ? fble_handle_value(m, file, close_file) : 0);
}

static fble_value get_byte(struct fble_machine *m, fble_value *arguments) {
    FILE *file = fble_handle_data(arguments[0]);
    int byte = getc(file);
    if (byte == EOF && ferror(file) && errno == EINTR && m->interrupted) {
        fble_fail_native(m, "interrupted");
        return 0;
    }
    return fble_maybe(m, byte == EOF ? 0 : fble_int_value(m, byte));
}

static fble_value put_byte(struct fble_machine *m, fble_value *arguments) {
    int64_t byte;
    if (!fble_value_int(arguments[1], &byte) || byte < 0 || byte > 255) {
        fble_fail_native(m, "a byte must be from 0 to 255");
        return 0;
    }
    putc((int)byte, (FILE *)fble_handle_data(arguments[0]));
    return FBLE_UNIT;
}

static fble_value flush_file(struct fble_machine *m, fble_value *arguments) {
    (void)m;
    fflush(fble_handle_data(arguments[0]));
    return FBLE_UNIT;
}

// ---------------------------------------------------------------- environment, debug output

static fble_value get_var(struct fble_machine *m, fble_value *arguments) {
    char *name = text_argument(m, arguments[0]);
    const char *value = name ? getenv(name) : NULL;
    free(name);
    if (m->failed) return 0;
    if (!value) return fble_maybe(m, 0);
    m->value = fble_string_value(m, value, strlen(value)); // a root
    fble_reserve(m, fble_bytes_of_words(1));
    fble_value maybe = fble_maybe(m, m->value);
    m->value = 0;
    return maybe;
}

static fble_value put_char(struct fble_machine *m, fble_value *arguments) {
    fble_reserve(m, FBLE_LIST_CELL_BYTES);
    fble_value list = fble_cons(m, arguments[0], FBLE_EMPTY_LIST);
    char *text = text_argument(m, list);
    if (!text) return 0;
    fputs(text, stderr);
    free(text);
    return FBLE_UNIT;
}

// ---------------------------------------------------------------- slices of the profile

static fble_value next_slice(struct fble_machine *m, fble_value *arguments) {
    fble_slice(m);
    (void)arguments;
    return FBLE_UNIT;
}

static fble_value stop_slice(struct fble_machine *m, fble_value *arguments) {
    fble_slice_stop(m);
    (void)arguments;
    return FBLE_UNIT;
}

// ---------------------------------------------------------------- the monad

static fble_value first_argument(struct fble_machine *m, fble_value *arguments) {
    (void)m;
    return arguments[0];
}

// Never called: who sees it makes bytecode instead.
fble_value fble_native_do(struct fble_machine *m, fble_value *arguments) {
    return first_argument(m, arguments);
}

// do = (m, f, unit) { x = m(unit); f(x, unit); }
static const struct fble_site do_site = {.slots = FBLE_DO_SLOTS,
                                         .live = {1 << FBLE_DO_F | 1 << FBLE_DO_UNIT}};

void fble_make_do(struct fble_machine *m, struct fble_native_code *n) {
    n->words[0] = fble_instruction(FBLE_OP_CALL, 1, FBLE_DO_M, FBLE_DO_UNIT, FBLE_DO_UNIT);
    n->words[1] = fble_return_word(FBLE_DO_X, FBLE_DO_SLOTS, FBLE_DO_FIRST);
    n->words[2] = fble_pointer(&do_site);
    n->words[3] = (uint64_t)(uintptr_t)fble_do_go_on;
    n->words[FBLE_DO_PC] = fble_instruction(FBLE_OP_TAIL, 2, FBLE_DO_F, FBLE_DO_X, FBLE_DO_UNIT);
    n->words[5] = FBLE_DO_SECOND;
    n->code.frame_slots = FBLE_DO_SLOTS;
    n->code.enter = fble_do_enter;
    n->code.charge = 2;
    if (n->code.block) ouro_add_sites(m->profile, n->code.block, &(uint32_t){2}, 1);
}

static struct fble_native_code *helper(struct fble_machine *m, const char *name, uint32_t arity) {
    ouro_block block = ouro_add_block(m->profile, &(ouro_block_info){name, "", 0, 0});
    return fble_native_code(m, name, first_argument, arity, block);
}

fble_value fble_monad_value(struct fble_machine *m) {
    struct fble_native_code *give = helper(m, "IoReturn!", 2), *then = helper(m, "IoDo!", 3);
    fble_make_do(m, then);
    fble_reserve(m, 32);
    struct fble_object *monad = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, 3));
    monad->words[0] = FBLE_UNIT;
    monad->words[1] = fble_pointer(&give->code.self);
    monad->words[2] = fble_pointer(&then->code.self);
    return fble_pointer(monad);
}

fble_value fble_io_value(struct fble_machine *m) {
    struct fble_native_code *run = helper(m, "IoRun!", 1);
    fble_reserve(m, fble_bytes_of_words(1));
    struct fble_object *io = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, 1));
    io->words[0] = fble_pointer(&run->code.self);
    return fble_pointer(io);
}

void fble_register_std(struct fble_machine *m) {
    static const struct {
        const char *module, *name;
        uint32_t arity;
        fble_native *native;
    } all[] = {
        {"/Std/Io/File/Binary%", "GetStdin", 1, get_stdin},
        {"/Std/Io/File/Binary%", "GetStdout", 1, get_stdout},
        {"/Std/Io/File/Binary%", "GetStderr", 1, get_stderr},
        {"/Std/Io/File/Binary%", "Open", 3, open_file},
        {"/Std/Io/File/Binary%", "GetByte", 2, get_byte},
        {"/Std/Io/File/Binary%", "PutByte", 3, put_byte},
        {"/Std/Io/File/Binary%", "Flush", 2, flush_file},
        {"/Std/Io/Env%", "GetVar", 2, get_var},
        {"/Std/Io/Profile%", "Slice", 1, next_slice},
        {"/Std/Io/Profile%", "SliceStop", 1, stop_slice},
        {"/Std/Stream/Debug%", "PutChar", 1, put_char},
        {"/Std/Io/Thread%", "Return", 2, first_argument},
        {"/Std/Io/Thread%", "Do", 3, fble_native_do},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fble_register_native(m, all[i].module, all[i].name, all[i].arity, all[i].native);
}
