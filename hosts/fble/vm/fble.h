// SPDX-License-Identifier: MIT
//
// Fble's runtime for hosts: run programs, make values and take them apart, and give programs
// functions written in C.
//
//     static fble_ref add_one(fble_machine *m, const fble_ref *arguments) { ... }
//
//     fble_machine *m = fble_machine_new(NULL);
//     fble_register(m, &(fble_foreign){"/Lib%", "AddOne", 1, add_one});
//     ... load modules (program.h for sources; compiled modules register themselves) ...
//     fble_ref result = fble_call(m, function, 1, (fble_ref[]){argument});
//     if (!result) fputs(fble_error(m), stderr);
//     fble_machine_free(m);
//
// REFERENCES. The collector moves values, so C code holds references: small numbers, 0 is none.
// Those that a function got or made go away when it returns; those made outside of a call live
// until fble_release gives back everything after a mark, or until the machine is freed.
//
// VALUES. Structs and unions are positional, as in Fble. A union value is made and taken apart by
// people who know its type: they say how many tags the type has. Types are the unit.
//
// ERRORS. A function that fails calls fble_fail and returns 0. fble_call returns 0 if the program
// failed; fble_error is then the message with its location and a trace of the callers, a line each.
//
// MEMORY. When there is none, fble_no_memory is called. It must not return; the default aborts.
//
// THREADS. A machine belongs to one OS thread at a time.

#ifndef FBLE_H
#define FBLE_H

#include <ouro.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FBLE_API __attribute__((visibility("default")))

typedef struct fble_machine fble_machine;
typedef uint32_t fble_ref;

typedef struct {
    // NULL: no profile. The profile is the caller's, and must outlive the machine. Which of its
    // metrics counts what: the metric's number + 1; 0: none does.
    ouro_profile *profile;
    ouro_metric instructions, objects, bytes;
    // Every call of the blocks of this name is a slice (ouro_slice). A recursive call
    // belongs to the outermost one, and what is tail-called to the call that it replaces; a tail
    // call of the function itself begins the next slice. NULL: none. Must outlive the machine.
    const char *slice;
    uint64_t period;      // of instructions; 0 = 1: every one is charged where it ran
    size_t nursery;       // bytes; 0 = the usual
    size_t collect_after; // not 0: collect everything after this many bytes, and measure finely
} fble_machine_options;

FBLE_API fble_machine *fble_machine_new(const fble_machine_options *options);
FBLE_API void fble_machine_free(fble_machine *machine);

// ---------------------------------------------------------------- functions in C

// The arguments are references. The result is one, or 0 after fble_fail.
typedef fble_ref fble_function(fble_machine *machine, const fble_ref *arguments);

typedef struct {
    const char *module, *name; // such as "/Std/Io/Env%", "GetVar"
    uint32_t arity;            // 0: the function is called once, where the declaration is evaluated
    fble_function *function;
    bool phantom; // calls are not shown in profiles; else they have the declaration's location
} fble_foreign;

// The texts must live as long as the machine. A second one of the same name replaces the first.
FBLE_API void fble_register(fble_machine *machine, const fble_foreign *foreign);

// For functions in C that know where a frame or a request ends, such as one that shows a picture:
// ends the profile's current slice and begins the next; or begins none. Programs in Fble have the
// same in /Std/Io/Profile%. Nothing happens without a profile, or where calls are the slices.
FBLE_API void fble_slice(fble_machine *machine);
FBLE_API void fble_slice_stop(fble_machine *machine);

// What a shared object given to `fble --foreign` must define: it registers its functions.
typedef void fble_foreign_entry(fble_machine *machine);
#define FBLE_FOREIGN_ENTRY "fble_register_foreign"

FBLE_API fble_ref fble_fail(fble_machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---------------------------------------------------------------- values

FBLE_API fble_ref fble_unit(fble_machine *machine);
FBLE_API fble_ref fble_make_struct(fble_machine *machine, uint32_t count, const fble_ref *fields);
FBLE_API fble_ref fble_make_union(fble_machine *machine, uint32_t tags, uint32_t tag,
                                  fble_ref payload);
// A function value; its calls are charged to `block`.
FBLE_API fble_ref fble_make_function(fble_machine *machine, const char *name, uint32_t arity,
                                     fble_function *function, ouro_block block);

// Field `index` of a struct of `count` fields. 0, after fble_fail, for a value that is not there
// yet (of a recursive let). So also the next two.
FBLE_API fble_ref fble_get_field(fble_machine *machine, fble_ref value, uint32_t count,
                                 uint32_t index);
FBLE_API int32_t fble_get_tag(fble_machine *machine, fble_ref value, uint32_t tags); // -1: failed
FBLE_API fble_ref fble_get_payload(fble_machine *machine, fble_ref value, uint32_t tags);

// The types of the standard library, as its layouts say: Int@, Char@, String@, List@ and Maybe@.
FBLE_API fble_ref fble_make_int(fble_machine *machine, int64_t n);
FBLE_API bool fble_get_int(fble_machine *machine, fble_ref value, int64_t *n); // false: too large
FBLE_API fble_ref fble_make_string(fble_machine *machine, const char *utf8, size_t length);
// A new text, to be freed with free(); NULL after fble_fail.
FBLE_API char *fble_get_string(fble_machine *machine, fble_ref value, size_t *length);
FBLE_API fble_ref fble_make_list(fble_machine *machine, uint32_t count, const fble_ref *items);

// An opaque value around a pointer; `release` is called when nobody has it any more.
FBLE_API fble_ref fble_make_handle(fble_machine *machine, void *data, void (*release)(void *));
FBLE_API void *fble_get_handle(fble_machine *machine, fble_ref value);

// ---------------------------------------------------------------- running

// Applies a function, also to fewer or more arguments than it names. Functions in C may call it;
// what it runs then cannot wait for other green threads.
FBLE_API fble_ref fble_call(fble_machine *machine, fble_ref function, uint32_t count,
                            const fble_ref *arguments);

// Where the body of a function begins in its source; false if it has none, as a function in C.
FBLE_API bool fble_function_place(fble_machine *machine, fble_ref function, const char **file,
                                  uint32_t *line, uint32_t *column);

// References made after a mark are given back.
FBLE_API uint32_t fble_mark(const fble_machine *machine);
FBLE_API void fble_release(fble_machine *machine, uint32_t mark);

FBLE_API const char *fble_error(const fble_machine *machine); // NULL: nothing has failed
FBLE_API void fble_clear_error(fble_machine *machine);

// May be called in a signal handler: the program fails with "interrupted" at its next call.
FBLE_API void fble_interrupt(fble_machine *machine);

// Most bytes in use so far, objects and stacks; fine only with collect_after.
FBLE_API size_t fble_peak(const fble_machine *machine);
FBLE_API void fble_peak_reset(fble_machine *machine); // after a full collection

// ---------------------------------------------------------------- for the runtime's own natives

// As fble_function, but with values instead of references: the arguments are slots that the
// collector knows, the result is a value. 0: it failed, or the machine goes on elsewhere.
typedef uint64_t fble_native(fble_machine *machine, uint64_t *arguments);

extern void (*fble_no_memory)(void);

#endif
