// SPDX-License-Identifier: MIT
//
// Which files are followed, and what happens to them. A file is known by its place on the disk
// (device and number), so one that is replaced under its name is followed to its end, and the new
// one as another. It stays open meanwhile. Of those that ended, and of files that are no live
// files, only the place and the time of the last change is kept, so that they are not opened again.
//
// One process follows a file: it locks a byte far behind the end. The lock of the recorder itself
// (flock) is of another kind. A program has ended when it says so, or when it is gone.
//
// Trouble with one file does not stop the others. If nothing at all can be sent, the store is gone:
// that is said once, and the round ends, so that nobody waits for each file.

#include "track.h"

#include "follow.h"
#include "lookup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FAILURES_IN_A_ROW = 2, FRESH = 2000 }; // milliseconds
static const off_t LOCKED_BYTE = (off_t)1 << 62;

typedef enum {
    NEW,      // not looked at
    FOREIGN,  // no live file
    BUSY,     // another process follows it
    COPY,     // of a file that is followed
    FOLLOWED, // to its end
    ENDED
} file_state;

typedef struct {
    char *path, *trouble; // trouble: what was said last; NULL: all is well
    file_state state;
    bool listed;   // still found under its name
    bool waiting;  // something of it is not in the store
    bool no_space; // that was said
    dev_t device;
    ino_t number;
    struct timespec changed;
    int fd;        // -1: closed
    uint64_t seen; // when it was read first: milliseconds since 1970
    uint64_t process, process_start;
    bool was_running;
    ouro__live_profile live;
    bool has_live;
    key recording;
    label_set labels;
    track *track;
} file;

typedef struct {
    char *name;
    bool missing; // that was said
} place;

struct follow {
    const follow_options *options;
    store *store;
    bool outage;
    place *places;
    size_t place_count;
    file *files;
    size_t file_count, file_room;
    lookup by_number;
    size_t first; // of the next round
    uint64_t slices;
};

static uint64_t milliseconds(const struct timespec *t) {
    return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return milliseconds(&t);
}

static void say(const follow *f, follow_event event, const char *path, const char *text) {
    if (f->options->say) f->options->say(f->options->user, event, path, text);
}

// Trouble is said when it is another one than before.
static void say_trouble(const follow *f, file *x, const char *text) {
    if (x->trouble && strcmp(x->trouble, text) == 0) return;
    free(x->trouble);
    x->trouble = strdup(text);
    say(f, FOLLOW_TROUBLE, x->path, text);
}

static void end_trouble(file *x) {
    free(x->trouble);
    x->trouble = NULL;
}

// ---------------------------------------------------------------- files

static void forget_live(file *x) {
    if (x->has_live) ouro__live_profile_free(&x->live);
    x->has_live = false;
}

// What only a file that is followed has.
static void file_close(file *x) {
    forget_live(x);
    if (x->fd >= 0) close(x->fd);
    x->fd = -1;
    ouro__track_free(x->track);
    x->track = NULL;
    ouro__label_set_free(&x->labels);
}

static void file_free(file *x) {
    file_close(x);
    free(x->path);
    free(x->trouble);
}

static uint32_t hash_of(dev_t device, ino_t number) {
    uint64_t words[2] = {(uint64_t)device, (uint64_t)number};
    return ouro__hash_bytes(words, sizeof words);
}

static file *find_file(follow *f, const struct stat *s) {
    uint32_t row, hash = hash_of(s->st_dev, s->st_ino);
    for (uint64_t at = ouro__lookup_first(&f->by_number, hash);
         (row = ouro__lookup_next(&f->by_number, hash, &at)) != NO_ROW;) {
        if (f->files[row].device == s->st_dev && f->files[row].number == s->st_ino)
            return &f->files[row];
    }
    return NULL;
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static file *file_add(follow *f, const struct stat *s) {
    if (f->file_count == f->file_room) {
        size_t room = f->file_room ? f->file_room * 2 : 64;
        file *files = realloc(f->files, room * sizeof *files);
        if (!files) return NULL;
        f->files = files;
        f->file_room = room;
    }
    if (!ouro__lookup_add(&f->by_number, hash_of(s->st_dev, s->st_ino), (uint32_t)f->file_count))
        return NULL;
    file *x = &f->files[f->file_count++];
    *x = (file){.device = s->st_dev, .number = s->st_ino, .changed = s->st_ctim, .fd = -1};
    return x;
}

// A file that is there. What ended, or was foreign, is looked at again if it changed: its place on
// the disk may belong to another one now.
static bool file_found(follow *f, const char *path, const struct stat *s, bool asked) {
    struct stat own;
    file *x = find_file(f, s);
    // Closing a file that SQLite has open would take its locks away.
    if (!x && stat(f->options->store, &own) == 0 && own.st_dev == s->st_dev &&
        own.st_ino == s->st_ino)
        return true;
    if (!x && !(x = file_add(f, s))) return false;
    bool open = x->state == FOLLOWED || x->state == BUSY;
    // Clocks of files are coarse: what was wrong may have been put right within the same tick.
    bool fresh = x->state == FOREIGN && now() < milliseconds(&s->st_ctim) + FRESH;
    if (!open && (fresh || !same_time(x->changed, s->st_ctim))) x->state = NEW;
    x->changed = s->st_ctim;
    x->listed = true;
    if (!x->path || strcmp(x->path, path) != 0) {
        char *copy = strdup(path);
        if (!copy) return false;
        free(x->path);
        x->path = copy;
    }
    if (asked && x->state == FOREIGN) say_trouble(f, x, "not a live file");
    return true;
}

// Hidden files are being made.
static bool is_live_name(const char *name) {
    size_t length = strlen(name);
    return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".ouro") == 0;
}

