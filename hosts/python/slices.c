// SPDX-License-Identifier: MIT
//
// Slices. In precise mode every call of a Python function can be one, from its call to its return;
// each Python thread has its own. A recursive call belongs to the outermost one, and so does a call
// of another greenlet meanwhile. Of a generator or coroutine each stretch that it runs is a slice,
// from a call or resume to the next suspension: between them others run.
//
// A program may also say itself where a slice ends. While it is sampled, all its threads share the
// slices, as they share the tree.

#include "session.h"

#include <stdlib.h>
#include <string.h>

enum { SUGGESTED = 5 };

// "update" is also the name of Game.update and of main.<locals>.update.
bool slices_name(ouro_block block) {
    ouro_block_info info;
    const char *wanted = the_session.settings.slice;
    if (!wanted || !block || !ouro_block_get(the_session.profile, block, &info)) return false;
    size_t length = strlen(info.name), end = strlen(wanted);
    if (length < end || strcmp(info.name + length - end, wanted) != 0) return false;
    return length == end || info.name[length - end - 1] == '.';
}

void slices_call(track *t) {
    if (t->slice_open) return;
    t->slice_open = true;
    t->stack.sliced = t->stack.depth + 1;
    the_session.slices++;
    ouro_slice(t->thread);
}

void slices_end(track *t) {
    t->slice_open = false;
    t->stack.sliced = 0;
    ouro_slice_stop(t->thread);
}

static void say(ouro_thread *thread, bool next) {
    if (next) the_session.slices++;
    if (next) ouro_slice(thread);
    if (!next) ouro_slice_stop(thread);
}

// What start() asks for goes before what the program says.
PyObject *slices_say(PyObject *self, PyObject *arguments) {
    (void)self;
    int next = 1;
    if (!PyArg_ParseTuple(arguments, "|p:slice", &next)) return NULL;
    if (!the_session.running || the_session.settings.slice) Py_RETURN_NONE;
    const track *t = track_of(PyThreadState_Get());
    if (!the_session.settings.precise) {
        sample_consume(); // what is on its way belongs to the slice that ends
        sample_hold();
        say(sample_thread(), next);
        sample_release();
    } else if (t) {
        say(t->thread, next);
    }
    Py_RETURN_NONE;
}

// Up to five names that have the one that was not found as a part.
PyObject *slices_near(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    const session *s = &the_session;
    PyObject *names = PyList_New(0);
    ouro_block_info info;
    if (!names || !s->settings.slice) return names;
    for (ouro_block b = FIRST_BLOCK; ouro_block_get(s->profile, b, &info); b++) {
        if (PyList_GET_SIZE(names) == SUGGESTED) break;
        if (!strcasestr(info.name, s->settings.slice)) continue;
        PyObject *name = PyUnicode_DecodeUTF8(info.name, (Py_ssize_t)strlen(info.name), "replace");
        if (!name || PyList_Append(names, name)) PyErr_Clear();
        Py_XDECREF(name);
    }
    return names;
}
