// SPDX-License-Identifier: MIT
//
// Running out of memory at every place where memory is asked for: reading, asking, filtering,
// merging and writing give an error and leak nothing that a later run would miss. The linker puts
// the functions below in the place of malloc and its kin, for the tools' code; the n-th request
// after the sweep sets `left` fails, and all after it.

#include "track.h"

#include "api.h"
#include "choices.h"
#include "format.h"
#include "labels.h"
#include "ouro.h"
#include "posted.h"
#include "questions.h"
#include "remote.h"
#include "sliced.h"
#include "store.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static long left = -1; // requests that still succeed; below 0: all do
static bool refused;

static bool refuse(void) {
    if (left < 0) return false;
    if (left > 0) {
        left--;
        return false;
    }
    refused = true;
    return true;
}

void *__wrap_malloc(size_t size) { return refuse() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
    return refuse() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
    return refuse() ? NULL : __real_realloc(memory, size);
}

// Runs `work` with ever more memory until nothing was refused. It returns whether it did its job.
static void sweep(const char *name, bool work(void *data, error *e), void *data) {
    for (long n = 0; n < 100000; n++) {
        error e = {0};
        left = n;
        refused = false;
        bool done = work(data, &e);
        left = -1;
        if (!refused) {
            test_check(done, __FILE__, __LINE__, "%s: fails with all memory: %s", name, e.message);
            return;
        }
        if (!test_check(!done || e.code == 0, __FILE__, __LINE__,
                        "%s: request %ld: done, with an error", name, n) ||
            !test_check(done || e.message[0], __FILE__, __LINE__, "%s: request %ld: no message",
                        name, n))
            return;
    }
    test_check(false, __FILE__, __LINE__, "%s: no end", name);
}

// ---------------------------------------------------------------- what is done

typedef struct {
    const char *path;
    int rule;
} reading;

static bool read_one(void *data, error *e) {
    const reading *r = data;
    profile *p = ouro__profile_read(
        r->path, NULL, &(read_options){.rule = r->rule, .keep_origin = true, .keep_labels = true},
        e);
    bool ok = p != NULL;
    if (ok) CHECK(ouro__profile_is_valid(p));
    ouro__profile_free(p);
    return ok;
}

static bool find_counterparts(const profile *p, error *e) {
    flame *boxes = NULL;
    uint32_t count, *found = NULL;
    matching m = {0};
    int64_t *running = ouro__running(p, 0);
    if (running && ouro__flame_below(p, running, 0, 50, &boxes, &count) &&
        ouro__match_blocks(p, p, &m))
        found = ouro__counterparts(p, boxes, count, p, &m, false);
    bool ok = found;
    ouro__matching_free(&m);
    free(running);
    free(boxes);
    free(found);
    return ok || ouro__fail_memory(e);
}

static bool ask_everything(void *data, error *e) {
    profile *p = data;
    totals t;
    knots k;
    around a;
    neighbourhood h;
    comparison c;
    flame *rows;
    uint32_t count, blocks[] = {1, 2};
    bool ok = ouro__totals(p, 0, NULL, 0, &t) || ouro__fail_memory(e);
    if (ok) ouro__totals_free(&t);
    ok = ok && (ouro__knots(p, 0, &k) || ouro__fail_memory(e));
    if (ok) ouro__knots_free(&k);
    ok = ok && (ouro__around(p, 0, blocks, 2, &a) || ouro__fail_memory(e));
    if (ok) ouro__around_free(&a);
    ok = ok && (ouro__neighbourhood(p, 0, 1, 3, &h) || ouro__fail_memory(e));
    if (ok) ouro__neighbourhood_free(&h);
    ok = ok && (ouro__compare(p, 0, p, 0, &c, e));
    if (ok) ouro__comparison_free(&c);
    ok = ok && find_counterparts(p, e) &&
         (ouro__flame_tree(p, 0, 0.01, &rows, &count) || ouro__fail_memory(e));
    if (ok) free(rows);
    return ok;
}