static bool look_into(follow *f, const char *folder) {
    DIR *open = opendir(folder);
    bool ok = open != NULL;
    for (struct dirent *entry; ok && (entry = readdir(open));) {
        struct stat s;
        char *path;
        if (!is_live_name(entry->d_name) || fstatat(dirfd(open), entry->d_name, &s, 0) ||
            !S_ISREG(s.st_mode))
            continue;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) {
            ok = false;
            break;
        }
        ok = file_found(f, path, &s, false);
        free(path);
    }
    if (open) closedir(open);
    return ok;
}

static void say_missing(const follow *f, const char *path, int problem) {
    char text[256];
    snprintf(text, sizeof text, "%s%s", strerror(problem),
             problem == ENOENT ? "; waiting for it" : "");
    say(f, FOLLOW_TROUBLE, path, text);
}

static void look_at(follow *f, place *p) {
    struct stat s;
    bool ok = stat(p->name, &s) == 0;
    if (ok) ok = S_ISDIR(s.st_mode) ? look_into(f, p->name) : file_found(f, p->name, &s, true);
    if (!ok && !p->missing) say_missing(f, p->name, errno);
    p->missing = !ok;
}

// Files that are gone, but for those that are followed to their end.
static void drop_files(follow *f) {
    size_t kept = 0;
    ouro__lookup_free(&f->by_number);
    f->by_number = (lookup){0};
    for (size_t i = 0; i < f->file_count; i++) {
        file *x = &f->files[i];
        if (!x->listed && x->state != FOLLOWED) {
            file_free(x);
            continue;
        }
        if (kept != i) f->files[kept] = *x;
        // Without memory a file that is there is found anew, and its track asks.
        ouro__lookup_add(&f->by_number, hash_of(x->device, x->number), (uint32_t)kept++);
    }
    f->file_count = kept;
}

static void look_around(follow *f) {
    for (size_t i = 0; i < f->file_count; i++) f->files[i].listed = false;
    for (size_t i = 0; i < f->place_count; i++) look_at(f, &f->places[i]);
    drop_files(f);
}

// ---------------------------------------------------------------- opening

static bool is_live(int fd) {
    char magic[8];
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, "OUROLIVE", sizeof magic) == 0;
}

// A byte behind the end; locks of this kind go with the descriptor. Who may only read the file, or
// whose file system has no such locks, does without.
static bool lock(int fd) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l) == 0 || (errno != EAGAIN && errno != EACCES);
}

static bool file_open(const follow *f, file *x) {
    int flags = O_NONBLOCK | O_CLOEXEC;
    x->fd = open(x->path, O_RDWR | flags);
    if (x->fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM))
        x->fd = open(x->path, O_RDONLY | flags);
    if (x->fd < 0) {
        if (errno != ENOENT) say_trouble(f, x, strerror(errno));
        return false;
    }
    return true;
}

static void try_lock(follow *f, file *x) {
    bool was_busy = x->state == BUSY;
    x->state = lock(x->fd) ? FOLLOWED : BUSY;
    if (x->state == BUSY && !was_busy) say(f, FOLLOW_BUSY, x->path, "");
}

static void file_begin(follow *f, file *x) {
    struct stat s;
    file_close(x);
    if (!file_open(f, x)) return;
    if (!is_live(x->fd)) {
        x->state = FOREIGN;
        for (size_t i = 0; i < f->place_count; i++) {
            if (strcmp(f->places[i].name, x->path) == 0) say_trouble(f, x, "not a live file");
        }
        file_close(x);
        return;
    }
    // It may have been replaced since it was listed.
    if (fstat(x->fd, &s) || s.st_dev != x->device || s.st_ino != x->number) {
        file_close(x);
        return;
    }
    x->seen = 0;
    try_lock(f, x);
}

