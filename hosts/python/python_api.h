// SPDX-License-Identifier: MIT
//
// Python's headers, in one file: all of this host includes them from here. The internal headers are
// for three structures: frames (`_PyInterpreterFrame`), which a signal handler walks, the frame
// object's pointer to its frame, and the GIL, whose address tells who waits for it. They are part
// of the ABI of Python 3.11, which all its releases share; another version is another layout.

#ifndef OURO_PYTHON_API_H
#define OURO_PYTHON_API_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030C0000
#error "this host needs Python 3.11"
#endif

#include <internal/pycore_frame.h>
#include <internal/pycore_runtime.h>

#endif
