// SPDX-License-Identifier: MIT
//
// The first bytes are the options of a profile; then each step is a byte that chooses a function
// and bytes that choose its arguments. Where the bytes end, all is closed and checked.
//
// Every argument is legal for the C compiler and may be misuse for the recorder: tokens and `here`s
// are kept in one table for all threads, so most exits go to somebody else's place. What the
// headers forbid outright is not done: freed objects, a site number of OURO_SITES_MOST and above,
// an aside that is searched from, a key that means two blocks.
//
// The naive sum: what was charged since the last reset, whoever charged it.

#include "machine.h"
#include "internal.h"
#include "live_read.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS = 6,
    TOKENS = 16,
    HERES = 16,
    STACKS = 3,
    BLOCKS_MOST = 40,
    LANES_MOST = 12,
    STEPS_MOST = 3000,
    CLOCKS_MOST = 4,
    WRITES_MOST = 1,
    LIVE_READS_MOST = 2,
    DEPTH_MOST = 200 // of a stack
};

typedef struct {
    const uint8_t *bytes;
    size_t left;
    const char *folder;
    char live_path[256], out_path[256];

    ouro_profile *profile;
    bool live;
    uint32_t metric_count;
    ouro_block first, block_count; // blocks of our own
    ouro_thread *threads[THREADS]; // NULL: off, or freed
    ouro_position tokens[TOKENS];
    ouro_here *heres[HERES]; // of lanes, which live as long as the profile
    ouro_stack stacks[STACKS];
    char keys[BLOCKS_MOST]; // the address of one may be the key of a block
    unsigned clocks, writes, live_reads;

    uint64_t calls, totals[OURO_METRICS_MAX];
    bool ticks[OURO_METRICS_MAX]; // a clock charges this metric: nobody knows how much
    char failure[200];
} machine;

__attribute__((format(printf, 2, 3))) static void fail(machine *m, const char *format, ...) {
    if (m->failure[0]) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->failure, sizeof m->failure, format, arguments);
    va_end(arguments);
}

// ---------------------------------------------------------------- choices

static uint8_t next(machine *m) {
    if (!m->left) return 0;
    m->left--;
    return *m->bytes++;
}

static ouro_thread **any_place(machine *m) { return &m->threads[next(m) % THREADS]; }
static ouro_thread *any_thread(machine *m) { return *any_place(m); }
static ouro_position *any_token(machine *m) { return &m->tokens[next(m) % TOKENS]; }
static ouro_stack *any_stack(machine *m) { return &m->stacks[next(m) % STACKS]; }
static ouro_here **any_here(machine *m) { return &m->heres[next(m) % HERES]; }
static ouro_site any_site(machine *m) { return next(m) % OURO_SITES_MOST; }

// One in 16 is none that can be entered, or does not exist.
static ouro_block any_block(machine *m) {
    uint8_t choice = next(m);
    ouro_block end = m->first + m->block_count;
    const ouro_block odd[] = {OURO_PHANTOM, OURO_LOST, OURO_PRUNED, UINT32_MAX, end, end + 70000};
    if (choice < 16 || !m->block_count) return odd[choice % 6];
    return m->first + choice % m->block_count;
}

static uint64_t any_amount(machine *m) {
    uint8_t choice = next(m);
    return choice < 250 ? choice : UINT64_C(1) << (choice - 220);
}

// The block, or an address that stands for it.
static ouro_key key_of(const machine *m, ouro_block block, bool by_address) {
    return by_address && block < BLOCKS_MOST ? (uintptr_t)&m->keys[block] : block;
}

// ---------------------------------------------------------------- the naive sum

static void called(machine *m, ouro_block block) { m->calls += block != OURO_PHANTOM; }

static void charged(machine *m, ouro_metric metric, uint64_t n) {
    if (metric < m->metric_count) m->totals[metric] += n;
}

