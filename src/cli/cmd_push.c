// SPDX-License-Identifier: MIT
//
// ouro push: profiles of any format into a store, a slice each. The same profile with the same
// labels counts once; of a live file, what is new since it was pushed last. With --follow, live
// files are sent again and again; see follow.c.

#include "cli.h"

#include "printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const allowed[] = {"store",   "service", "build",  "label", "root", "from",
                                      "compact", "limit",   "follow", "every", "once", NULL};

// ---------------------------------------------------------------- labels

static void put_label(label_set *l, const char *name, const char *value) {
    if (!ouro__label_set_put(l, name, value)) fail_memory();
}

// NAME=VALUE
static void put_option(label_set *l, const char *text) {
    const char *sign = strchr(text, '=');
    if (!sign || sign == text) fail_usage("push", "--label %s: expected NAME=VALUE", text);
    char *name = strndup(text, (size_t)(sign - text));
    if (!name) fail_memory();
    if (strcmp(name, "since") == 0 || strcmp(name, "until") == 0)
        fail_usage("push", "--label %s: since and until are times, no labels", text);
    put_label(l, name, sign + 1);
    free(name);
}

// The name of a file up to its first dot: what a recording is called if nobody says it.
static void put_service(label_set *l, const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strcspn(base, ".");
    char *name = length ? strndup(base, length) : strdup(base);
    if (!name) fail_memory();
    put_label(l, "service", name);
    free(name);
}

// What --follow says of a live file, too.
static void put_program(label_set *l, const profile *p) {
    char pid[32];
    if (!p->program) return;
    const char *slash = strrchr(p->program, '/');
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)p->process);
    put_label(l, "pid", pid);
    put_label(l, "program", slash ? slash + 1 : p->program);
}

// Without a path: what all have. Options come last: they count.
static label_set labels_of(const options *o, const char *path, const profile *p) {
    label_set l = {0};
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0 && *host) put_label(&l, "host", host);
    if (path) put_service(&l, path);
    if (p) put_program(&l, p);
    if (o->service) put_label(&l, "service", o->service);
    if (o->build) put_label(&l, "build", o->build);
    for (size_t i = 0; i < o->label.count; i++) put_option(&l, o->label.items[i]);
    return l;
}

// ---------------------------------------------------------------- pushing

// When the file was written, for profiles that do not say when they were recorded.
static uint64_t time_of(const char *path) {
    struct stat status;
    struct timespec now;
    if (strcmp(path, "-") != 0 && stat(path, &status) == 0)
        now = status.st_mtim;
    else
        clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// Keys are those of canonical paths.
static profile *canonical(const char *path, profile *p) {
    error e = {0};
    if (p->rule == RULE_LOOPS) return p;
    profile *compacted = ouro__compacted(p, RULE_LOOPS, 0, &e);
    if (!compacted) fail_with(path, &e);
    memcpy(compacted->recording, p->recording, sizeof p->recording);
    compacted->resets = p->resets;
    ouro__profile_free(p);
    return compacted;
}

static void say_pushed(const char *path, const pushed *done) {
    char paths[GROUPED_ROOM];
    output *out = stdout_open();
    ouro__grouped(paths, done->paths);
    if (done->known)
        put_line(out, "%s: is in the store already", path);
    else if (done->paths == 0)
        put_line(out, "%s: nothing new", path);
    else
        put_line(out, "%s: %s path%s as slice %llu", path, paths, done->paths == 1 ? "" : "s",
                 (unsigned long long)done->number);
    stdout_close(out);
}

static void push_file(const options *o, store *s, const char *path) {
    error e = {0};
    pushed done;
    profile *read = load_profile(o, path, false);
    label_set l = labels_of(o, path, read);
    profile *p = canonical(path, read);
    char *root = o->root ? strdup(o->root) : ouro__find_root(p);
    push_options how = {.labels = &l, .root = root, .time = time_of(path)};
    if (!ouro__store_push(s, p, &how, &done, &e)) fail_with(o->store, &e);
    say_pushed(path, &done);
    if (ouro__store_note(s)) ouro__say("ouro push: %s: %s", path, ouro__store_note(s));
    free(root);
    ouro__profile_free(p);
    ouro__label_set_free(&l);
}

static int follow_all(const options *o) {
    if (o->from || o->rule != RULE_DEFAULT || o->limit)
        fail_usage("push", "--follow takes live files as they are, without --from, --compact and "
                           "--limit");
    label_set l = labels_of(o, NULL, NULL);
    int status = follow_files(o, &l);
    ouro__label_set_free(&l);
    return status;
}

int cmd_push(int argc, char **argv) {
    options o;
    error e = {0};
    options_parse(&o, argc, argv, "push", allowed);
    use_live_files(&o, o.inputs.count);
    if (!o.store) fail_usage("push", "expected --store FILE.db");
    if (o.inputs.count == 0) fail_usage("push", "expected at least one file");
    if ((o.every || o.once) && !o.follow) fail_usage("push", "--every and --once are for --follow");
    if (o.follow) {
        int status = follow_all(&o);
        options_free(&o);
        return status;
    }
    const char *url = o.store;
    store *s = ouro__store_open(url, true, &e);
    if (!s) fail_with(url, &e);
    for (size_t i = 0; i < o.inputs.count; i++) {
        label_set unused = labels_of(&o, o.inputs.items[i], NULL); // wrong labels are told first
        ouro__label_set_free(&unused);
    }
    for (size_t i = 0; i < o.inputs.count; i++) push_file(&o, s, o.inputs.items[i]);
    ouro__store_close(s);
    options_free(&o);
    return EXIT_GOOD;
}
