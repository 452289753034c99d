// SPDX-License-Identifier: MIT
//
// One recording: the profile, a track for every Python thread, and what happens to them at fork.
// All functions hold the GIL; the keeper and the signal handlers do not and see only their own.

#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

session the_session;

// ---------------------------------------------------------------- tracks

track *track_of(const PyThreadState *tstate) {
    for (track *t = the_session.tracks; t; t = t->next) {
        if (t->tstate_id == tstate->id) return t;
    }
    return NULL;
}

track *track_new(PyThreadState *tstate) {
    track *t = PyObject_New(track, &track_type);
    if (!t) return NULL;
    memset((char *)t + sizeof(PyObject), 0, sizeof *t - sizeof(PyObject));
    t->tstate_id = tstate->id;
    t->next = the_session.tracks;
    the_session.tracks = t;
    if (the_session.settings.precise) t->thread = ouro_thread_new(the_session.profile);
    return t;
}

static void track_close(track *t) {
    if (memory_track == t) memory_track = NULL;
    t->last_allocated = NULL;
    sample_detach(t);
    greenlets_forget(t);
    stack_clear(t);
    if (t->thread) ouro_thread_free(t->thread);
    t->thread = NULL;
}

// Ends the recording of one thread. The object stays while the interpreter has it as its hook's.
void track_end(track *t) {
    track **link = &the_session.tracks;
    while (*link && *link != t) link = &(*link)->next;
    if (!*link) return;
    *link = t->next;
    track_close(t);
    Py_DECREF(t);
}

static void track_dealloc(PyObject *self) {
    Py_XDECREF(((track *)self)->chained);
    PyObject_Free(self);
}

PyTypeObject track_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ouro._ouro.track",
    .tp_basicsize = sizeof(track),
    .tp_dealloc = track_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

// ---------------------------------------------------------------- the profile

static ouro_metric add_metric(ouro_metric_info *all, size_t *count, const char *name,
                              const char *unit) {
    all[*count] = (ouro_metric_info){name, unit};
    return (ouro_metric)(*count)++;
}

// 0: the duration, or there is no such metric.
static uint32_t slow_by(const settings *wanted, const ouro_metric_info *metrics, size_t count) {
    for (uint32_t i = 0; wanted->slice_by && i < count; i++) {
        if (strcmp(metrics[i].name, wanted->slice_by) == 0) return i + 1;
    }
    return 0;
}

static ouro_profile *new_profile(session *s) {
    ouro_metric_info metrics[OURO_METRICS_MAX];
    const settings *wanted = &s->settings;
    size_t count = 0;
    s->resumes = s->native = s->gil_wait = s->allocations = s->allocated = UINT32_MAX;
    s->samples = UINT32_MAX;
    s->time = add_metric(metrics, &count, "time", "nanoseconds");
    if (wanted->precise) s->resumes = add_metric(metrics, &count, "resumes", "count");
    if (wanted->gil) s->native = add_metric(metrics, &count, "native", "nanoseconds");
    if (wanted->gil) s->gil_wait = add_metric(metrics, &count, "gil_wait", "nanoseconds");
    if (wanted->memory) s->allocations = add_metric(metrics, &count, "allocations", "count");
    if (wanted->memory) s->allocated = add_metric(metrics, &count, "allocated", "bytes");
    if (!wanted->precise) s->samples = add_metric(metrics, &count, "samples", "count");
    uint32_t by = slow_by(wanted, metrics, count);
    if (wanted->slice_by && !by && strcmp(wanted->slice_by, "duration") != 0) {
        errno = EDOM;
        return NULL;
    }
    ouro_options options = {.compaction = wanted->compaction,
                            .edge_length = wanted->edge_length,
                            .max_nodes = wanted->max_nodes,
                            .metrics = metrics,
                            .metric_count = count,
                            .path = wanted->live,
                            .slices = {.name = wanted->slice, .by = by},
                            .clock = {.measures = wanted->cpu ? OURO_CLOCK_CPU : OURO_CLOCK_WALL}};
    return output_profile(&s->output, &options);
}

void session_free(void) {
    session *s = &the_session;
    ouro_profile_free(s->profile);
    block_map_free(&s->by_text);
    free(s->package);
    free((char *)s->settings.slice);
    free((char *)s->settings.slice_by);
    output_end(&s->output);
    *s = (session){.number = s->number};
}

// ---------------------------------------------------------------- start

// Every thread of the interpreter but the one that starts: they stand still while we hold the GIL.
static int attach_thread(PyThreadState *tstate, bool waits) {
    track *t = track_new(tstate);
    if (!t || (the_session.settings.precise && !t->thread)) {
        PyErr_NoMemory();
        return -1;
    }
    if (waits) return precise_wait(t, tstate);
    if (!the_session.settings.precise) return sample_attach(t, tstate, NULL);
    precise_open_frames(t, tstate);
    return precise_attach(t, tstate);
}