static void compare(machine *m, const char *where, uint64_t calls, const uint64_t *totals) {
    if (calls != m->calls)
        fail(m, "%s has %llu calls of %llu", where, (unsigned long long)calls,
             (unsigned long long)m->calls);
    for (uint32_t i = 0; i < m->metric_count; i++) {
        if (!m->ticks[i] && totals[i] != m->totals[i])
            fail(m, "%s has %llu of %llu in metric %u", where, (unsigned long long)totals[i],
                 (unsigned long long)m->totals[i], i);
    }
}

typedef struct {
    machine *machine;
    uint64_t calls, totals[OURO_METRICS_MAX];
    uint64_t tree_calls, tree_paths; // of a slice
    uint32_t lanes;
} visit_sum;

static void add_visit(void *user, const ouro_visit *visit) {
    visit_sum *sum = user;
    sum->calls += visit->calls;
    if (visit->direct > visit->recursions || visit->recursions > visit->calls)
        fail(sum->machine, "a path has more recursions than calls");
    for (uint32_t i = 0; i < sum->machine->metric_count; i++) sum->totals[i] += visit->metrics[i];
}

static void check_visit(machine *m) {
    visit_sum sum = {.machine = m};
    if (ouro_profile_visit(m->profile, add_visit, &sum)) fail(m, "visit fails");
    compare(m, "visit", sum.calls, sum.totals);
}

static void add_slice(void *user, const ouro_slice_info *slice) {
    visit_sum *sum = user;
    sum->calls += slice->calls;
    for (uint32_t i = 0; i < sum->machine->metric_count; i++) sum->totals[i] += slice->metrics[i];
}

static void add_lane(void *user, const ouro_slice_summary *summary) {
    visit_sum *sum = user;
    sum->lanes++;
    // The histogram and the heat map agree on the slices that there are, in buckets that exist.
    uint64_t counted = 0, shown = 0;
    for (uint32_t b = 0; b < OURO_SLICE_BUCKETS; b++) {
        counted += summary->durations[b];
        if (b && ouro_slice_bucket_least(b) <= ouro_slice_bucket_least(b - 1))
            fail(sum->machine, "buckets are not in order");
    }
    for (uint32_t i = 0; i < OURO_SLICE_HEAT_COLUMNS * OURO_SLICE_HEAT_ROWS; i++)
        shown += summary->heat[i];
    if (ouro_slice_heat_least(0) != 0) fail(sum->machine, "the heat map does not begin at 0");
    if (counted != summary->count || shown != summary->count)
        fail(sum->machine, "slices are not counted once each");
    add_slice(user, &summary->outside);
    add_slice(user, &summary->open);
}

// A tree and its rest are the slice.
static void begin_tree(void *user, const ouro_slice_info *slice, unsigned why,
                       const ouro_slice_info *rest) {
    visit_sum *sum = user;
    if (!why || slice->number == 0) fail(sum->machine, "a tree is kept without a reason");
    if (sum->tree_calls != sum->tree_paths) fail(sum->machine, "a tree is not its slice");
    sum->tree_calls = slice->calls;
    sum->tree_paths = rest->calls;
}

static void add_path(void *user, const ouro_visit *visit) {
    ((visit_sum *)user)->tree_paths += visit->calls;
}

// Where every lane has slices, they are the profile.
static void check_slices(machine *m) {
    static const ouro_slice_visitor all = {add_lane, add_slice, begin_tree, add_path};
    visit_sum sum = {.machine = m};
    if (ouro_slices_visit(m->profile, &all, &sum)) fail(m, "the visit of slices fails");
    if (sum.tree_calls != sum.tree_paths) fail(m, "the last tree is not its slice");
    if (sum.lanes == m->profile->lane_count) compare(m, "slices", sum.calls, sum.totals);
}

static void check_stats(machine *m) {
    ouro_stats stats = ouro_profile_stats(m->profile);
    compare(m, "stats", stats.calls, stats.totals);
    if (stats.nodes > stats.max_nodes)
        fail(m, "%llu nodes of %llu", (unsigned long long)stats.nodes,
             (unsigned long long)stats.max_nodes);
}

