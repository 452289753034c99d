// SPDX-License-Identifier: MIT
//
// ouro._ouro: what the package `ouro` is made of. The package (ouro/__init__.py) has the interface
// for programs; here is what needs C.

#include "session.h"

#include "gzip.h"

#include <errno.h>
#include <string.h>

static PyObject *original_start_new_thread;

// ---------------------------------------------------------------- recording

static bool take_rule(settings *s, const char *name) {
    ouro_options rule;
    if (ouro_compaction_from_name(name, &rule) != 0) {
        PyErr_Format(PyExc_ValueError, "ouro: there is no rule %s", name);
        return false;
    }
    s->compaction = rule.compaction;
    s->edge_length = rule.edge_length;
    return true;
}

static PyObject *start(PyObject *self, PyObject *arguments, PyObject *named) {
    (void)self;
    static char *names[] = {"package", "precise", "memory",   "gil",       "cpu",
                            "hz",      "output",  "live",     "max_nodes", "compact",
                            "waits",   "slice",   "slice_by", NULL};
    settings wanted = {0};
    const char *package, *compact = NULL;
    int precise = 0, memory = 0, gil = 0, cpu = 0, waits = 0;
    PyObject *output = NULL, *live = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            arguments, named, "s|$ppppIO&O&Izpzz", names, &package, &precise, &memory, &gil, &cpu,
            &wanted.hz, PyUnicode_FSConverter, &output, PyUnicode_FSConverter, &live,
            &wanted.max_nodes, &compact, &waits, &wanted.slice, &wanted.slice_by))
        return NULL;
    wanted.precise = precise || memory;
    wanted.memory = memory;
    wanted.gil = gil && !wanted.precise;
    wanted.cpu = cpu;
    wanted.output = output ? PyBytes_AsString(output) : NULL;
    wanted.live = live ? PyBytes_AsString(live) : NULL;
    int failed =
        compact && !take_rule(&wanted, compact) ? -1 : session_start(&wanted, package, waits);
    Py_XDECREF(output);
    Py_XDECREF(live);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    bool ran = the_session.running;
    session_stop();
    return PyBool_FromLong(ran);
}

static PyObject *running(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyBool_FromLong(the_session.running);
}

// Writes the output of the session that has ended. False: it has none.
static PyObject *write_output(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    if (!the_session.profile || !the_session.output.path) Py_RETURN_FALSE;
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = session_write() ? errno : 0;
    Py_END_ALLOW_THREADS;
    errno = code;
    if (code) return PyErr_SetFromErrnoWithFilename(PyExc_OSError, the_session.output.path);
    Py_RETURN_TRUE;
}

static PyObject *write_file(PyObject *self, PyObject *argument) {
    (void)self;
    PyObject *path;
    if (!PyUnicode_FSConverter(argument, &path)) return NULL;
    if (!the_session.profile) {
        Py_DECREF(path);
        PyErr_SetString(PyExc_RuntimeError, "ouro: nothing was recorded");
        return NULL;
    }
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = write_profile(the_session.profile, PyBytes_AS_STRING(path)) ? errno : 0;
    Py_END_ALLOW_THREADS;
    errno = code;
    if (code) PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, argument);
    Py_DECREF(path);
    if (code) return NULL;
    Py_RETURN_NONE;
}

static PyObject *stats(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    if (!the_session.profile) Py_RETURN_NONE;
    ouro_stats s = ouro_profile_stats(the_session.profile);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:i,s:i,s:z}", "calls", (unsigned long long)s.calls, "time",
        (unsigned long long)s.totals[0], "nodes", (unsigned long long)s.nodes, "blocks",
        (unsigned long long)s.blocks, "taken", (unsigned long long)the_session.taken, "clockless",
        (unsigned long long)the_session.clockless, "slices", (unsigned long long)the_session.slices,
        "left", the_session.left, "sends", the_session.sends, "live", the_session.output.live);
}

// What is done around fork, as os.register_at_fork says it.
static PyObject *before_fork(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    sample_hold();
    Py_RETURN_NONE;
}

static PyObject *after_fork_in_parent(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    sample_release();
    Py_RETURN_NONE;
}

