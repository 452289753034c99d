// SPDX-License-Identifier: MIT
//
// A request in a segment is a header, the texts with their NULs, and the body. A request that was
// written in part, because its process was killed, has a header that does not fit: it was never
// answered, and what follows it does not exist.

#include "segment.h"

#include "descriptors.h"
#include "sha256.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

enum { NAME_ROOM = 64, MAGIC = 0x74736f70, TEXTS_MOST = 1 << 20, BODY_LONGEST = 64 << 20 };

typedef struct {
    uint32_t magic, check; // of all that follows
    uint64_t now;
    uint32_t target, content_type, host, body; // bytes; a content type of 0: not said
} header;

// ---------------------------------------------------------------- files

static bool make_folders(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!ok) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

char *ouro__segment_folder(error *e) {
    const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
    bool known = state && *state == '/';
    const char *base = known ? state : home;
    char *path = NULL;
    if (!base || *base != '/') {
        ouro__error_set(e, ENOENT, "no folder for the journal: set XDG_STATE_HOME or HOME");
        return NULL;
    }
    if (asprintf(&path, "%s%s/ouro/serve", base, known ? "" : "/.local/state") < 0) {
        ouro__error_memory(e);
        return NULL;
    }
    if (make_folders(path)) return path;
    ouro__error_set(e, errno, "the journal %s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

// The beginning of the names of a store's segments: a hash of its hosts and its database.
static void name_store(const char *url, char name[static 18]) {
    const char *start = strstr(url, "://");
    start = start ? start + 3 : url;
    size_t length = strcspn(start, "?#");
    const char *at = memrchr(start, '@', strcspn(start, "/?#"));
    if (at) length -= (size_t)(at + 1 - start);
    unsigned char hash[32];
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, at ? at + 1 : start, length);
    ouro__sha256_end(&s, hash);
    for (int i = 0; i < 8; i++) snprintf(name + 2 * i, 3, "%02x", (unsigned)hash[i]);
    strcpy(name + 16, "-");
}

// NULL: another process has it, or it is gone. Whoever has the lock of a file that has a name has
// the segment.
static segment *own(const char *folder, const char *name, int flags) {
    segment *s = calloc(1, sizeof *s);
    struct stat is;
    if (!s || asprintf(&s->path, "%s/%s", folder, name) < 0) {
        free(s);
        return NULL;
    }
    s->fd = ouro__open(s->path, O_RDWR | flags, 0600);
    if (s->fd >= 0 && flock(s->fd, LOCK_EX | LOCK_NB) == 0 && fstat(s->fd, &is) == 0 &&
        is.st_nlink) {
        s->size = s->synced = (uint64_t)is.st_size;
        return s;
    }
    ouro__segment_free(s, false);
    return NULL;
}

// A file's name is on disk when its folder is.
static bool sync_folder(const char *folder) {
    int fd = ouro__open(folder, O_RDONLY | O_DIRECTORY, 0);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return ok;
}

segment *ouro__segment_new(const char *folder, const char *url, error *e) {
    enum { TRIES = 20 };
    char name[NAME_ROOM], prefix[18];
    segment *s = NULL;
    name_store(url, prefix);
    for (int i = 0; !s && i < TRIES; i++) {
        struct timespec now;
        uint32_t dice = 0;
        clock_gettime(CLOCK_REALTIME, &now);
        if (getrandom(&dice, sizeof dice, 0) < 0) dice = (uint32_t)getpid();
        snprintf(name, sizeof name, "%s%011llx-%08x", prefix,
                 (unsigned long long)now.tv_sec * 1000 + (unsigned)now.tv_nsec / 1000000, dice);
        s = own(folder, name, O_CREAT | O_EXCL);
    }
    int problem = errno;
    if (s && sync_folder(folder)) return s;
    ouro__error_set(e, EIO, "the journal in %s: %s", folder, strerror(s ? errno : problem));
    if (s) ouro__segment_free(s, true);
    return NULL;
}

// The names have the time, so the sorted list is in its order.
segment *ouro__segments_left(const char *folder, const char *url) {
    struct dirent **names = NULL;
    char prefix[18];
    segment *list = NULL;
    name_store(url, prefix);
    int count = scandir(folder, &names, NULL, alphasort);
    for (int i = count - 1; i >= 0; i--) {
        segment *s = NULL;
        if (strncmp(names[i]->d_name, prefix, strlen(prefix)) == 0)
            s = own(folder, names[i]->d_name, 0);
        if (s) s->next = list;
        if (s) list = s;
        free(names[i]);
    }
    free(names);
    return list;
}

void ouro__segment_free(segment *s, bool remove) {
    if (remove) unlink(s->path); // before the lock is gone
    if (s->fd >= 0) close(s->fd);
    free(s->path);
    free(s);
}

// ---------------------------------------------------------------- requests

static bool write_at(int fd, const void *bytes, size_t size, uint64_t at) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t at) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static uint32_t check_of(const header *h, const void *text, const void *body) {
    unsigned char hash[32];
    uint32_t check;
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, &h->now, sizeof *h - offsetof(header, now));
    ouro__sha256_add(&s, text, (size_t)h->target + h->content_type + h->host);
    ouro__sha256_add(&s, body, h->body);
    ouro__sha256_end(&s, hash);
    memcpy(&check, hash, sizeof check);
    return check;
}