static bool ask_for_findings(void *data, error *e) {
    profile *p = data;
    totals t = {0};
    knots k = {0};
    findings f;
    recursion *recursed = ouro__recursion(p);
    bool ok = recursed && ouro__totals(p, 0, NULL, 0, &t) && ouro__knots(p, 0, &k) &&
              ouro__knot_edges(p, 0, &k) && ouro__findings(p, 0, &t, &k, recursed, &f);
    ouro__totals_free(&t);
    ouro__knots_free(&k);
    free(recursed);
    return ok || ouro__fail_memory(e);
}

static bool ask_for_the_viewer(void *data, error *e) {
    profile *p = data;
    labels l;
    flame *rows;
    uint32_t count;
    uint8_t *match = ouro__matching(p, "/b|c/", &count, e);
    uint32_t *page = match ? ouro__order(p->values[0], count, match, true, 0, 10, &count) : NULL;
    int64_t *running = page ? ouro__running(p, 0) : NULL;
    bool ok = running && ouro__flame_below(p, running, 0, 100, &rows, &count);
    if (ok) free(rows);
    ok = ok && ouro__labels_init(&l, p);
    if (ok) ouro__labels_free(&l);
    free(match);
    free(page);
    free(running);
    return ok || ouro__fail_memory(e);
}

static bool make_others(void *data, error *e) {
    profile *p = data;
    uint32_t block = 1;
    profile *folded = ouro__filter(p, &(filter){.fold = &block, .fold_count = 1}, e);
    profile *selected =
        folded ? ouro__filter(p, &(filter){.select = &block, .select_count = 1}, e) : NULL;
    profile *compacted = selected ? ouro__compacted(p, RULE_EDGES, 2, e) : NULL;
    profile *divided = compacted ? ouro__divided(p, 3, e) : NULL;
    profile *pruned = divided ? ouro__pruned(p, 0.1, e) : NULL;
    bool ok = pruned != NULL;
    profile *all[] = {folded, selected, compacted, divided, pruned};
    for (int i = 0; i < 5; i++) ouro__profile_free(all[i]);
    return ok;
}

// It may go on with less than it knew, so it fails only as a whole.
static bool watch_grow(void *data, error *e) {
    profile *p = data;
    history *h = ouro__history_new(1 << 20);
    if (!h) return ouro__fail_memory(e);
    uint64_t first = ouro__history_add(h, p, 1), look = ouro__history_add(h, p, 2);
    history_span span = {1, 1e9};
    slice_totals slices[4];
    profile *last = ouro__history_profile(h, p, look, &span, e);
    uint32_t count = last ? ouro__history_totals(h, look, 0, slices, 4, p->metric_count) : 0;
    if (last && count != UINT32_MAX) free(slices[0].totals);
    bool ok = first && look && last && count == 1;
    ouro__profile_free(last);
    ouro__history_free(h);
    if (!ok) ouro__error_memory(e);
    return ok;
}

static bool merge_two(void *data, error *e) {
    profile *p = data;
    merger *m = ouro__merger_new(RULE_LOOPS, 0);
    if (!m) return ouro__fail_memory(e);
    if (!ouro__merger_add(m, p, e) || !ouro__merger_add(m, p, e)) {
        ouro__merger_free(m);
        return false;
    }
    profile *sum = ouro__merger_end(m, e);
    ouro__profile_free(sum);
    return sum != NULL;
}

typedef struct {
    profile *profile;
    const format *format;
    const char *path;
} writing;

// A page of nothing but the data.
static const page_pieces bare_page = {{"", "", "", ""}, {0}};

static bool write_one(void *data, error *e) {
    const writing *w = data;
    return ouro__profile_write(w->profile, w->path, w->format,
                               &(write_options){.title = "t", .share = 0.01, .page = &bare_page},
                               e);
}

// The viewer: an answer is complete, or it is the one that says that memory ran out.
typedef struct {
    api api;
    const char *target;
} asking;