// Takes the name of a file for the child's own profile, or None.
static PyObject *after_fork_in_child(PyObject *self, PyObject *argument) {
    (void)self;
    PyObject *path = NULL;
    sample_release();
    if (argument != Py_None && !PyUnicode_FSConverter(argument, &path)) PyErr_Clear();
    session_after_fork(path ? PyBytes_AS_STRING(path) : NULL);
    Py_XDECREF(path);
    Py_RETURN_NONE;
}

// ---------------------------------------------------------------- signals

static PyObject *guard(PyObject *self, PyObject *on) {
    (void)self;
    if (on == Py_True) {
        keeper_guard();
    } else {
        keeper_unguard();
    }
    Py_RETURN_NONE;
}

// The program is about to use this signal. True: ticks came by it until now.
static PyObject *leave_signal(PyObject *self, PyObject *argument) {
    (void)self;
    int number = PyLong_Check(argument) ? (int)PyLong_AsLong(argument) : 0;
    if (PyErr_Occurred()) PyErr_Clear();
    session *s = &the_session;
    if (!s->running || number <= 0) Py_RETURN_FALSE;
    int sends = s->settings.precise ? ouro_clock_leave(number) : sample_leave(number);
    if (sends == number) Py_RETURN_FALSE;
    s->left = number;
    s->sends = sends;
    Py_RETURN_TRUE;
}

// ---------------------------------------------------------------- what is replaced

static PyObject *start_new_thread(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (!count || !PyCallable_Check(PyTuple_GET_ITEM(arguments, 0)))
        return PyObject_CallObject(original_start_new_thread, arguments); // to complain
    PyObject *copied = PyTuple_New(count);
    PyObject *starter = threads_starter(PyTuple_GET_ITEM(arguments, 0));
    if (!copied || !starter) {
        Py_XDECREF(copied);
        Py_XDECREF(starter);
        return NULL;
    }
    PyTuple_SET_ITEM(copied, 0, starter);
    for (Py_ssize_t i = 1; i < count; i++)
        PyTuple_SET_ITEM(copied, i, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
    PyObject *result = PyObject_CallObject(original_start_new_thread, copied);
    Py_DECREF(copied);
    return result;
}

static PyMethodDef start_new_thread_method = {"start_new_thread", start_new_thread, METH_VARARGS,
                                              NULL};

// The function that stands in for `_thread.start_new_thread`, under the same name.
static PyObject *thread_starter(PyObject *self, PyObject *original) {
    (void)self;
    Py_XSETREF(original_start_new_thread, Py_NewRef(original));
    PyObject *module = PyUnicode_FromString("_thread");
    PyObject *function = PyCFunction_NewEx(&start_new_thread_method, NULL, module);
    Py_XDECREF(module);
    return function;
}

// ---------------------------------------------------------------- the module

static PyMethodDef functions[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"running", running, METH_NOARGS, NULL},
    {"write", write_file, METH_O, NULL},
    {"write_output", write_output, METH_NOARGS, NULL},
    {"stats", stats, METH_NOARGS, NULL},
    {"slice", slices_say, METH_VARARGS, NULL},
    {"slices_near", slices_near, METH_NOARGS, NULL},
    {"before_fork", before_fork, METH_NOARGS, NULL},
    {"after_fork_in_parent", after_fork_in_parent, METH_NOARGS, NULL},
    {"after_fork_in_child", after_fork_in_child, METH_O, NULL},
    {"guard", guard, METH_O, NULL},
    {"leave_signal", leave_signal, METH_O, NULL},
    {"thread_starter", thread_starter, METH_O, NULL},
    {"stand_ins", precise_stand_ins, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module) {
    if (PyThreadState_Get()->interp != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "ouro: only the main interpreter can be recorded");
        return -1;
    }
    if (PyType_Ready(&track_type) || PyType_Ready(&starter_type)) return -1;
    return PyModule_AddStringConstant(module, "version", OURO_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "ouro._ouro",
                                        .m_methods = functions, .m_slots = slots};

OURO_API PyObject *PyInit__ouro(void);
PyObject *PyInit__ouro(void) { return PyModuleDef_Init(&definition); }