static void check_lanes(machine *m) {
    uint32_t nodes = 1;
    for (uint32_t i = 0; i < m->profile->lane_count; i++) {
        if (!ouro__lane_is_valid(m->profile->lanes[i])) fail(m, "lane %u is not valid", i);
        nodes += m->profile->lanes[i]->live - 1;
    }
    if (nodes != atomic_load(&m->profile->nodes_used)) fail(m, "nodes are not counted");
}

// While it is written, strays are not in the file yet; when it is finished, all is.
static void read_live(machine *m, bool finished) {
    ouro__live_profile file;
    ouro__live_error error;
    if (ouro__live_read(m->live_path, &file, &error)) {
        fail(m, "the live file is not read: %s", error.message);
        return;
    }
    uint64_t calls = 0, totals[OURO_METRICS_MAX] = {0};
    for (uint32_t i = 0; i < file.rows->count; i++) {
        const uint64_t *values = ouro__row_values(file.rows, i);
        calls += ouro__row_calls(values);
        for (uint32_t k = 0; k < m->metric_count; k++) totals[k] += values[ENTRY_KINDS + k];
    }
    if (finished) compare(m, "the live file", calls, totals);
    if (finished != file.finished || file.running == finished) fail(m, "the live file's state");
    ouro__live_profile_free(&file);
}

// ---------------------------------------------------------------- recording

static void do_enter(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_block block = any_block(m);
    *any_token(m) = ouro_enter(thread, block);
    if (thread) called(m, block);
}

// Down a path of up to 16 blocks, one token in four kept, and sometimes back to where it began.
static void do_walk(machine *m) {
    ouro_thread *thread = any_thread(m);
    uint8_t length = next(m), pace = next(m);
    ouro_position begin = ouro_thread_position(thread);
    for (uint8_t i = 0; i < length % 16; i++) {
        ouro_block block = m->first + (pace + i * (pace | 1u)) % m->block_count;
        ouro_position caller = ouro_enter(thread, block);
        if (thread) called(m, block);
        if (i % 4 == pace % 4) m->tokens[(pace + i) % TOKENS] = caller;
    }
    if (length & 16) ouro_exit(thread, begin);
}

// By one of a few places, as hooks do it.
static bool enter_at_place(ouro_thread *thread, ouro_block block, uint32_t number) {
    ouro_place *place = ouro_place_at(thread, 1000 + 2 * (uintptr_t)(number % 8));
    if (!ouro_place_knows(place, ouro_thread_position(thread), block))
        return ouro_place_recall(thread, place, 16 * (uintptr_t)block, block) ||
               ouro_place_learn(thread, place, 16 * (uintptr_t)block, block);
    ouro_place_follow(thread, place);
    return true;
}

static void do_place(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_block block = any_block(m);
    uint8_t how = next(m);
    if (how % 16 == 0) ouro_thread_hasten(thread);
    if (!thread) return;
    ouro_position from = ouro_thread_position(thread);
    if (!enter_at_place(thread, block, how)) return;
    called(m, block);
    if (how & 128) ouro_place_leave(thread, from);
}

static void do_try_enter(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_block block = any_block(m);
    bool in_steps = block % 2; // as ouro_try_enter itself
    if (thread && (in_steps ? ouro_try_again(thread, block) || ouro_try_lately(thread, block)
                            : ouro_try_enter(thread, block)))
        called(m, block);
}

static void do_reenter(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_block block = any_block(m);
    ouro_position *token = any_token(m), caller = ouro_thread_position(thread);
    bool known = block % 2 && ouro_try_reenter(thread, block);
    *token = known ? caller : ouro_reenter(thread, block);
}

static void do_note_stack(machine *m) {
    ouro_block blocks[8];
    size_t n = next(m) % 8;
    for (size_t i = 0; i < n; i++) blocks[i] = any_block(m);
    ouro_note_stack(m->profile, blocks, n);
}

static void do_replace(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_block block = any_block(m);
    if (!thread || block % 2 || !ouro_try_replace(thread, block)) ouro_replace(thread, block);
    if (thread) called(m, block);
}

static void do_exit(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_exit(thread, *any_token(m));
}