static bool ask_the_api(void *data, error *e) {
    asking *q = data;
    request r = {0};
    answer a = {0};
    int status = ouro__request_parse(&r, q->target);
    if (status == 503) ouro__answer_memory(&a);
    if (status == 0) ouro__api_answer(&q->api, &r, NULL, &a);
    bool ok = a.status == 200;
    const char *bytes = a.bytes ? a.bytes : a.lasting;
    test_check(ok || (a.status == 503 && bytes && strstr(bytes, "\"out-of-memory\"")), __FILE__,
               __LINE__, "%s: status %d: %s", q->target, a.status, bytes);
    ouro__answer_free(&a);
    ouro__request_free(&r);
    return ok || ouro__fail_memory(e);
}

// ---------------------------------------------------------------- cases

// A profile with recursion and two metrics. With 400 stacks it has more blocks than the first
// tables have room for.
static profile *profile_of(uint32_t stacks) {
    profile *p = ouro__profile_new();
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    ouro__profile_add_metric(p, "samples", "count");
    ouro__profile_add_metric(p, "calls", "count");
    uint32_t stack[30];
    for (uint32_t i = 0; i < stacks; i++) {
        for (uint32_t d = 0; d < 30; d++) {
            char name[16];
            uint32_t number = d < 10 ? d % 3 : i * d % 300;
            stack[d] = ouro__profile_add_named(p, name, (size_t)sprintf(name, "f%u", number));
        }
        uint32_t node = ouro__builder_stack(b, stack, 30);
        ouro__tags_put(p, ouro__profile_add_text(p, "thread"),
                       ouro__profile_add_text(p, i % 2 ? "1" : "0"));
        uint32_t set = ouro__tags_close(p);
        for (uint32_t m = 0; m < 2; m++) {
            ouro__charge(p, m, node, m ? 1 : i + 1);
            ouro__tags_charge(p, m, node, set, m ? 1 : i + 1);
        }
    }
    ouro__builder_free(b);
    ouro__profile_finish(p, NULL);
    return p;
}

static profile *sample_profile(void) { return profile_of(400); }

// With slices, as it comes from a live file.
static profile *sliced_profile(void) {
    char *path = strdup(test_path("sliced.ouro"));
    error e = {0};
    ouro_profile *recorded = ouro_profile_new(&(ouro_options){.path = path, .slices = {.kept = 2}});
    ouro_thread *thread = ouro_thread_new(recorded);
    ouro_block block = ouro_add_block(recorded, &(ouro_block_info){"frame", "g.c", 1, 1});
    for (int i = 0; i < 20; i++) {
        ouro_slice(thread);
        ouro_exit(thread, ouro_enter(thread, block));
        ouro_sample(thread, 1);
    }
    profile *p = ouro__profile_read(path, NULL, &(read_options){.rule = RULE_DEFAULT}, &e);
    CHECK(p && p->slices && p->tags);
    ouro_thread_free(thread);
    ouro_profile_free(recorded);
    free(path);
    return p;
}

static void sweep_reading(const char *path) {
    for (int rule = RULE_DEFAULT; rule <= RULE_NONE; rule++)
        sweep(path, read_one, &(reading){path, rule});
}

TEST(readers_run_out_of_memory_with_an_error) {
    // Every value of JSON is a request for memory, and the sweep is quadratic in their number.
    static const struct {
        const char *format;
        uint32_t stacks;
    } files[] = {{"pprof", 400}, {"folded", 400}, {"speedscope", 12}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        profile *p = profile_of(files[i].stacks);
        char *path = strdup(test_path(files[i].format));
        error e = {0};
        CHECK(ouro__profile_write(p, path, ouro__format_named(files[i].format), &(write_options){0},
                                  &e));
        sweep_reading(path);
        free(path);
        ouro__profile_free(p);
    }
    static const char perf[] =
        "p q 1/2 [000] 1.5: 7 cycles: \n\t 10 inner (inlined)\n\t 10 outer+0x4 (/bin/p)\n\n";
    static const char v8[] = "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\",\"url\":"
                             "\"u\"},\"children\":[2]},"
                             "{\"id\":2,\"callFrame\":{\"functionName\":\"g\"}}],\"samples\":[1,2],"
                             "\"timeDeltas\":[1,2]}";
    const char *texts[] = {perf, v8};
    for (size_t i = 0; i < 2; i++) {
        char *path = strdup(test_path(i ? "v8" : "perf"));
        FILE *f = fopen(path, "w");
        fputs(texts[i], f);
        fclose(f);
        sweep_reading(path);
        free(path);
    }
}

