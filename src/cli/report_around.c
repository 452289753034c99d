// SPDX-License-Identifier: MIT
//
// The parts of the report about neighbours: callers and callees of a block or a sequence,
// and knots.

#include "cli.h"

#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 20, MEMBERS = 8, DEEP_ROOM = GROUPED_ROOM + 8 };

// ---------------------------------------------------------------- neighbours

static block_row neighbour_row(const neighbour *n) {
    return (block_row){
        .block = n->block, .overall = n->overall, .calls = n->calls, .has_overall = true};
}

static void neighbours_json(json_writer *w, const loaded *l, const char *name,
                            const neighbour *rows, uint32_t count) {
    ouro__write_array(w, name);
    for (uint32_t i = 0; i < count; i++) {
        block_row row = neighbour_row(&rows[i]);
        json_row(w, l, &row);
    }
    ouro__write_end(w);
}

static void neighbours_csv(output *out, const loaded *l, const char *role, const neighbour *rows,
                           uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        block_row row = neighbour_row(&rows[i]);
        csv_row(out, l, &row, role);
    }
}

static void neighbours_text(const options *o, const loaded *l, output *out, const char *title,
                            const neighbour *rows, uint32_t count, bool has_calls, uint32_t top) {
    put_heading(o, out, "%s", title);
    if (count == 0) ouro__put_text(out, "  none\n");
    table *t = table_new(o, out);
    int64_t left = ouro__total(l->profile, l->metric);
    for (uint32_t i = 0; i < count && i < top; i++) {
        char calls[GROUPED_ROOM];
        char *label = ouro__block_label(l->profile, rows[i].block);
        if (!label) fail_memory();
        amount_cells(t, l, rows[i].overall, left);
        // The space keeps the digits below each other.
        if (has_calls && rows[i].calls == NOT_COUNTED)
            table_cell(t, "not counted");
        else if (has_calls)
            table_cell(t, "%s call%s", ouro__grouped(calls, (uint64_t)rows[i].calls),
                       rows[i].calls == 1 ? " " : "s");
        table_cell(t, "%s", label);
        table_row_end(t);
        free(label);
    }
    table_end(t);
    if (count > top) ouro__print(out, "  and %u more (--top)\n", count - top);
}

// "recursed 468 times directly, 3 times through others"
static void put_recursed(output *out, const profile *p, const recursion *r) {
    if (ouro__recurses(r) && ouro__is_sampled(p)) {
        ouro__print(out, "  recursed %s%s%s; how often is not counted: the program was sampled\n",
                    r->direct ? "directly" : "", r->direct && r->through ? " and " : "",
                    r->through ? "through others" : "");
        return;
    }
    const struct {
        uint64_t times;
        const char *how;
    } ways[] = {{r->direct, "directly"}, {r->through, "through others"}};
    const char *before = "  recursed ";
    char times[GROUPED_ROOM];
    for (size_t i = 0; i < 2; i++) {
        if (!ways[i].times) continue;
        ouro__print(out, "%s%s time%s %s", before, ouro__grouped(times, ways[i].times),
                    ways[i].times == 1 ? "" : "s", ways[i].how);
        before = ", ";
    }
    ouro__put_text(out, ouro__recurses(r)
                            ? ouro__counts_calls(p) ? "\n" : ", in the stacks as they were read\n"
                            : "  no stack has a block of it twice\n");
}

// ---------------------------------------------------------------- a block or a sequence

static uint32_t *find_sequence(const options *o, const loaded *l) {
    uint32_t *sequence = malloc(o->block.count * sizeof *sequence);
    if (!sequence) fail_memory();
    for (size_t i = 0; i < o->block.count; i++) {
        error e = {0};
        if (ouro__find_block(l->profile, o->block.items[i], &sequence[i], &e)) continue;
        ouro__say("ouro: %s: %s", l->path, e.message);
        exit(EXIT_USAGE);
    }
    return sequence;
}