static void do_sample(machine *m) {
    ouro_thread *thread = any_thread(m);
    uint64_t n = any_amount(m);
    ouro_sample(thread, n);
    if (thread) charged(m, 0, n);
}

static void do_count(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_metric metric = next(m) % (OURO_METRICS_MAX + 1);
    uint64_t n = any_amount(m);
    ouro_count(thread, metric, n);
    if (thread) charged(m, metric, n);
}

static void do_position(machine *m) {
    const ouro_thread *thread = any_thread(m);
    *any_token(m) = ouro_thread_position(thread);
}

// To a token of anybody, or to any number at all.
static void do_slice(machine *m) {
    if (next(m) % 4) {
        ouro_slice(any_thread(m));
    } else {
        ouro_slice_stop(any_thread(m));
    }
}

// Then slices are the whole profile.
static void do_slice_all(machine *m) {
    for (int i = 0; i < THREADS; i++) ouro_slice(m->threads[i]);
}

static void do_unwind(machine *m) {
    ouro_thread *thread = any_thread(m);
    uint8_t choice = next(m);
    ouro_unwind(thread, choice % 4 ? m->tokens[choice % TOKENS] : choice * UINT32_C(0x01030507));
}

// ---------------------------------------------------------------- threads

static void do_free(machine *m) {
    ouro_thread **place = any_place(m);
    for (int i = 0; i < STACKS; i++) {
        if (m->stacks[i].thread == *place) m->stacks[i].thread = NULL;
    }
    ouro_thread_free(*place);
    *place = NULL;
}

static bool room_for_a_lane(const machine *m) { return m->profile->lane_count < LANES_MOST; }

static void do_new(machine *m) {
    ouro_thread **place = any_place(m);
    if (!*place && room_for_a_lane(m)) *place = ouro_thread_new(m->profile);
}

static void do_fork(machine *m) {
    ouro_thread **place = any_place(m);
    ouro_thread *parent = any_thread(m);
    if (!*place) *place = ouro_thread_fork(parent);
}

static void do_spawn(machine *m) {
    ouro_thread **place = any_place(m);
    ouro_thread *parent = any_thread(m);
    if (!*place && room_for_a_lane(m)) *place = ouro_thread_spawn(parent);
}

static void do_clock_start(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_metric metric = next(m) % OURO_METRICS_MAX;
    if (m->clocks == CLOCKS_MOST) return;
    bool started = ouro_clock_start(thread, metric, 2000) == 0 && thread;
    m->clocks += started;
    if (started) m->ticks[metric] = true;
}

static void do_clock_move(machine *m) {
    ouro_thread *from = any_thread(m);
    ouro_clock_move(from, any_thread(m));
}

static void do_clock_stop(machine *m) { ouro_clock_stop(any_thread(m)); }
static void do_clock_leave(machine *m) {
    int i = (int)(next(m) % 4);
    ouro_clock_leave(i ? SIGRTMAX - 3 - i : SIGURG);
}

// ---------------------------------------------------------------- stacks

static void do_push(machine *m) {
    ouro_stack *stack = any_stack(m);
    ouro_block block = any_block(m);
    if (ouro_stack_depth(stack) == DEPTH_MOST) return;
    ouro_stack_push(stack, block);
    if (stack->thread) called(m, block);
}

static void do_stack_replace(machine *m) {
    ouro_stack *stack = any_stack(m);
    ouro_block block = any_block(m);
    ouro_stack_replace(stack, block);
    if (stack->thread) called(m, block);
}

static void do_pop(machine *m) { ouro_stack_pop(any_stack(m)); }

static void do_stack_unwind(machine *m) {
    ouro_stack *stack = any_stack(m);
    size_t depth = next(m);
    size_t before = ouro_stack_depth(stack);
    ouro_stack_unwind(stack, depth);
    if (ouro_stack_depth(stack) != (before < depth ? before : depth)) fail(m, "a stack's depth");
}

static void do_clear(machine *m) { ouro_stack_clear(any_stack(m)); }