static int attach_all(bool waits) {
    PyThreadState *own = PyThreadState_Get();
    PyThreadState *each = PyInterpreterState_ThreadHead(own->interp);
    for (; each; each = PyThreadState_Next(each)) {
        if (each != own && attach_thread(each, false)) return -1;
    }
    return attach_thread(own, waits); // last, so that our own work is not recorded
}

static int begin(bool waits) {
    session *s = &the_session;
    if (precise_setup()) return -1;
    precise_forget();
    if (!s->settings.precise && !sample_begin()) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    if (s->settings.memory && !memory_watch()) {
        PyErr_NoMemory();
        return -1;
    }
    return attach_all(waits);
}

int session_start(const settings *wanted, const char *package, bool waits) {
    session *s = &the_session;
    if (s->running) {
        PyErr_SetString(PyExc_RuntimeError, "ouro: a recording runs already; stop it first");
        return -1;
    }
    if (PyThreadState_Get()->interp != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "ouro: only the main interpreter can be recorded");
        return -1;
    }
    session_free();
    s->number++;
    s->settings = *wanted;
    s->pid = getpid();
    s->package = strdup(package);
    if (wanted->output && output_begin(&s->output, wanted->output)) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, wanted->output);
        return -1;
    }
    s->settings.slice = wanted->slice ? strdup(wanted->slice) : NULL;
    s->settings.slice_by = wanted->slice_by ? strdup(wanted->slice_by) : NULL;
    bool copied =
        !s->settings.slice == !wanted->slice && !s->settings.slice_by == !wanted->slice_by;
    s->profile = copied ? new_profile(s) : NULL;
    s->settings.output = s->settings.live = NULL; // the caller's
    if (!s->profile && errno == EDOM) {
        PyErr_Format(PyExc_ValueError, "ouro: there is no metric %s to slice by", wanted->slice_by);
        return -1;
    }
    if (!s->profile) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, wanted->live ? wanted->live : wanted->output);
        return -1;
    }
    s->running = true;
    if (begin(waits) == 0) return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    session_stop();
    output_discard(&s->output);
    PyErr_Restore(type, value, traceback);
    return -1;
}

// ---------------------------------------------------------------- stop

static void detach_all(void) {
    PyThreadState *each = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
    for (; each; each = PyThreadState_Next(each)) {
        if (!track_of(each)) continue;
        if (the_session.settings.precise || precise_is_attached(each)) precise_detach(each);
    }
}

void session_stop(void) {
    session *s = &the_session;
    if (!s->running) return;
    memory_unwatch();
    detach_all();
    while (s->tracks) track_end(s->tracks);
    if (!s->settings.precise) sample_end();
    s->running = false;
}

int session_write(void) {
    session *s = &the_session;
    return s->output.path && s->profile ? output_write(&s->output, s->profile) : 0;
}

// ---------------------------------------------------------------- fork

// The same blocks, in a live file of its own. NULL with errno.
static ouro_profile *profile_of_child(session *s) {
    ouro_profile *profile = new_profile(s);
    ouro_block_info info;
    for (ouro_block b = FIRST_BLOCK; profile && ouro_block_get(s->profile, b, &info); b++) {
        if (ouro_add_block(profile, &info) == b) continue;
        output_discard_live(&s->output);
        ouro_profile_free(profile);
        return NULL;
    }
    return profile;
}

static void take_profile_of_child(session *s) {
    ouro_profile *profile = profile_of_child(s);
    if (profile) {
        ouro_profile_free(s->profile);
        s->profile = profile;
    } else { // in memory
        ouro_profile_reset(s->profile);
    }
}

static void record_child(track *t, PyThreadState *own) {
    if (the_session.settings.precise) {
        t->thread = ouro_thread_new(the_session.profile);
        if (!precise_is_attached(own) || t->waits) return;
        precise_open_frames(t, own);
        precise_attach(t, own);
    } else if (!sample_begin() || sample_attach(t, own, NULL)) {
        PyErr_Clear();
    }
}

// In the child: only this thread is left, without clocks, and its profile begins at zero.
void session_after_fork(const char *path) {
    session *s = &the_session;
    if (!s->running || s->pid == getpid()) return;
    s->pid = getpid();
    output_end(&s->output);
    if (path) s->output.path = strdup(path);
    PyThreadState *own = PyThreadState_Get();
    for (track *t = s->tracks, *next; t; t = next) {
        next = t->next;
        if (t->tstate_id != own->id) track_end(t);
    }
    track *t = track_of(own);
    if (t) track_close(t);
    if (!s->settings.precise) sample_forget();
    take_profile_of_child(s);
    if (t) record_child(t, own);
}