static bool take_nothing(void *user, delivery *d, error *e) {
    (void)user, (void)e;
    return CHECK(ouro__profile_is_valid(d->profile));
}

static bool read_request(void *data, error *e) {
    return ouro__posted_read(data, take_nothing, NULL, e);
}

TEST(requests_of_agents_run_out_of_memory_with_an_error) {
    static const char form[] = "--b\r\nContent-Disposition: form-data; name=profile\r\n\r\n"
                               "main;f;f 3\nmain;g 4\n\r\n--b\r\n"
                               "Content-Disposition: form-data; name=prev_profile\r\n\r\n"
                               "main;f;f 1\n\r\n--b\r\n"
                               "Content-Disposition: form-data; name=sample_type_config\r\n\r\n"
                               "{\"cpu\":{\"cumulative\":true}}\r\n--b--\r\n";
    posted p = {.target = "/ingest?name=web.cpu{host=a1}&from=1700000000",
                .content_type = "multipart/form-data; boundary=b",
                .body = {(const unsigned char *)form, sizeof form - 1},
                .host = "h",
                .limit = 64 << 20};
    sweep("form", read_request, &p);
    p.target = "/ingest?name=web&format=lines";
    p.content_type = NULL;
    p.body = (piece){(const unsigned char *)"main;f\nmain;g", 13};
    sweep("lines", read_request, &p);
}

static bool fit_profile(void *data, error *e) {
    slice s = {.profile = data, .until = 1};
    taken_limits l = {.depth = 2, .paths = 2, .longest = 3, .bytes = 1 << 20};
    folded_counts c;
    profile *p = ouro__profile_within(&s, &l, &c, e);
    if (p) CHECK(ouro__profile_is_valid(p) && ouro__total(p, 0) == ouro__total(data, 0));
    ouro__profile_free(p);
    return p != NULL;
}

TEST(questions_run_out_of_memory_with_an_error) {
    profile *p = sample_profile();
    sweep("questions", ask_everything, p);
    sweep("findings", ask_for_findings, p);
    sweep("questions of the viewer", ask_for_the_viewer, p);
    sweep("filters", make_others, p);
    sweep("limits of a server", fit_profile, p);
    sweep("merge", merge_two, p);
    profile *sliced = sliced_profile();
    sweep("merge with slices", merge_two, sliced);
    ouro__profile_free(sliced);
    sweep("history", watch_grow, p);
    ouro__profile_free(p);
}

TEST(writers_run_out_of_memory_with_an_error) {
    profile *p = sample_profile(), *sliced = sliced_profile();
    char *again = strdup(test_path("sliced"));
    sweep("pprof with slices", write_one, &(writing){sliced, ouro__format_named("pprof"), again});
    sweep_reading(again);
    free(again);
    ouro__profile_free(sliced);
    for (size_t i = 0; i < ouro__format_count; i++) {
        if (!ouro__formats[i].write) continue;
        char *path = strdup(test_path(ouro__formats[i].name));
        sweep(ouro__formats[i].name, write_one, &(writing){p, &ouro__formats[i], path});
        free(path);
    }
    ouro__profile_free(p);
}