// Its tokens are those of another thread then.
static void do_stack_thread(machine *m) {
    ouro_stack *stack = any_stack(m);
    stack->thread = any_thread(m);
}

// ---------------------------------------------------------------- call sites

static void do_here(machine *m) {
    ouro_thread *thread = any_thread(m);
    if (thread) *any_here(m) = ouro_thread_here(thread);
}

static void do_stand(machine *m) {
    ouro_thread *thread = any_thread(m);
    const ouro_here *here = *any_here(m);
    if (!thread || !here) return;
    ouro_thread_stand(thread, here);
    *any_token(m) = ouro_here_position(thread, here);
    ouro_thread_watch(thread, m->heres);
}

static void do_site(machine *m) {
    uint8_t how = next(m);
    ouro_thread *thread = any_thread(m);
    ouro_here *here = *any_here(m);
    ouro_site site = any_site(m);
    ouro_block block = any_block(m);
    ouro_key key = key_of(m, block, how & 128);
    if (!thread || !here) return;
    ouro_here *to = here, *leads;
    if (how % 6 < 2) key = block;
    uint64_t charge = ouro_site_knows(here, site, key) ? ouro__site_charge(here->known + site) : 0;
    const ouro_here *found;
    switch (how % 6) {
    case 4:
    case 5:
        found = how % 6 == 4 ? ouro_site_find(here, site, key) : ouro_site_try(here, site, key);
        if (!found) return;
        charge = ouro__site_charge(found->known);
        to = ouro_site_follow(found, 0);
        break;
    case 0:
        to = ouro_site_enter(thread, here, site, block);
        break;
    case 1:
        to = ouro_site_replace(thread, here, site, block);
        break;
    case 2:
        to = ouro_site_search(thread, here, site, key, block);
        charge = 0;
        break;
    default:
        leads = ouro_site_knows(here, site, key) ? ouro_site_leads(here, site) : NULL;
        if (leads && ouro_site_leaves(here, site)) ouro_here_stay(here);
        to = leads ? ouro_site_follow(here, site) : ouro_site_recall(thread, here, key);
        if (leads && to != leads) fail(m, "a site leads elsewhere");
        if (!to) return;
    }
    called(m, block);
    charged(m, 0, charge);
    *any_here(m) = to;
}

// One site enters blocks in turn, each several times, so that it gets a table.
static void do_turns(machine *m) {
    ouro_thread *thread = any_thread(m);
    ouro_here *here = *any_here(m);
    ouro_site site = any_site(m);
    if (!thread || !here || !m->block_count) return;
    for (ouro_block i = 0; i < 30; i++) {
        ouro_block block = m->first + i / 3 % m->block_count;
        ouro_key key = block;
        const ouro_here *found = ouro_site_find(here, site, key), *from = here;
        if (found) from = found;
        bool follows = found || ouro_site_knows(here, site, key);
        charged(m, 0, follows ? ouro__site_charge(from->known + (found ? 0 : site)) : 0);
        called(m, block);
        if (found)
            ouro_site_follow(found, 0);
        else
            ouro_site_enter(thread, here, site, block);
    }
}

// Where a fixed site knows nothing it counts nothing, but who goes by it as a return has.
static bool may_go_by(const ouro_here *here, ouro_site site) {
    if (site >= here->room) return false;
    const ouro_known_ *known = here->known + site;
    return !(known->count & OURO_UNCOUNTED_) || !(known->means & OURO_FIXED_);
}

// A site for calls counts the one that it knows.
static void do_leave_by(machine *m) {
    const ouro_here *here = *any_here(m);
    ouro_site site = any_site(m);
    if (!here || !may_go_by(here, site)) return;
    bool counts = ouro_here_has_sites(here);
    if (counts) m->calls += here->known[site].slot != 0;
    if (counts) charged(m, 0, ouro__site_charge(here->known + site));
    if (ouro_here_leave_by(here, site) != counts) fail(m, "a site counts where none does");
    if (!counts) return;
    if (site % 2) ouro_here_stay(here);
}