static uint32_t size_with_nul(const char *text) { return text ? (uint32_t)strlen(text) + 1 : 0; }

bool ouro__segment_write(segment *s, const posted *p, error *e) {
    header h = {.magic = MAGIC,
                .now = p->now,
                .target = size_with_nul(p->target),
                .content_type = size_with_nul(p->content_type),
                .host = size_with_nul(p->host),
                .body = (uint32_t)p->body.size};
    size_t text = (size_t)h.target + h.content_type + h.host;
    char *first = malloc(sizeof h + text);
    if (!first) return ouro__fail_memory(e);
    memcpy(first + sizeof h, p->target, h.target);
    if (h.content_type) memcpy(first + sizeof h + h.target, p->content_type, h.content_type);
    memcpy(first + sizeof h + h.target + h.content_type, p->host, h.host);
    h.check = check_of(&h, first + sizeof h, p->body.bytes);
    memcpy(first, &h, sizeof h);
    bool ok = write_at(s->fd, first, sizeof h + text, s->size) &&
              write_at(s->fd, p->body.bytes, p->body.size, s->size + sizeof h + text);
    free(first);
    if (!ok) return ouro__fail(e, EIO, "the journal %s: %s", s->path, strerror(errno));
    s->size += sizeof h + text + p->body.size;
    return true;
}

static bool is_sane(const header *h) {
    return h->magic == MAGIC && h->target && h->target <= TEXTS_MOST && h->host &&
           h->host <= TEXTS_MOST && h->content_type <= TEXTS_MOST && h->body <= BODY_LONGEST;
}

bool ouro__segment_read(const segment *s, uint64_t *at, posted *p, void **memory, error *e) {
    header h;
    if (s->size - *at < sizeof h || !read_at(s->fd, &h, sizeof h, *at) || !is_sane(&h))
        return false;
    size_t text = (size_t)h.target + h.content_type + h.host, size = text + h.body;
    if (s->size - *at - sizeof h < size) return false;
    char *bytes = malloc(size);
    if (!bytes) return ouro__fail_memory(e);
    bool ok = read_at(s->fd, bytes, size, *at + sizeof h) || ouro__fail(e, EIO, "%s", s->path);
    ok = ok && h.check == check_of(&h, bytes, bytes + text) && !bytes[h.target - 1] &&
         !bytes[text - 1] && !(h.content_type && bytes[h.target + h.content_type - 1]);
    if (!ok) {
        free(bytes);
        return false;
    }
    *memory = bytes;
    *p = (posted){.target = bytes,
                  .content_type = h.content_type ? bytes + h.target : NULL,
                  .body = {(const unsigned char *)bytes + text, h.body},
                  .host = bytes + h.target + h.content_type,
                  .now = h.now};
    *at += sizeof h + size;
    return true;
}