// Of two files, for /compare. A cache of its own for each question, so that every view is made.
static void sweep_question(const char *target) {
    shelf s;
    cache c;
    error e = {0};
    server_options options = {.files = {{"a", profile_of(9), NULL}, {"b", profile_of(7), NULL}},
                              .file_count = 2};
    CHECK(ouro__shelf_open(&s, &options, &e));
    ouro__cache_init(&c, &s);
    sweep(target, ask_the_api, &(asking){{&s, &c, "test", false}, target});
    ouro__cache_free(&c);
    ouro__shelf_close(&s);
}

TEST(the_viewer_says_in_one_way_that_memory_ran_out) {
    static const char *const targets[] = {
        "profile",
        "overview?fold=f1",
        "blocks?search=f&sort=name",
        "sequences?search=f2&sort=-length&format=csv",
        "around?block=f1&block=f2&search=f",
        "neighbourhood?block=f1",
        "flame?at=f0&limit=50",
        "tree?at=f0&sort=name",
        "tree?hot=true&open_limit=2",
        "flame?invert=true&search=f1&limit=9",
        "sandwich?block=f1&limit=9",
        "matches?search=f1&limit=2",
        "flame?path=AAAAAAAAAAA&nearest=true&side=after&limit=1",
        "knots?search=f1",
        "knots?format=csv&exclude=f2",
        "files?sort=file",
        "compare?sort=name&select=f1",
        "difference?side=after&limit=50&fold=f1",
        "find?text=f1",
        "total?search=f1",
        "blocks?label=thread=1&select-match=f[12]&fold-match=f3",
        "labels",
        "labels?key=thread&label=thread!=1&search=/[01]/",
        "export?as=folded&at=f0",
        "export?as=html&fold=f1",
        "export?as=speedscope",
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char target[128];
        snprintf(target, sizeof target, "%s%s", API_PATH, targets[i]);
        sweep_question(target);
    }
}

// Two slices, of which the second has a tree.
static profile *with_slices(profile *p) {
    enum { WIDTH = 5 };
    slices *s = p->slices = ouro__slices_new(WIDTH - 3, 0);
    lane_slices *l = s ? ouro__slices_add_lane(s) : NULL;
    if (!CHECK(l)) return p;
    l->name = strdup("frame");
    l->count = l->row_count = 2;
    l->slowest = 300;
    l->table = calloc(2, (2 + WIDTH) * sizeof *l->table);
    l->table[1] = 200;
    l->table[2 + WIDTH] = 200;
    l->table[3 + WIDTH] = 300;
    l->durations[200] = l->durations[278] = 1;
    l->heat[0] = 2;
    l->heat_step = 1000;
    l->kept = calloc(1, sizeof *l->kept);
    l->kept_count = 1;
    *l->kept = (kept_slice){.number = 2, .start = 200, .duration = 300, .why = SLICE_EVENLY};
    l->kept->totals = calloc(WIDTH, sizeof *l->kept->totals);
    l->kept->rest = calloc(WIDTH, sizeof *l->kept->rest);
    return p;
}

TEST(choices_of_slices_run_out_of_memory_in_the_same_way) {
    static const char *const targets[] = {
        "slices?slices=0-1,0.0000001-",
        "blocks?slices=slowest&label=thread=1",
        "labels?slices=typical",
        "compare?slices=slowest&against=typical",
        "difference?slices=2&against=last&side=after&limit=9&path=AAAAAAAAAAA&nearest=true",
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        shelf s;
        cache c;
        error e = {0};
        char target[128];
        server_options options = {.files = {{"a", with_slices(profile_of(9)), NULL}},
                                  .file_count = 1};
        snprintf(target, sizeof target, "%s%s", API_PATH, targets[i]);
        CHECK(ouro__shelf_open(&s, &options, &e));
        ouro__cache_init(&c, &s);
        sweep(target, ask_the_api, &(asking){{&s, &c, "test", false}, target});
        ouro__cache_free(&c);
        ouro__shelf_close(&s);
    }
}

