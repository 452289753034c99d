// SPDX-License-Identifier: MIT
//
// Python threads that begin while a session runs. `_thread.start_new_thread` is replaced by a
// function that gives the new thread a starter instead of its function: a callable that attaches
// the thread to the session, calls the function, and ends the thread's track.

#include "session.h"

typedef struct {
    PyObject_HEAD;
    PyObject *function;
} starter;

static void attach(PyThreadState *tstate, PyObject *function) {
    if (!the_session.running || tstate->interp != PyInterpreterState_Main()) return;
    track *t = track_new(tstate);
    int failed = !t || (the_session.settings.precise ? precise_attach(t, tstate)
                                                     : sample_attach(t, tstate, function));
    if (failed) PyErr_Clear(); // the thread runs all the same
}

static void detach(PyThreadState *tstate) {
    track *t = the_session.running ? track_of(tstate) : NULL;
    if (!t) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (the_session.settings.precise) precise_detach(tstate);
    track_end(t);
    PyErr_Restore(type, value, traceback);
}

// An exception in a thread is told about its function, not about us, as `_thread` does.
static PyObject *told(PyObject *function) {
    if (PyErr_ExceptionMatches(PyExc_SystemExit)) return NULL;
    _PyErr_WriteUnraisableMsg("in thread started by", function);
    Py_RETURN_NONE;
}

static PyObject *starter_call(PyObject *self, PyObject *arguments, PyObject *named) {
    PyThreadState *tstate = PyThreadState_Get();
    PyObject *function = Py_NewRef(((starter *)self)->function);
    attach(tstate, function);
    PyObject *result = PyObject_Call(function, arguments, named);
    detach(tstate);
    if (!result) result = told(function);
    Py_DECREF(function);
    return result;
}

static void starter_dealloc(PyObject *self) {
    Py_XDECREF(((starter *)self)->function);
    PyObject_Free(self);
}

PyTypeObject starter_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ouro._ouro.starter",
    .tp_basicsize = sizeof(starter),
    .tp_dealloc = starter_dealloc,
    .tp_call = starter_call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

PyObject *threads_starter(PyObject *function) {
    starter *s = PyObject_New(starter, &starter_type);
    if (s) s->function = Py_NewRef(function);
    return (PyObject *)s;
}
