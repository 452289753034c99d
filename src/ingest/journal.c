// SPDX-License-Identifier: MIT
//
// Requests are written to the current segment, one after the other, and one of those who wait asks
// the disk for all of them. When the sender is free it takes the segment, and the next request
// begins another. The sender reads requests as they came, so it makes no difference whether this
// process wrote them or one that was killed. A segment is removed when the store has all of it; a
// store that fails gets the same requests again.

#include "journal.h"

#include "segment.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    JOURNAL_MOST = 1 << 30, // bytes that may wait for the store
    SLICES_AT_ONCE = 2000,  // for the store
    NODES_AT_ONCE = 500000, // of all of them, with which the memory they take is bounded
    GATHERING = 100,        // milliseconds in which requests come together
    PAUSE = 1000,           // milliseconds, after the store failed
    STORE_PATIENCE = 2000   // milliseconds that it is waited for within one attempt
};

struct journal {
    store *store; // NULL: it failed, and is opened again; of the sender
    char *url, *folder;
    uint64_t limit;
    pthread_t sender;

    pthread_mutex_t lock; // of all below
    pthread_cond_t changed;
    segment *current; // requests are written to it; NULL: the next one makes it
    segment *full;    // for the sender, the oldest first
    journal_counts counts;
    bool stopping;
    error problem; // the store's last; code 0: it takes what comes
};

// With the lock, which is released meanwhile.
static void wait_for(journal *j, unsigned milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + milliseconds * UINT64_C(1000000);
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    while (!j->stopping && pthread_cond_timedwait(&j->changed, &j->lock, &until) != ETIMEDOUT) {
    }
}

// ---------------------------------------------------------------- writing

// Until all that was written to the segment so far is on disk, with the lock. One thread asks the
// disk, and others for whose bytes that comes too early ask it afterwards.
static bool sync_segment(journal *j, segment *s, error *e) {
    uint64_t wanted = s->size;
    while (s->synced < wanted) {
        if (s->syncing) {
            pthread_cond_wait(&j->changed, &j->lock);
            continue;
        }
        uint64_t size = s->size;
        s->syncing = true;
        pthread_mutex_unlock(&j->lock);
        int problem = fdatasync(s->fd) == 0 ? 0 : errno;
        pthread_mutex_lock(&j->lock);
        s->syncing = false;
        if (!problem) s->synced = size;
        pthread_cond_broadcast(&j->changed);
        if (problem) return ouro__fail(e, EIO, "the journal %s: %s", s->path, strerror(problem));
    }
    return true;
}

static bool has_room(const journal *j, const posted *p, error *e) {
    if (j->counts.waiting + p->body.size <= JOURNAL_MOST) return true;
    return ouro__fail(e, EAGAIN, "1 GB waits for the store%s%s", j->problem.code ? ": " : "",
                      j->problem.code ? j->problem.message : "");
}

static bool add(journal *j, const posted *p, error *e) {
    if (!has_room(j, p, e)) return false;
    if (!j->current) j->current = ouro__segment_new(j->folder, j->url, e);
    segment *s = j->current;
    if (!s) return false;
    uint64_t before = s->size;
    s->users++;
    bool ok = ouro__segment_write(s, p, e);
    j->counts.waiting += s->size - before;
    ok = ok && sync_segment(j, s, e);
    s->users--;
    pthread_cond_broadcast(&j->changed);
    return ok;
}

bool ouro__journal_add(journal *j, const posted *p, error *e) {
    pthread_mutex_lock(&j->lock);
    bool ok = add(j, p, e);
    pthread_mutex_unlock(&j->lock);
    return ok;
}

journal_counts ouro__journal_counts(journal *j) {
    pthread_mutex_lock(&j->lock);
    journal_counts counts = j->counts;
    pthread_mutex_unlock(&j->lock);
    return counts;
}

// ---------------------------------------------------------------- sending

// Deliveries that go to the store together.
typedef struct {
    delivery items[SLICES_AT_ONCE + PROFILES_MOST];
    keys keys[SLICES_AT_ONCE + PROFILES_MOST];
    slice slices[SLICES_AT_ONCE + PROFILES_MOST];
    bool known[SLICES_AT_ONCE + PROFILES_MOST];
    size_t count;
    uint64_t nodes;
} batch;

// Takes the delivery's memory.
static bool take(void *user, delivery *d, error *e) {
    batch *b = user;
    delivery *own = &b->items[b->count];
    keys *k = &b->keys[b->count];
    if (ouro__delivery_rows(d) == 0) return true;
    if (!ouro__keys_make(d->profile, k)) return ouro__fail_memory(e);
    *own = *d;
    d->labels = (label_set){0};
    d->profile = NULL;
    b->slices[b->count++] = ouro__delivery_slice(own, k);
    b->nodes += own->profile->node_count;
    return true;
}

