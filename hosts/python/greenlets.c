// SPDX-License-Identifier: MIT
//
// Greenlets switch stacks under one Python thread, without an event for the profile hook. The
// module greenlet tells of each switch by its own trace function. Each greenlet then has a stack of
// tokens and a green thread of the library, which begins where the greenlet was first switched to.
// A trace function that the program has set before is called after ours.
//
// Only precise mode needs this: a sample reads the frames that are there.

#include "session.h"

#include <stdlib.h>

// A greenlet that does not run.
struct greenlet_stack {
    track *owner;
    ouro_thread *thread;
    token_stack stack;
};

typedef struct {
    PyObject *stacks; // from the greenlet's address to its stack
    PyObject *previous;
} greenlet_state;

static greenlet_state state_of_process;

static void stack_drop(track *t, struct greenlet_stack *saved) {
    ouro_thread *own = t->thread;
    token_stack stack = t->stack;
    t->thread = saved->thread;
    t->stack = saved->stack;
    stack_clear(t);
    ouro_thread_free(t->thread);
    t->thread = own;
    t->stack = stack;
    free(saved);
}

static struct greenlet_stack *take(PyObject *greenlet) {
    PyObject *key = PyLong_FromVoidPtr(greenlet);
    PyObject *found = key ? PyDict_GetItemWithError(state_of_process.stacks, key) : NULL;
    struct greenlet_stack *saved = found ? PyLong_AsVoidPtr(found) : NULL;
    if (saved) PyDict_DelItem(state_of_process.stacks, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return saved;
}

static void put(PyObject *greenlet, struct greenlet_stack *saved) {
    PyObject *key = PyLong_FromVoidPtr(greenlet), *value = PyLong_FromVoidPtr(saved);
    if (key && value) PyDict_SetItem(state_of_process.stacks, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    PyErr_Clear();
}

static bool is_dead(PyObject *greenlet) {
    PyObject *dead = PyObject_GetAttrString(greenlet, "dead");
    bool is = dead && PyObject_IsTrue(dead) == 1;
    Py_XDECREF(dead);
    PyErr_Clear();
    return is;
}

static void switch_track(track *t, PyObject *origin, PyObject *target) {
    struct greenlet_stack *from = calloc(1, sizeof *from), *to = take(target);
    if (!from) return; // without memory the target goes on below the origin
    *from = (struct greenlet_stack){t, t->thread, t->stack};
    if (to) {
        t->thread = to->thread;
        t->stack = to->stack;
        free(to);
    } else {
        t->thread = ouro_thread_fork(from->thread);
        t->stack = (token_stack){0};
    }
    ouro_clock_move(from->thread, t->thread);
    if (is_dead(origin)) {
        stack_drop(t, from);
    } else {
        put(origin, from);
    }
}

// What greenlet calls after each switch: (event, (origin, target)).
PyObject *greenlets_switched(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *event, *origin, *target;
    PyThreadState *tstate = PyThreadState_Get();
    if (!PyArg_ParseTuple(arguments, "O(OO)", &event, &origin, &target)) return NULL;
    bool ours = the_session.running && the_session.settings.precise && precise_is_attached(tstate);
    track *t = ours ? (track *)tstate->c_profileobj : NULL;
    if (t && t->thread && !t->waits && origin != target) switch_track(t, origin, target);
    PyObject *previous = state_of_process.previous;
    if (previous && previous != Py_None) return PyObject_CallObject(previous, arguments);
    Py_RETURN_NONE;
}

static PyMethodDef switched_method = {"greenlet_switched", greenlets_switched, METH_VARARGS, NULL};

static PyObject *our_function(void) {
    static PyObject *function;
    if (!function) function = PyCFunction_New(&switched_method, NULL);
    return function;
}

static void set_trace(PyObject *module) {
    PyObject *function = our_function();
    if (!state_of_process.stacks) state_of_process.stacks = PyDict_New();
    PyObject *old = function && state_of_process.stacks
                        ? PyObject_CallMethod(module, "settrace", "O", function)
                        : NULL;
    if (old && old != function) Py_XSETREF(state_of_process.previous, Py_NewRef(old));
    Py_XDECREF(old);
    PyErr_Clear();
}

static PyObject *greenlet_module(void) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet") : NULL;
    PyObject *core = module ? PyDict_GetItemString(modules, "greenlet._greenlet") : NULL;
    return core && PyObject_HasAttrString(module, "settrace") ? module : NULL;
}

// Called when a function is seen for the first time, so before greenlets that it imports switch.
// The trace function of greenlet is one per thread.
void greenlets_look(void) {
    PyThreadState *tstate = PyThreadState_Get();
    track *t = precise_is_attached(tstate) ? (track *)tstate->c_profileobj : NULL;
    PyObject *module = t && !t->greenlets ? greenlet_module() : NULL;
    if (!module) return;
    t->greenlets = true;
    set_trace(module);
}

// The stacks of a thread's greenlets, at the end of the thread or the session.
static void drop_all(track *t) {
    PyObject *keys = PyDict_Keys(state_of_process.stacks);
    for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        PyObject *value = PyDict_GetItem(state_of_process.stacks, key);
        struct greenlet_stack *saved = value ? PyLong_AsVoidPtr(value) : NULL;
        if (!saved || saved->owner != t) continue;
        stack_drop(t, saved);
        PyDict_DelItem(state_of_process.stacks, key);
    }
    Py_XDECREF(keys);
    PyErr_Clear();
}

void greenlets_forget(track *t) {
    if (!t->greenlets || !state_of_process.stacks) return;
    drop_all(t);
    t->greenlets = false;
    PyObject *module = t->tstate_id == PyThreadState_Get()->id ? greenlet_module() : NULL;
    PyObject *previous = state_of_process.previous ? state_of_process.previous : Py_None;
    PyObject *ours = module ? PyObject_CallMethod(module, "settrace", "O", previous) : NULL;
    Py_XDECREF(ours);
    PyErr_Clear();
}