// Any site, as if it were fixed: where it leads to is some `here`.
static void do_go(machine *m) {
    const ouro_here *here = *any_here(m);
    ouro_site site = any_site(m);
    if (!here || !ouro_site_go(here, site)) return;
    *any_here(m) = ouro_site_leads(here, site);
    bool stays = site >= here->room || next(m) % 2;
    if (stays) {
        ouro_site_stay(here, site);
    } else {
        m->calls += here->known[site].slot != 0;
        charged(m, 0, ouro__site_charge(here->known + site));
    }
}

static void do_leave(machine *m) {
    const ouro_here *here = *any_here(m);
    if (here) ouro_here_leave(here);
}

static void do_here_sample(machine *m) {
    const ouro_here *here = *any_here(m);
    uint64_t n = any_amount(m);
    if (!here) return;
    if (n % 2)
        ouro_here_sample(here, n);
    else
        ouro_here_leave_after(here, n);
    charged(m, 0, n);
}

static void do_aside(machine *m) {
    ouro_aside aside = {0};
    ouro_aside_start(&aside);
    ouro_here *here = ouro_aside_here(&aside, any_thread(m));
    if (ouro_here_leave_by(here, any_site(m))) fail(m, "a site counts outside of the tree");
    if (ouro_site_go(here, any_site(m))) fail(m, "a site leads away from outside of the tree");
    uint64_t n = any_amount(m);
    if (ouro_site_knows(here, any_site(m), next(m))) fail(m, "an aside knows something");
    ouro_here_sample(here, n);
    ouro_here_leave(here);
    if (*ouro_aside_sampled(&aside) != n) fail(m, "an aside forgets");
}

static void do_add_sites(machine *m) {
    ouro_block block = any_block(m);
    static const ouro_site_info infos[OURO_SITES_MOST] = {
        {1, false, false}, {0, true, false}, {100, true, false}, {7, false, true}, {8, true, true}};
    uint8_t n = next(m);
    if (n % 2)
        ouro_add_sites(m->profile, block, &(uint32_t){n}, 1);
    else
        ouro_add_site_infos(m->profile, block, infos, n / 2);
}

// ---------------------------------------------------------------- the profile

static void do_reset(machine *m) {
    if (ouro_profile_reset(m->profile)) {
        fail(m, "reset fails");
        return;
    }
    m->calls = 0;
    memset(m->totals, 0, sizeof m->totals);
}

static void do_enable(machine *m) { ouro_profile_enable(m->profile, next(m) % 4); }

static void do_add_blocks(machine *m) {
    uint32_t n = next(m) % 4;
    if (m->first + m->block_count + n > BLOCKS_MOST) return;
    const ouro_block_info infos[4] = {{"a", "f", 1, 1}, {NULL, NULL, 0, 0}, {"", "", 9, 9}};
    ouro_block first =
        n == 1 ? ouro_add_block(m->profile, infos) : ouro_add_blocks(m->profile, infos, n);
    if (first != m->first + m->block_count) fail(m, "block %u has another number", first);
    m->block_count += n;
}

static void do_block_get(machine *m) {
    ouro_block_info info;
    ouro_block block = any_block(m);
    bool exists = block < m->first + m->block_count;
    if (ouro_block_get(m->profile, block, &info) != exists) fail(m, "block %u", block);
    if (exists && (!info.name || !info.file)) fail(m, "block %u has no text", block);
}

static void do_write(machine *m) {
    if (m->writes == WRITES_MOST) return;
    m->writes++;
    if (ouro_profile_write(m->profile, m->out_path)) fail(m, "write fails");
    unlink(m->out_path);
}

static void do_read_live(machine *m) {
    if (!m->live || m->live_reads == LIVE_READS_MOST) return;
    m->live_reads++;
    read_live(m, false);
}

// In memory it changes nothing; what it does to a live file, test_live asks in a child.
static void do_detach(machine *m) {
    if (!m->live) ouro_profile_detach(m->profile);
}

// ---------------------------------------------------------------- a run

