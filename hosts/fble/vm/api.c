// SPDX-License-Identifier: MIT
//
// The C API: references, and values made and taken apart through them. A reference is an index
// into an array that the collector keeps up to date; index 0 is none.

#include "machine.h"

#include <stdlib.h>
#include <string.h>

fble_ref fble_ref_new(struct fble_machine *m, fble_value value) {
    if (m->ref_count == m->ref_capacity) {
        m->ref_capacity = m->ref_capacity ? 2 * m->ref_capacity : 64;
        m->refs = fble_take_more(m->refs, m->ref_capacity * sizeof *m->refs);
    }
    if (!m->ref_count) m->refs[m->ref_count++] = FBLE_UNIT;
    if (m->ref_count == m->ref_capacity) return fble_ref_new(m, value);
    m->refs[m->ref_count] = value;
    return m->ref_count++;
}

uint32_t fble_mark(const fble_machine *machine) { return machine->ref_count; }

void fble_release(fble_machine *machine, uint32_t mark) {
    if (mark < machine->ref_count) machine->ref_count = mark;
}

fble_ref fble_unit(fble_machine *machine) { return fble_ref_new(machine, FBLE_UNIT); }

fble_ref fble_make_struct(fble_machine *m, uint32_t count, const fble_ref *fields) {
    if (!count) return fble_unit(m);
    if (count == 1 && fble_is_immediate(m->refs[fields[0]]))
        return fble_ref_new(m, m->refs[fields[0]]);
    fble_reserve(m, 8 + 8 * (size_t)count);
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, count));
    for (uint32_t i = 0; i < count; i++) object->words[i] = m->refs[fields[i]];
    return fble_ref_new(m, fble_pointer(object));
}

fble_ref fble_make_union(fble_machine *m, uint32_t tags, uint32_t tag, fble_ref payload) {
    unsigned bits = fble_tag_bits(tags);
    if (fble_wraps(m->refs[payload], bits))
        return fble_ref_new(m, fble_wrap_immediate(m->refs[payload], tag, bits));
    fble_reserve(m, 16);
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_UNION, tag, 1));
    object->words[0] = m->refs[payload];
    return fble_ref_new(m, fble_pointer(object));
}

fble_ref fble_make_function(fble_machine *machine, const char *name, uint32_t arity,
                            fble_function *function, ouro_block block) {
    struct fble_native_code *native =
        fble_native_code(machine, name, fble_call_function, arity, block);
    native->function = function;
    return fble_ref_new(machine, fble_pointer(&native->code.self));
}

static bool get(struct fble_machine *m, fble_ref ref, fble_value *value) {
    *value = fble_force(m->refs[ref]);
    if (!fble_is_placeholder(*value)) return true;
    fble_fail(m, "a value is not there yet: its let is being evaluated");
    return false;
}

fble_ref fble_get_field(fble_machine *m, fble_ref ref, uint32_t count, uint32_t index) {
    fble_value value;
    if (!get(m, ref, &value)) return 0;
    if (count == 1 && fble_is_immediate(value)) return fble_ref_new(m, value);
    return fble_ref_new(m, fble_object(value)->words[index]);
}

int32_t fble_get_tag(fble_machine *m, fble_ref ref, uint32_t tags) {
    fble_value value;
    return get(m, ref, &value) ? (int32_t)fble_union_tag(value, fble_tag_bits(tags)) : -1;
}

fble_ref fble_get_payload(fble_machine *m, fble_ref ref, uint32_t tags) {
    fble_value value;
    if (!get(m, ref, &value)) return 0;
    return fble_ref_new(m, fble_union_payload(value, fble_tag_bits(tags)));
}

fble_ref fble_make_handle(fble_machine *m, void *data, void (*release)(void *)) {
    return fble_ref_new(m, fble_handle_value(m, data, release));
}

void *fble_get_handle(fble_machine *m, fble_ref ref) {
    fble_value value;
    return get(m, ref, &value) ? fble_handle_data(value) : NULL;
}

fble_ref fble_make_list(fble_machine *m, uint32_t count, const fble_ref *items) {
    fble_reserve(m, FBLE_LIST_CELL_BYTES * (size_t)count);
    fble_value list = FBLE_EMPTY_LIST;
    for (uint32_t i = count; i-- > 0;) list = fble_cons(m, m->refs[items[i]], list);
    return fble_ref_new(m, list);
}

fble_ref fble_make_int(fble_machine *m, int64_t n) {
    fble_reserve(m, FBLE_INT_BYTES);
    return fble_ref_new(m, fble_int_value(m, n));
}

bool fble_get_int(fble_machine *m, fble_ref ref, int64_t *n) {
    return fble_value_int(m->refs[ref], n);
}

fble_ref fble_make_string(fble_machine *m, const char *utf8, size_t length) {
    return fble_ref_new(m, fble_string_value(m, utf8, length));
}

char *fble_get_string(fble_machine *m, fble_ref ref, size_t *length) {
    char *text = fble_value_string(m->refs[ref], length);
    if (!text) fble_fail(m, "not a string");
    return text;
}

bool fble_function_place(fble_machine *m, fble_ref function, const char **file, uint32_t *line,
                         uint32_t *column) {
    fble_value value = fble_force(m->refs[function]);
    while (!fble_is_immediate(value) && fble_kind(fble_object(value)->header) == FBLE_PARTIAL)
        value = fble_force(fble_object(value)->words[0]);
    if (fble_is_immediate(value) || fble_kind(fble_object(value)->header) != FBLE_CLOSURE)
        return false;
    const struct fble_code *code =
        (const struct fble_code *)(uintptr_t)fble_object(value)->words[0];
    *file = code->file;
    *line = code->line;
    *column = code->column;
    return code->file;
}

fble_ref fble_call(fble_machine *m, fble_ref function, uint32_t count, const fble_ref *refs) {
    fble_value arguments[FBLE_MOST_ARGUMENTS];
    for (uint32_t i = 0; i < count; i++) arguments[i] = m->refs[refs[i]];
    fble_value result = fble_run(m, m->refs[function], arguments, count);
    return result ? fble_ref_new(m, result) : 0;
}