// ---------------------------------------------------------------- labels

static bool put_unless(label_set *l, const char *name, const char *value) {
    return ouro__label_set_get(l, name) || ouro__label_set_put(l, name, value);
}

// The name of the file up to its first dot.
static bool put_service(label_set *l, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strcspn(base, ".");
    char *name = length ? strndup(base, length) : strdup(base);
    bool ok = name && put_unless(l, "service", name);
    free(name);
    return ok;
}

static bool make_labels(const follow *f, file *x) {
    const label_set *all = f->options->labels;
    const char *slash = strrchr(x->live.program, '/');
    char pid[32];
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)x->live.process);
    ouro__label_set_free(&x->labels);
    bool ok = true;
    for (size_t i = 0; ok && i < all->count; i++)
        ok = ouro__label_set_put(&x->labels, all->items[i].name, all->items[i].value);
    return ok && put_service(&x->labels, x->path) && put_unless(&x->labels, "pid", pid) &&
           put_unless(&x->labels, "program", slash ? slash + 1 : x->live.program);
}

// ---------------------------------------------------------------- reading

// Two files of one recording would take turns at each other's counts.
static const file *find_original(const follow *f, const file *x) {
    for (size_t i = 0; i < f->file_count; i++) {
        const file *y = &f->files[i];
        if (y != x && (y->state == FOLLOWED || y->state == ENDED) &&
            (y->has_live || y->state == ENDED) &&
            memcmp(&y->recording, &x->recording, sizeof x->recording) == 0)
            return y;
    }
    return NULL;
}

static bool is_copy(follow *f, file *x) {
    char text[512];
    const file *original = find_original(f, x);
    if (!original) return false;
    snprintf(text, sizeof text, "has the recording of %s: a copy is not sent", original->path);
    say_trouble(f, x, text);
    x->state = COPY;
    file_close(x);
    return true;
}

static void say_no_space(const follow *f, file *x) {
    if (x->live.full && !x->no_space)
        say(f, FOLLOW_TROUBLE, x->path,
            "its disk has no space for more paths; what is cold is in [pruned]");
    x->no_space = x->live.full;
}

// All of it. false: it cannot be read now, or is not to be sent.
static bool read_anew(follow *f, file *x) {
    ouro__live_error problem = {0};
    bool first = !x->seen;
    key before = x->recording;
    forget_live(x);
    if (ouro__live_read_first(x->fd, &x->live, &problem)) {
        say_trouble(f, x, problem.message);
        return false;
    }
    x->has_live = true;
    memcpy(x->recording.bytes, x->live.recording, sizeof x->recording);
    bool other = memcmp(&before, &x->recording, sizeof before) != 0;
    if (is_copy(f, x)) return false;
    if (!make_labels(f, x) || (!x->track && !(x->track = ouro__track_new()))) {
        say_trouble(f, x, "out of memory");
        return false;
    }
    end_trouble(x);
    say_no_space(f, x);
    x->process = x->live.process;
    x->process_start = x->live.process_start;
    if (!first && !other) return true;
    x->seen = now();
    x->was_running = x->live.running;
    if (x->live.running) say(f, FOLLOW_BEGAN, x->path, "");
    return true;
}

static bool read_again(file *x) {
    return x->has_live && x->live.running &&
           ouro__live_has_writer(x->fd, x->live.process, x->live.process_start) &&
           ouro__live_read_again(x->fd, &x->live);
}

// When a program that was killed before it was seen wrote last, as far as the file knows.
static uint64_t last_change(const file *x) {
    struct stat s;
    return fstat(x->fd, &s) == 0 ? milliseconds(&s.st_mtim) : now();
}

static track_options slice_options(const follow *f, const file *x, bool same) {
    uint64_t start = x->live.start_time / 1000000, end = x->live.end_time / 1000000;
    track_options o = {.labels = &x->labels,
                       .root = f->options->root,
                       .from = start,
                       .seen = x->seen,
                       .until = now(),
                       .same_paths = same};
    if (!x->live.running && end) o.until = end;
    if (!x->live.running && !end && !x->was_running) o.until = last_change(x);
    return o;
}

// ---------------------------------------------------------------- sending

static bool open_store(follow *f, error *e) {
    if (f->store) return true;
    f->store = ouro__store_open(f->options->store, true, e);
    if (f->store) ouro__store_patience(f->store, f->options->patience);
    return f->store != NULL;
}

// What it has is not certain any more; it may even be another one when it is back.
static void close_store(follow *f) {
    ouro__store_close(f->store);
    f->store = NULL;
    for (size_t i = 0; i < f->file_count; i++) {
        if (f->files[i].track) ouro__track_doubt(f->files[i].track);
    }
}