static void block_text(const options *o, const loaded *l, const around *a, output *out) {
    uint32_t top = o->top >= 0 ? (uint32_t)o->top : NEIGHBOURS;
    char self[AMOUNT_ROOM], overall[AMOUNT_ROOM], self_share[AMOUNT_ROOM],
        overall_share[AMOUNT_ROOM], calls[GROUPED_ROOM];
    const char *unit = ouro__amount_unit(l->profile, l->metric, l->total);
    char *title = strdup("");
    for (size_t i = 0; i < o->block.count && title; i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", title, i ? " -> " : "", o->block.items[i]) < 0)
            fail_memory();
        free(title);
        title = longer;
    }
    if (!title) fail_memory();
    put_heading(o, out, "%s", title);
    free(title);
    ouro__amount(self, l->profile, l->metric, a->self, l->total);
    ouro__amount(overall, l->profile, l->metric, a->overall, l->total);
    format_percent(self_share, a->self, l->total);
    format_percent(overall_share, a->overall, l->total);
    bool is_counted = a->calls != NOT_COUNTED;
    if (is_counted) ouro__grouped(calls, (uint64_t)a->calls);
    put_line(out, "  self %s%s%s (%s), overall %s%s%s (%s)%s%s%s", self, *unit ? " " : "", unit,
             self_share, overall, *unit ? " " : "", unit, overall_share, a->has_calls ? ", " : "",
             is_counted ? calls : "",
             !a->has_calls   ? ""
             : !is_counted   ? "calls not counted"
             : a->calls == 1 ? " call"
                             : " calls");
    if (o->block.count == 1 && ouro__recurses(&a->recursion))
        put_recursed(out, l->profile, &a->recursion);
    ouro__put_text(out, "\n");
    neighbours_text(o, l, out, "Callers", a->callers, a->caller_count, a->has_calls, top);
    ouro__put_text(out, "\n");
    neighbours_text(o, l, out, "Callees", a->callees, a->callee_count, a->has_calls, top);
}

void report_block(const options *o, const loaded *l, output *out) {
    uint32_t *sequence = find_sequence(o, l);
    around a;
    if (!ouro__around(l->profile, l->metric, sequence, o->block.count, &a)) fail_memory();
    block_row row = {sequence[o->block.count - 1], a.self, a.overall, a.calls, true, true};
    if (o->as == AS_JSON) {
        json_writer w = json_head(out, l);
        ouro__write_array(&w, "rows");
        json_row(&w, l, &row);
        ouro__write_end(&w);
        neighbours_json(&w, l, "callers", a.callers, a.caller_count);
        neighbours_json(&w, l, "callees", a.callees, a.callee_count);
        json_foot(&w);
    } else if (o->as == AS_CSV) {
        csv_head(out, "role");
        csv_row(out, l, &row, "block");
        neighbours_csv(out, l, "caller", a.callers, a.caller_count);
        neighbours_csv(out, l, "callee", a.callees, a.callee_count);
    } else {
        block_text(o, l, &a, out);
    }
    ouro__around_free(&a);
    free(sequence);
}

// ---------------------------------------------------------------- knots

// Samples do not count: `direct` and `through` are null if there is some.
static void json_times(json_writer *w, const char *name, uint64_t times, bool is_sampled) {
    if (times && is_sampled) return ouro__write_null(w, name);
    ouro__write_integer(w, name, (int64_t)times);
}

static void json_deepest(json_writer *w, const recursion *r) {
    uint32_t deepest = ouro__deepest(r);
    if (deepest) ouro__write_integer(w, "deepest", deepest);
    if (!deepest) ouro__write_null(w, "deepest");
}

static void edges_json(json_writer *w, const loaded *l, const knot *k) {
    ouro__write_array(w, "edges");
    for (uint32_t i = 0; i < k->edge_count && i < EDGES_KEPT; i++) {
        const knot_edge *e = &k->edges[i];
        ouro__write_object(w, NULL);
        ouro__write_text(w, "from", ouro__block_name(l->profile, e->from));
        ouro__write_text(w, "to", ouro__block_name(l->profile, e->to));
        json_amount(w, "value", e->value, l->profile->metrics[l->metric].decimals);
        json_calls(w, e->calls);
        ouro__write_end(w);
    }
    ouro__write_end(w);
}

static void member_json(json_writer *w, const loaded *l, uint32_t b, const recursion *r,
                        bool is_sampled) {
    ouro__write_object(w, NULL);
    json_block(w, l->profile, b);
    json_times(w, "direct", r->direct, is_sampled);
    json_times(w, "through", r->through, is_sampled);
    json_deepest(w, r);
    ouro__write_end(w);
}

static void knot_json(json_writer *w, const loaded *l, const knot *k, const recursion *recursed) {
    uint32_t decimals = l->profile->metrics[l->metric].decimals;
    bool is_sampled = ouro__is_sampled(l->profile);
    ouro__write_object(w, NULL);
    ouro__write_array(w, "blocks");
    for (uint32_t i = 0; i < k->block_count; i++)
        member_json(w, l, k->blocks[i], &recursed[k->blocks[i]], is_sampled);
    ouro__write_end(w);
    json_amount(w, "self", k->self, decimals);
    json_amount(w, "overall", k->overall, decimals);
    json_calls(w, k->calls);
    json_deepest(w, &k->recursion);
    neighbours_json(w, l, "in", k->in, k->in_count);
    neighbours_json(w, l, "out", k->out, k->out_count);
    json_times(w, "direct", k->recursion.direct, is_sampled);
    json_times(w, "through", k->recursion.through, is_sampled);
    edges_json(w, l, k);
    ouro__write_end(w);
}

static char *member_names(const profile *p, const knot *k, uint32_t shown, const char *separator) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    for (uint32_t i = 0; i < k->block_count && i < shown; i++)
        fprintf(to, "%s%s", i ? separator : "", ouro__block_name(p, k->blocks[i]));
    if (k->block_count > shown) fprintf(to, "%sand %u more", separator, k->block_count - shown);
    fclose(to);
    return text;
}

