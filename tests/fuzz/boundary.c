// SPDX-License-Identifier: MIT
//
// zlib and jansson for targets built with MemorySanitizer. Both libraries are compiled without it,
// so it does not see what they write. The linker leads our calls here (--wrap): the bytes that a
// library reads must be initialised, and whatever it returns counts as initialised.

#include <jansson.h>
#include <sanitizer/msan_interface.h>
#include <zlib.h>

#define WRAPPED __attribute__((no_sanitize("memory")))

// ---------------------------------------------------------------- zlib

int __real_inflateInit2_(z_stream *s, int bits, const char *version, int size);
int __real_inflateReset(z_stream *s);
int __real_inflateEnd(z_stream *s);
int __real_inflate(z_stream *s, int flush);
int __real_deflateInit2_(z_stream *s, int level, int method, int bits, int memory, int strategy,
                         const char *version, int size);
int __real_deflateEnd(z_stream *s);
int __real_deflate(z_stream *s, int flush);

int __wrap_inflateInit2_(z_stream *s, int bits, const char *version, int size);
int __wrap_inflateReset(z_stream *s);
int __wrap_inflateEnd(z_stream *s);
int __wrap_inflate(z_stream *s, int flush);
int __wrap_deflateInit2_(z_stream *s, int level, int method, int bits, int memory, int strategy,
                         const char *version, int size);
int __wrap_deflateEnd(z_stream *s);
int __wrap_deflate(z_stream *s, int flush);

static WRAPPED int done(z_stream *s, int status) {
    __msan_unpoison(s, sizeof *s);
    if (s->msg) __msan_unpoison_string(s->msg);
    return status;
}

WRAPPED int __wrap_inflateInit2_(z_stream *s, int bits, const char *version, int size) {
    return done(s, __real_inflateInit2_(s, bits, version, size));
}

WRAPPED int __wrap_inflateReset(z_stream *s) { return done(s, __real_inflateReset(s)); }
WRAPPED int __wrap_inflateEnd(z_stream *s) { return done(s, __real_inflateEnd(s)); }

static WRAPPED int step(z_stream *s, int (*run)(z_stream *s, int flush), int flush) {
    unsigned char *to = s->next_out;
    __msan_check_mem_is_initialized(s->next_in, s->avail_in);
    int status = run(s, flush);
    __msan_unpoison(to, (size_t)(s->next_out - to));
    return done(s, status);
}

WRAPPED int __wrap_inflate(z_stream *s, int flush) { return step(s, __real_inflate, flush); }

WRAPPED int __wrap_deflateInit2_(z_stream *s, int level, int method, int bits, int memory,
                                 int strategy, const char *version, int size) {
    return done(s, __real_deflateInit2_(s, level, method, bits, memory, strategy, version, size));
}

WRAPPED int __wrap_deflateEnd(z_stream *s) { return done(s, __real_deflateEnd(s)); }
WRAPPED int __wrap_deflate(z_stream *s, int flush) { return step(s, __real_deflate, flush); }

// ---------------------------------------------------------------- jansson

json_t *__real_json_loadb(const char *bytes, size_t size, size_t flags, json_error_t *problem);
void __real_json_set_alloc_funcs(json_malloc_t take, json_free_t give_back);

json_t *__wrap_json_loadb(const char *bytes, size_t size, size_t flags, json_error_t *problem);
void __wrap_json_set_alloc_funcs(json_malloc_t take, json_free_t give_back);

static json_malloc_t real_take;
static json_free_t real_give_back;

// The values are in memory of ours: all of it counts as written.
static WRAPPED void *take(size_t size) {
    __msan_unpoison_param(1);
    void *at = real_take(size);
    if (at) __msan_unpoison(at, size);
    return at;
}

static WRAPPED void give_back(void *at) {
    __msan_unpoison_param(1);
    real_give_back(at);
}

WRAPPED void __wrap_json_set_alloc_funcs(json_malloc_t t, json_free_t g) {
    real_take = t;
    real_give_back = g;
    __real_json_set_alloc_funcs(take, give_back);
}

WRAPPED json_t *__wrap_json_loadb(const char *bytes, size_t size, size_t flags,
                                  json_error_t *problem) {
    __msan_check_mem_is_initialized(bytes, size);
    __msan_scoped_disable_interceptor_checks(); // jansson calls libc with what it has on its stack
    json_t *root = __real_json_loadb(bytes, size, flags, problem);
    __msan_scoped_enable_interceptor_checks();
    __msan_unpoison(problem, sizeof *problem);
    return root;
}

const char *__real_json_string_value(const json_t *value);
const char *__wrap_json_string_value(const json_t *value);

WRAPPED const char *__wrap_json_string_value(const json_t *value) {
    const char *text = __real_json_string_value(value);
    if (text) __msan_unpoison_string(text);
    return text;
}

// The functions below only look: what they return is the only thing that is new.
#define RETURNS(type, name, parameters, arguments) \
    type __real_##name parameters;                 \
    type __wrap_##name parameters;                 \
    WRAPPED type __wrap_##name parameters { return __real_##name arguments; }

RETURNS(json_t *, json_object_get, (const json_t *object, const char *key), (object, key))
RETURNS(json_t *, json_array_get, (const json_t *array, size_t index), (array, index))
RETURNS(size_t, json_array_size, (const json_t *array), (array))
RETURNS(double, json_number_value, (const json_t *value), (value))