// What takes long, or changes everything.
static void do_rare(machine *m) {
    static void (*const rare[])(machine *) = {
        do_reset,     do_enable,    do_add_blocks, do_block_get, do_add_sites,
        do_write,     do_read_live, check_stats,   check_visit,  check_lanes,
        check_slices, do_slice_all, do_note_stack, do_detach,
    };
    rare[next(m) % (sizeof rare / sizeof *rare)](m);
}

// What happens often stands here more than once.
static void (*const steps[])(machine *) = {
    do_place,        do_enter,         do_enter,       do_enter,        do_enter,  do_walk,
    do_walk,         do_walk,          do_walk,        do_exit,         do_exit,   do_exit,
    do_exit,         do_replace,       do_replace,     do_sample,       do_sample, do_count,
    do_count,        do_try_enter,     do_reenter,     do_position,     do_unwind, do_unwind,
    do_free,         do_new,           do_new,         do_fork,         do_spawn,  do_clock_start,
    do_clock_move,   do_clock_stop,    do_clock_leave, do_push,         do_push,   do_push,
    do_pop,          do_stack_replace, do_pop,         do_stack_unwind, do_clear,  do_here,
    do_stack_thread, do_here,          do_stand,       do_site,         do_site,   do_site,
    do_site,         do_leave,         do_here_sample, do_aside,        do_rare,   do_slice,
    do_leave_by,     do_turns,         do_go,
};

static void set_up(machine *m) {
    static const ouro_metric_info metrics[OURO_METRICS_MAX] = {
        {"a", "count"}, {"b", "nanoseconds"}, {"c", NULL}, {"d", "bytes"},
        {"e", "x"},     {"f", "x"},           {"g", "x"},  {"h", "x"}};
    static const char *const rules[] = {"loops", "cycles", "edges:1", "edges:2", "edges:3", "none"};
    m->metric_count = next(m) % (OURO_METRICS_MAX + 1);
    ouro_options options = {.metrics = metrics, .metric_count = m->metric_count};
    ouro_compaction_from_name(rules[next(m) % 6], &options);
    options.max_nodes = 2 + next(m);
    ouro__hasty_sites = options.max_nodes % 2;
    uint8_t choice = next(m);
    m->live = choice % 8 == 7;
    if (m->live) options.path = m->live_path;
    options.disabled = choice / 8 % 8 == 7;
    options.clock.measures = choice >> 7;
    options.slices.kept = 1 + choice % 5;
    options.slices.by = m->metric_count ? choice % (m->metric_count + 1) : 0;
    m->profile = ouro_profile_new(&options);
    if (!m->profile) {
        fail(m, "no profile");
        return;
    }
    m->first = ouro_add_blocks(m->profile, (ouro_block_info[4]){{"a", "f", 1, 1}}, 4);
    m->block_count = 4;
    for (int i = 0; i < 3; i++) m->threads[i] = ouro_thread_new(m->profile);
    for (int i = 0; i < STACKS; i++) ouro_stack_init(&m->stacks[i], m->threads[i]);
}

static void tear_down(machine *m) {
    for (int i = 0; i < STACKS; i++) ouro_stack_clear(&m->stacks[i]);
    for (int i = 0; i < THREADS; i++) ouro_thread_free(m->threads[i]);
    if (m->profile && !m->failure[0]) {
        check_lanes(m);
        check_stats(m);
        check_visit(m);
        check_slices(m);
    }
    ouro_profile_free(m->profile);
    if (m->live && !m->failure[0]) read_live(m, true);
    unlink(m->live_path);
}

const char *machine_run(const uint8_t *bytes, size_t size, const char *folder) {
    static machine m;
    m = (machine){.bytes = bytes, .left = size, .folder = folder};
    snprintf(m.live_path, sizeof m.live_path, "%s/machine.ouro", folder);
    snprintf(m.out_path, sizeof m.out_path, "%s/machine.pb", folder);
    set_up(&m);
    for (int i = 0; i < STEPS_MOST && m.left && !m.failure[0]; i++)
        steps[next(&m) % (sizeof steps / sizeof *steps)](&m);
    tear_down(&m);
    return m.failure[0] ? m.failure : NULL;
}