static void csv_times(output *out, uint64_t times, bool is_sampled) {
    ouro__put_text(out, ",");
    if (!times || !is_sampled) ouro__print(out, "%llu", (unsigned long long)times);
}

static void knots_csv(const loaded *l, const knots *k, uint32_t top, output *out) {
    char number[DECIMAL_ROOM];
    bool is_sampled = ouro__is_sampled(l->profile);
    uint32_t decimals = l->profile->metrics[l->metric].decimals;
    ouro__put_text(out, "blocks,self,overall,calls,deepest,direct,through\n");
    for (uint32_t i = 0; i < k->count && i < top; i++) {
        char *members = member_names(l->profile, &k->knots[i], UINT32_MAX, ";");
        ouro__put_csv(out, members);
        ouro__print(out, ",%s", ouro__decimal(number, k->knots[i].self, decimals));
        ouro__print(out, ",%s", ouro__decimal(number, k->knots[i].overall, decimals));
        ouro__put_text(out, ",");
        csv_calls(out, k->knots[i].calls);
        const recursion *r = &k->knots[i].recursion;
        uint32_t deepest = ouro__deepest(r);
        ouro__print(out, ",%s", deepest ? ouro__decimal(number, deepest, 0) : "");
        csv_times(out, r->direct, is_sampled);
        csv_times(out, r->through, is_sampled);
        ouro__put_text(out, "\n");
        free(members);
    }
}

// "469 deep"; nothing if that is not known.
static const char *deep_text(char text[static DEEP_ROOM], const recursion *r) {
    char deepest[GROUPED_ROOM];
    uint32_t times = ouro__deepest(r);
    text[0] = '\0';
    if (times) snprintf(text, DEEP_ROOM, "%s deep", ouro__grouped(deepest, times));
    return text;
}

void knots_brief(const options *o, const loaded *l, const knots *k, uint32_t top, output *out) {
    put_heading(o, out, "Recursion (blocks that call themselves, or each other in a circle)");
    if (!k->count) ouro__put_text(out, "  none\n");
    table *t = table_new(o, out);
    int64_t left = ouro__total(l->profile, l->metric);
    for (uint32_t i = 0; i < k->count && i < top; i++) {
        const knot *one = &k->knots[i];
        char *members = member_names(l->profile, one, MEMBERS, ", "), deep[DEEP_ROOM];
        amount_cells(t, l, one->overall, left);
        table_cell(t, "%u block%s", one->block_count, one->block_count == 1 ? "" : "s");
        table_cell(t, "%s", deep_text(deep, &one->recursion));
        table_cell(t, "%s", members);
        table_row_end(t);
        free(members);
    }
    table_end(t);
}

static void knots_text(const options *o, const loaded *l, const knots *k, uint32_t top,
                       output *out) {
    if (!k->count)
        ouro__put_text(out, "no recursion: no block calls itself, alone or through others\n");
    for (uint32_t i = 0; i < k->count && i < top; i++) {
        const knot *one = &k->knots[i];
        char *members = member_names(l->profile, one, MEMBERS, ", ");
        char self[AMOUNT_ROOM], overall[AMOUNT_ROOM];
        format_percent(self, one->self, l->total);
        format_percent(overall, one->overall, l->total);
        ouro__put_text(out, "\n");
        put_heading(o, out, "%s", members);
        char deep[DEEP_ROOM];
        deep_text(deep, &one->recursion);
        ouro__print(out, "  %u block%s%s%s, self %s, overall %s\n", one->block_count,
                    one->block_count == 1 ? "" : "s", *deep ? ", " : "", deep, self, overall);
        put_recursed(out, l->profile, &one->recursion);
        neighbours_text(o, l, out, " In", one->in, one->in_count, k->has_calls, MEMBERS);
        neighbours_text(o, l, out, " Out", one->out, one->out_count, k->has_calls, MEMBERS);
        free(members);
    }
}

void report_knots(const options *o, const loaded *l, output *out, uint32_t top) {
    knots k;
    if (!ouro__knots(l->profile, l->metric, &k)) fail_memory();
    if (o->as == AS_CSV) {
        knots_csv(l, &k, top, out);
    } else if (o->as == AS_TEXT) {
        knots_text(o, l, &k, top, out);
    } else {
        json_writer w = json_head(out, l);
        recursion *recursed = ouro__recursion(l->profile);
        if (!recursed || !ouro__knot_edges(l->profile, l->metric, &k)) fail_memory();
        ouro__write_rows(&w, "rows");
        for (uint32_t i = 0; i < k.count && i < top; i++) knot_json(&w, l, &k.knots[i], recursed);
        json_foot(&w);
        free(recursed);
    }
    ouro__knots_free(&k);
}