static void empty(batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        ouro__keys_free(&b->keys[i]);
        ouro__label_set_free(&b->items[i].labels);
        ouro__profile_free(b->items[i].profile);
    }
    b->count = 0;
    b->nodes = 0;
}

// Requests from *at on, as many as the store gets at once. A request that was readable when it came
// and is not now would never be: it is passed over. false: out of memory, or the disk fails.
static bool fill(journal *j, const segment *s, uint64_t *at, batch *b, error *e) {
    posted p;
    void *memory;
    e->code = 0;
    while (b->count < SLICES_AT_ONCE && b->nodes < NODES_AT_ONCE &&
           ouro__segment_read(s, at, &p, &memory, e)) {
        error of_request = {0};
        p.limit = j->limit;
        bool ok = ouro__posted_read(&p, take, b, &of_request);
        free(memory);
        if (!ok && of_request.code == ENOMEM) return ouro__fail_memory(e);
    }
    return !e->code;
}

static bool put(journal *j, batch *b, error *e) {
    if (!j->store) j->store = ouro__store_open(j->url, true, e);
    if (!j->store) return false;
    ouro__store_patience(j->store, STORE_PATIENCE);
    if (ouro__store_put_many(j->store, b->slices, b->count, b->known, e)) return true;
    if (e->code != ENOMEM) {
        ouro__store_close(j->store);
        j->store = NULL;
    }
    return false;
}

static void count(journal *j, const batch *b) {
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < b->count; i++) {
        if (b->known[i])
            j->counts.known++;
        else
            j->counts.rows += ouro__delivery_rows(&b->items[i]);
    }
    pthread_mutex_unlock(&j->lock);
}

// From where the store failed the last time, to the end.
static bool send_segment(journal *j, segment *s, batch *b, error *e) {
    bool ok = true;
    for (bool more = true; ok && more;) {
        uint64_t at = s->sent;
        ok = fill(j, s, &at, b, e) && (!b->count || put(j, b, e));
        if (ok) count(j, b);
        empty(b);
        more = at > s->sent;
        if (ok) s->sent = at;
    }
    return ok;
}

// The next segment for the sender, with the lock; NULL: there is none, and none will come.
static segment *next_segment(journal *j) {
    while (!j->full && !j->current && !j->stopping) pthread_cond_wait(&j->changed, &j->lock);
    if (!j->full && j->current) {
        wait_for(j, GATHERING);
        j->full = j->current;
        j->current = NULL;
    }
    while (j->full && j->full->users) pthread_cond_wait(&j->changed, &j->lock);
    return j->full;
}

static void *send_all(void *user) {
    journal *j = user;
    batch *b = calloc(1, sizeof *b);
    pthread_mutex_lock(&j->lock);
    for (segment *s; b && (s = next_segment(j));) {
        error e = {0};
        pthread_mutex_unlock(&j->lock);
        bool ok = send_segment(j, s, b, &e);
        pthread_mutex_lock(&j->lock);
        j->problem = ok ? (error){0} : e;
        if (!ok && j->stopping) break;
        if (!ok) wait_for(j, PAUSE);
        if (!ok) continue;
        j->counts.waiting -= s->size;
        j->full = s->next;
        ouro__segment_free(s, true);
    }
    pthread_mutex_unlock(&j->lock);
    free(b);
    return NULL;
}

// ---------------------------------------------------------------- life

static void journal_free(journal *j) {
    for (segment *s = j->full, *next; s; s = next) {
        next = s->next;
        ouro__segment_free(s, false);
    }
    if (j->current) ouro__segment_free(j->current, false);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    free(j->folder);
    free(j->url);
    free(j);
}

static bool start(journal *j, const char *url, error *e) {
    j->url = strdup(url);
    if (!j->url) return ouro__fail_memory(e);
    j->folder = ouro__segment_folder(e);
    if (!j->folder) return false;
    j->full = ouro__segments_left(j->folder, url);
    for (const segment *s = j->full; s; s = s->next) j->counts.waiting += s->size;
    int problem = pthread_create(&j->sender, NULL, send_all, j);
    return !problem || ouro__fail(e, problem, "cannot start a thread: %s", strerror(problem));
}

journal *ouro__journal_open(store *to, const char *url, uint64_t limit, error *e) {
    journal *j = calloc(1, sizeof *j);
    pthread_condattr_t monotonic;
    if (!j) {
        ouro__error_memory(e);
        return NULL;
    }
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&j->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    j->limit = limit;
    j->store = to;
    if (start(j, url, e)) return j;
    journal_free(j);
    return NULL;
}

void ouro__journal_close(journal *j) {
    pthread_mutex_lock(&j->lock);
    j->stopping = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->sender, NULL);
    if (j->store) ouro__store_close(j->store);
    journal_free(j);
}
