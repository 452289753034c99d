// SPDX-License-Identifier: MIT
//
// From a function to its block. Python functions are named as they are qualified in their module
// (Class.method, outer.<locals>.<listcomp>), with file and first line. C functions are named by
// their module (math.sin) or by the class that defines them (list.append). Our own functions are
// phantoms: what they call stands below their caller.

#include "session.h"

#include <stdio.h>
#include <string.h>

// A text of Python as UTF-8, borrowed from `*kept`. What is no Unicode is escaped.
static const char *text_of(PyObject *unicode, PyObject **kept) {
    *kept = NULL;
    if (!unicode || !PyUnicode_Check(unicode)) return "?";
    const char *text = PyUnicode_AsUTF8(unicode);
    if (text) return text;
    PyErr_Clear();
    *kept = PyUnicode_AsEncodedString(unicode, "utf-8", "backslashreplace");
    text = *kept ? PyBytes_AsString(*kept) : NULL;
    PyErr_Clear();
    return text ? text : "?";
}

ouro_block names_of_text(const ouro_block_info *info) {
    session *s = &the_session;
    size_t length = s->package ? strlen(s->package) : 0;
    if (length && strncmp(info->file, s->package, length) == 0) return OURO_PHANTOM;
    return block_of_text(s->profile, &s->by_text, info);
}

ouro_block names_of_code(PyCodeObject *code) {
    PyObject *name, *file;
    ouro_block_info info = {text_of(code->co_qualname, &name), text_of(code->co_filename, &file),
                            code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0, 0};
    ouro_block block = names_of_text(&info);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return block;
}

// ---------------------------------------------------------------- C functions

// The class that defines the method: a subclass of list has list's append.
static PyTypeObject *definer(PyTypeObject *type, const PyMethodDef *method) {
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        PyObject *found =
            base->tp_dict ? PyDict_GetItemString(base->tp_dict, method->ml_name) : NULL;
        if (!found) continue;
        bool is_method =
            Py_IS_TYPE(found, &PyMethodDescr_Type) || Py_IS_TYPE(found, &PyClassMethodDescr_Type);
        if (is_method && ((PyMethodDescrObject *)found)->d_method == method) return base;
        if (PyCFunction_Check(found) && ((PyCFunctionObject *)found)->m_ml == method) return base;
    }
    return type;
}

static PyObject *method_name(PyObject *self, const PyMethodDef *method) {
    PyTypeObject *type = PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
    type = definer(type, method);
    PyObject *class_name = PyType_GetQualName(type);
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    PyErr_Clear();
    PyObject *name = NULL;
    bool builtin = !module || !PyUnicode_Check(module) ||
                   PyUnicode_CompareWithASCIIString(module, "builtins") == 0;
    if (class_name && builtin) name = PyUnicode_FromFormat("%U.%s", class_name, method->ml_name);
    if (class_name && !builtin)
        name = PyUnicode_FromFormat("%U.%U.%s", module, class_name, method->ml_name);
    Py_XDECREF(class_name);
    Py_XDECREF(module);
    return name;
}

static PyObject *function_name(const PyCFunctionObject *function) {
    PyObject *module = function->m_module, *self = function->m_self;
    if (self && !PyModule_Check(self)) return method_name(self, function->m_ml);
    if (module && PyUnicode_Check(module))
        return PyUnicode_FromFormat("%U.%s", module, function->m_ml->ml_name);
    const char *from = self ? PyModule_GetName(self) : NULL;
    PyErr_Clear();
    if (from) return PyUnicode_FromFormat("%s.%s", from, function->m_ml->ml_name);
    return PyUnicode_FromString(function->m_ml->ml_name);
}

ouro_block names_of_c(PyObject *function) {
    PyObject *name, *kept, *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); // a hook leaves the program's exceptions alone
    name = PyCFunction_Check(function) ? function_name((PyCFunctionObject *)function)
                                       : PyUnicode_FromString(Py_TYPE(function)->tp_name);
    PyErr_Clear();
    const char *text = text_of(name, &kept);
    ouro_block block = OURO_PHANTOM; // our own functions
    if (strncmp(text, "ouro._ouro.", 11) != 0)
        block = names_of_text(&(ouro_block_info){.name = text, .file = ""});
    Py_XDECREF(kept);
    Py_XDECREF(name);
    PyErr_Restore(type, value, traceback);
    return block;
}