// Of a program that had ended when it was seen, and that the store has all of, nothing is said.
static void file_end(follow *f, file *x, bool sent) {
    if (sent || x->was_running) say(f, FOLLOW_ENDED, x->path, "");
    x->state = ENDED;
    file_close(x);
}

typedef enum { IDLE, SENT, NOT_READ, NOT_STORED } outcome;

static outcome file_send(follow *f, file *x, error *e) {
    track_result done;
    bool same = read_again(x);
    if (!same && !read_anew(f, x)) return x->state == COPY ? IDLE : NOT_READ;
    track_options o = slice_options(f, x, same);
    if (!open_store(f, e) || !ouro__track_send(x->track, f->store, &x->live, &o, &done, e))
        return NOT_STORED;
    f->slices += done.paths != 0;
    end_trouble(x);
    if (!x->live.running) file_end(f, x, done.paths != 0);
    return done.reached ? SENT : IDLE;
}

// A damaged file that nobody writes to any more will not get better.
static void drop_if_hopeless(file *x) {
    if (ouro__live_has_writer(x->fd, x->process, x->process_start)) return;
    file_close(x);
    x->state = FOREIGN;
    x->waiting = false;
}

typedef struct {
    uint32_t sent, in_a_row;
    bool unread, unstored;
    error error;
} round_result;

// false: the store is gone, and the round is over.
static bool file_round(follow *f, file *x, round_result *r) {
    if (x->state == COPY && !find_original(f, x)) x->state = NEW;
    if (x->state == NEW) file_begin(f, x);
    if (x->state == BUSY) try_lock(f, x);
    if (x->state != FOLLOWED) return true;
    error e = {0};
    outcome o = file_send(f, x, &e);
    x->waiting = o == NOT_READ || o == NOT_STORED;
    if (o == NOT_READ) {
        r->unread = true;
        drop_if_hopeless(x);
    }
    if (o == SENT) {
        r->sent++;
        r->in_a_row = 0;
    }
    if (o != NOT_STORED) return true;
    r->unstored = true;
    r->error = e;
    return ++r->in_a_row < FAILURES_IN_A_ROW;
}

// Either all is well, or nothing could be sent, or the store refuses some files.
static void say_result(follow *f, const round_result *r) {
    bool outage = r->unstored && (!r->sent || r->in_a_row >= FAILURES_IN_A_ROW);
    if (outage) close_store(f);
    if (outage && !f->outage) say(f, FOLLOW_OUTAGE, NULL, r->error.message);
    if (f->outage && !outage && r->sent) say(f, FOLLOW_BACK, NULL, "");
    if (outage || r->sent) f->outage = outage;
}

bool ouro__follow_round(follow *f) {
    round_result r = {0};
    look_around(f);
    size_t first = f->file_count ? f->first % f->file_count : 0;
    for (size_t i = 0; i < f->file_count; i++) {
        size_t at = (first + i) % f->file_count;
        bool unstored = r.unstored;
        bool go_on = file_round(f, &f->files[at], &r);
        // Another one begins the next round, so that one that is refused does not stop the others.
        if (r.unstored && !unstored) f->first = at + 1;
        if (r.in_a_row && r.sent) say_trouble(f, &f->files[at], r.error.message);
        if (!go_on) break;
    }
    say_result(f, &r);
    return !r.unread && !r.unstored;
}

// ---------------------------------------------------------------- the whole

follow *ouro__follow_new(const follow_options *o) {
    follow *f = calloc(1, sizeof *f);
    if (f) f->options = o;
    return f;
}

void ouro__follow_free(follow *f) {
    if (!f) return;
    for (size_t i = 0; i < f->file_count; i++) file_free(&f->files[i]);
    for (size_t i = 0; i < f->place_count; i++) free(f->places[i].name);
    ouro__lookup_free(&f->by_number);
    free(f->files);
    free(f->places);
    ouro__store_close(f->store);
    free(f);
}

bool ouro__follow_add(follow *f, const char *path) {
    place *places = realloc(f->places, (f->place_count + 1) * sizeof *places);
    if (!places) return false;
    f->places = places;
    places[f->place_count] = (place){.name = strdup(path)};
    if (!places[f->place_count].name) return false;
    // a/ is a, in the names of what is in it.
    for (char *end = strchr(places[f->place_count].name, '\0');
         --end > places[f->place_count].name && *end == '/';)
        *end = '\0';
    f->place_count++;
    return true;
}

follow_counts ouro__follow_counts(const follow *f) {
    follow_counts c = {.slices = f->slices};
    for (size_t i = 0; i < f->file_count; i++) {
        c.followed += f->files[i].state == FOLLOWED;
        c.waiting += f->files[i].waiting;
    }
    return c;
}
