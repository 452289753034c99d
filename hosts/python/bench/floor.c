// SPDX-License-Identifier: MIT
//
// The floor: a profile hook in C that does nothing. What it costs is what the interpreter takes for
// calling any hook, and no profiler that records every call can be below.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    return 0;
}

static PyObject *start(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyEval_SetProfile(hook, NULL);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    PyEval_SetProfile(NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"start", start, METH_NOARGS, NULL}, {"stop", stop, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "floor",
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit_floor(void);
PyMODINIT_FUNC PyInit_floor(void) { return PyModule_Create(&definition); }