static void fill_store(store *to) {
    for (unsigned seed = 3; seed < 6; seed++) {
        error e = {0};
        label_set labels = {0};
        pushed done;
        profile *p = profile_of(seed);
        char host[2] = {(char)('a' + seed), '\0'};
        CHECK(ouro__label_set_put(&labels, "host", host));
        push_options how = {.labels = &labels, .time = 1794800000000 + seed * 1000};
        CHECK(ouro__store_push(to, p, &how, &done, &e));
        ouro__profile_free(p);
        ouro__label_set_free(&labels);
    }
}

static void sweep_stored(store *from, const char *target) {
    shelf s;
    cache c;
    error e = {0};
    server_options options = {.store = from, .store_title = "s.db"};
    CHECK(ouro__shelf_open(&s, &options, &e));
    CHECK((s.choices = ouro__choices_new(from, 1000, false)) != NULL);
    ouro__cache_init(&c, &s);
    sweep(target, ask_the_api, &(asking){{&s, &c, "test", false}, target});
    ouro__cache_free(&c);
    ouro__choices_free(s.choices, &s);
    ouro__shelf_close(&s);
}

TEST(the_viewer_of_a_store_says_in_the_same_way_that_memory_ran_out) {
    static const char *const targets[] = {
        "profile",
        "offer?where=host!=x",
        "series?by=host&values=1&steps=9",
        "profile?where=host!=x",
        "blocks?where=&fold=f1",
        "compare?where=host=d&with=host=e",
    };
    error e = {0};
    store *from = ouro__store_open(test_path("memory.db"), true, &e);
    if (!CHECK(from != NULL)) return;
    fill_store(from);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char target[128];
        snprintf(target, sizeof target, "%s%s", API_PATH, targets[i]);
        sweep_stored(from, target);
    }
    ouro__store_close(from);
}

// ---------------------------------------------------------------- following

typedef struct {
    ouro_thread *thread;
    ouro_block block;
    int fd;
    store *store;
    track *track; // stays, and must be good for a later call whatever failed
} following;

// Something new each time; the program itself has all its memory.
static void add_something(const following *f) {
    long kept = left;
    left = -1;
    ouro_position caller = ouro_enter(f->thread, f->block);
    ouro_sample(f->thread, 1);
    ouro_exit(f->thread, caller);
    left = kept;
}

static bool send_something(void *data, error *e) {
    following *f = data;
    static const label_set no_labels;
    ouro__live_profile live;
    ouro__live_error problem;
    track_result done;
    add_something(f);
    if (ouro__live_read_first(f->fd, &live, &problem))
        return ouro__fail(e, problem.code, "%s", problem.message);
    if (!f->track && !(f->track = ouro__track_new())) {
        ouro__live_profile_free(&live);
        return ouro__fail_memory(e);
    }
    track_options o = {.labels = &no_labels, .until = 7};
    bool ok = ouro__track_send(f->track, f->store, &live, &o, &done, e);
    ouro__live_profile_free(&live);
    return ok;
}

TEST(a_track_that_runs_out_of_memory_sends_it_all_later) {
    error e = {0};
    char *path = strdup(test_path("followed.ouro"));
    ouro_profile *p = ouro_profile_new(&(ouro_options){.path = path});
    following f = {.thread = ouro_thread_new(p), .fd = open(path, O_RDWR | O_CLOEXEC)};
    f.block = ouro_add_block(p, &(ouro_block_info){.name = "f"});
    f.store = ouro__store_open(test_path("followed.db"), true, &e);
    sweep("a track", send_something, &f);
    profile *file = ouro__profile_read(path, NULL, &(read_options){.rule = RULE_DEFAULT}, &e);
    pushed done;
    CHECK(ouro__store_push(f.store, file, &(push_options){.labels = &(label_set){0}}, &done, &e));
    CHECK_EQUAL(done.paths, 0);
    ouro__profile_free(file);
    ouro__track_free(f.track);
    ouro__store_close(f.store);
    close(f.fd);
    ouro_thread_free(f.thread);
    ouro_profile_free(p);
    free(path);
}
