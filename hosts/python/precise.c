// SPDX-License-Identifier: MIT
//
// Precise mode: a profile hook in C on every Python thread. The interpreter calls it when a frame
// begins or goes on (generators, coroutines), and when it ends or is suspended, also by an
// exception, and around calls of C functions. Events of a thread are balanced, so a stack of tokens
// is enough; the frames that are open at the start are laid out first.
//
// The block of a function is in its code object's extra slot, and before that in a direct-mapped
// cache that Python and C functions share. An event takes no lock: the GIL is held.
//
// A generator that goes on is re-entered below the one that resumes it, so a coroutine's path is
// that of its awaiter. That is no call; the metric `resumes` counts it.

#include "session.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_BITS = 12 };

// What is known of a code object, in its extra slot. Freed with the code object.
typedef struct {
    PyCodeObject *code;
    uint32_t session; // whose block it is
    ouro_block block;
} known_code;

// `key` is a code object, or the PyMethodDef of a C function.
typedef struct {
    const void *key;
    ouro_block block;
    int32_t resumes; // a generator: the index of its first instruction that is traced; else PLAIN
    bool sliced;     // its calls are slices
} cached;

// SHARED: one PyMethodDef for the functions of many classes (`__new__`); the class is the key.
enum { PLAIN = -1, SHARED = -2 };

static cached cache[1 << CACHE_BITS];
static Py_ssize_t extra_index = -1;

static inline cached *place_of(const void *key) {
    uintptr_t n = (uintptr_t)key >> 4;
    return &cache[(n ^ n >> CACHE_BITS) & ((1 << CACHE_BITS) - 1)];
}

// ---------------------------------------------------------------- the stack of tokens

static bool stack_grow(token_stack *s) {
    size_t capacity = s->capacity ? s->capacity * 2 : 256;
    open_call *calls = realloc(s->calls, capacity * sizeof *calls);
    if (!calls) return false;
    s->calls = calls;
    s->capacity = capacity;
    return true;
}

static inline bool stack_has_room(token_stack *s) {
    if (LIKELY(s->depth < s->capacity) || stack_grow(s)) return true;
    s->unsaved++;
    return false;
}

static inline uint32_t tag_of(const _PyInterpreterFrame *frame) {
    return (uint32_t)((uintptr_t)frame >> 3);
}

static inline void stack_enter(track *t, ouro_block block, uint32_t tag) {
    if (!stack_has_room(&t->stack)) return;
    t->stack.calls[t->stack.depth++] = (open_call){ouro_enter(t->thread, block), tag};
}

static void stack_reenter(track *t, ouro_block block, uint32_t tag) {
    if (!stack_has_room(&t->stack)) return;
    t->stack.calls[t->stack.depth++] = (open_call){ouro_reenter(t->thread, block), tag};
}

static inline void stack_pop(track *t) {
    token_stack *s = &t->stack;
    if (UNLIKELY(s->unsaved)) {
        s->unsaved--;
    } else if (LIKELY(s->depth)) {
        ouro_exit(t->thread, s->calls[--s->depth].token);
    }
}

// The end of another frame than the one on top. A signal that raises an exception at the entry of a
// function ends a frame that never began; that is nobody's. Else calls above it were lost.
static __attribute__((noinline)) void stack_pop_other(track *t, uint32_t tag) {
    size_t depth = t->stack.depth;
    while (depth && t->stack.calls[depth - 1].tag != tag) depth--;
    if (!depth || t->stack.unsaved) return;
    while (t->stack.depth >= depth) stack_pop(t);
}

static inline void stack_leave(track *t, uint32_t tag) {
    const token_stack *s = &t->stack;
    if (LIKELY(s->depth && s->calls[s->depth - 1].tag == tag) || s->unsaved) {
        stack_pop(t);
    } else {
        stack_pop_other(t, tag);
    }
}

void stack_clear(track *t) {
    while (t->stack.unsaved || t->stack.depth) stack_pop(t);
    free(t->stack.calls);
    if (t->stack.sliced) t->slice_open = false; // the profile's slice goes on to the next call
    t->stack = (token_stack){0};
}

// ---------------------------------------------------------------- from a function to its block

static void forget_code(void *extra) {
    known_code *known = extra;
    if (!known) return;
    cached *c = place_of(known->code);
    if (c->key == known->code) *c = (cached){0};
    free(known);
}

static ouro_block block_of_code(PyCodeObject *code) {
    void *extra = NULL;
    uint32_t number = the_session.number;
    if (_PyCode_GetExtra((PyObject *)code, extra_index, &extra)) PyErr_Clear();
    known_code *known = extra;
    if (known && known->session == number) return known->block;
    greenlets_look();
    ouro_block block = names_of_code(code);
    if (!known) known = malloc(sizeof *known);
    if (!known) return block;
    *known = (known_code){code, number, block};
    if (!extra && _PyCode_SetExtra((PyObject *)code, extra_index, known)) {
        PyErr_Clear();
        free(known);
    }
    return block;
}

static __attribute__((noinline)) void miss_code(cached *c, PyCodeObject *code) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int suspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
    c->block = block_of_code(code);
    c->sliced = slices_name(c->block);
    c->resumes = code->co_flags & suspends ? code->_co_firsttraceable : PLAIN;
    c->key = code;
    PyErr_Restore(type, value, traceback);
}

static __attribute__((noinline)) void miss_c(cached *c, PyObject *function, const void *key) {
    greenlets_look();
    *c = (cached){key, names_of_c(function), PLAIN, false};
    bool plain = PyCFunction_Check(function) && key == ((PyCFunctionObject *)function)->m_ml;
    if (plain && strcmp(((PyCFunctionObject *)function)->m_ml->ml_name, "__new__") == 0)
        c->resumes = SHARED;
}

static __attribute__((noinline)) ouro_block block_of_shared(PyObject *function) {
    PyObject *class = ((PyCFunctionObject *)function)->m_self;
    cached *c = place_of(class);
    if (c->key != class) miss_c(c, function, class);
    return c->block;
}

void precise_forget(void) { memset(cache, 0, sizeof cache); }

// ---------------------------------------------------------------- events

static int first_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static __attribute__((noinline)) void resume(track *t, ouro_block block, uint32_t tag) {
    stack_reenter(t, block, tag);
    ouro_count(t->thread, the_session.resumes, 1);
}

// When the program has ended, the interpreter waits for its threads, if anybody has imported
// threading: perhaps the program, perhaps only the site. That is nobody's work.
static bool is_shutdown(const PyCodeObject *code) {
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    size_t n = file ? strlen(file) : 0;
    if (!file) PyErr_Clear();
    return PyUnicode_CompareWithASCIIString(code->co_qualname, "_shutdown") == 0 && n > 13 &&
           strcmp(file + n - 13, "/threading.py") == 0;
}

// In place of the hook, until that function returns.
static int shutdown_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    track *t = (track *)self;
    (void)frame, (void)arg;
    if (what == PyTrace_CALL) t->waits++;
    if (what != PyTrace_RETURN || --t->waits) return 0;
    PyThreadState_Get()->c_profilefunc = first_hook;
    return 0;
}

static inline void enter_code(track *t, const _PyInterpreterFrame *frame) {
    PyCodeObject *code = frame->f_code;
    cached *c = place_of(code);
    if (UNLIKELY(c->key != code)) {
        if (!t->stack.depth && is_shutdown(code)) {
            t->waits = 1;
            ouro_clock_stop(t->thread);
            PyThreadState_Get()->c_profilefunc = shutdown_hook;
            return;
        }
        miss_code(c, code);
    }
    if (UNLIKELY(c->resumes >= 0) && _PyInterpreterFrame_LASTI(frame) > c->resumes) {
        resume(t, c->block, tag_of(frame));
    } else {
        stack_enter(t, c->block, tag_of(frame));
    }
}

static inline void enter_c(track *t, PyObject *function) {
    bool plain = LIKELY(PyCFunction_CheckExact(function)) || PyCFunction_Check(function);
    const void *key = plain ? (const void *)((PyCFunctionObject *)function)->m_ml
                            : (const void *)Py_TYPE(function);
    cached *c = place_of(key);
    if (UNLIKELY(c->key != key)) miss_c(c, function, key);
    ouro_block block = LIKELY(c->resumes == PLAIN) ? c->block : block_of_shared(function);
    stack_enter(t, block, 0);
}

static int hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    track *t = (track *)self;
    if (what == PyTrace_CALL) {
        enter_code(t, frame->f_frame);
    } else if (what == PyTrace_C_CALL) {
        enter_c(t, arg);
    } else {
        stack_leave(t, what == PyTrace_RETURN ? tag_of(frame->f_frame) : 0);
    }
    return 0;
}

// The program's own function, as sys.setprofile calls it.
static int chain(track *t, PyFrameObject *frame, int what, PyObject *arg) {
    static const char *const names[] = {[PyTrace_CALL] = "call",
                                        [PyTrace_RETURN] = "return",
                                        [PyTrace_C_CALL] = "c_call",
                                        [PyTrace_C_EXCEPTION] = "c_exception",
                                        [PyTrace_C_RETURN] = "c_return"};
    PyObject *function = Py_NewRef(t->chained);
    PyObject *result =
        PyObject_CallFunction(function, "OsO", frame, names[what], arg ? arg : Py_None);
    Py_DECREF(function);
    if (!result) {
        Py_CLEAR(t->chained); // as sys.setprofile does
        return -1;
    }
    Py_DECREF(result);
    return 0;
}

static void begin_slice(track *t, const _PyInterpreterFrame *frame) {
    PyCodeObject *code = frame->f_code;
    cached *c = place_of(code);
    if (c->key != code) miss_code(c, code);
    if (c->sliced) slices_call(t);
}

// The same with what is optional: allocations, slices, and the program's own hook.
static int full_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    track *t = (track *)self;
    memory_track = NULL; // what we allocate is not the program's
    if (what == PyTrace_CALL) memory_forget(t, frame);
    if (what == PyTrace_C_CALL) memory_forget(t, arg);
    if (what == PyTrace_CALL && the_session.settings.slice) begin_slice(t, frame->f_frame);
    int result = hook(self, frame, what, arg);
    if (t->stack.depth < t->stack.sliced) slices_end(t);
    if (t->chained && !t->chain_waits) result = chain(t, frame, what, arg);
    t->chain_waits = false;
    memory_track = the_session.settings.memory && t->thread ? t : NULL;
    memory_session = the_session.number;
    return result;
}

// The first event of a thread starts its clock, which belongs to the OS thread.
static int first_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    track *t = (track *)self;
    PyThreadState *tstate = PyThreadState_Get();
    if (ouro_clock_start(t->thread, the_session.time, the_session.settings.hz))
        the_session.clockless++;
    bool full = the_session.settings.memory || the_session.settings.slice || t->chained;
    tstate->c_profilefunc = full ? full_hook : hook;
    return tstate->c_profilefunc(self, frame, what, arg);
}

// ---------------------------------------------------------------- before the program begins

// The interpreter's own frames: until site is imported, and when it looks for the main module.
static bool begins(const _PyInterpreterFrame *frame) {
    PyCodeObject *code = frame->f_code;
    return PyUnicode_CompareWithASCIIString(code->co_qualname, "<module>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_qualname, "_run_module_as_main") == 0;
}

static int wait_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    track *t = (track *)self;
    if (what == PyTrace_RETURN && t->waits) t->waits--;
    if (what != PyTrace_CALL) return 0;
    if (t->waits || !begins(frame->f_frame)) {
        t->waits++;
        return 0;
    }
    PyThreadState *tstate = PyThreadState_Get();
    if (the_session.settings.precise) {
        tstate->c_profilefunc = first_hook;
        return first_hook(self, frame, what, arg);
    }
    int failed = sample_attach(t, tstate, NULL);
    if (_PyEval_SetProfile(tstate, NULL, NULL)) PyErr_Clear();
    return failed;
}

static size_t open_frames(const PyThreadState *tstate) {
    size_t count = 0;
    for (_PyInterpreterFrame *f = tstate->cframe->current_frame; f; f = f->previous)
        count += !_PyFrame_IsIncomplete(f);
    return count;
}

int precise_wait(track *t, PyThreadState *tstate) {
    t->waits = open_frames(tstate);
    return _PyEval_SetProfile(tstate, wait_hook, (PyObject *)t);
}

// ---------------------------------------------------------------- start and stop

int precise_setup(void) {
    if (extra_index < 0) extra_index = _PyEval_RequestCodeExtraIndex(forget_code);
    if (extra_index < 0)
        PyErr_SetString(PyExc_RuntimeError, "ouro: code objects have no slot left");
    return extra_index < 0 ? -1 : 0;
}

void precise_open_frames(track *t, PyThreadState *tstate) {
    size_t count = open_frames(tstate), i = count;
    const _PyInterpreterFrame **frames = malloc((count + 1) * sizeof *frames);
    if (!frames) return;
    for (_PyInterpreterFrame *f = tstate->cframe->current_frame; f; f = f->previous)
        if (!_PyFrame_IsIncomplete(f)) frames[--i] = f;
    for (i = 0; i < count; i++) {
        PyCodeObject *code = frames[i]->f_code;
        cached *c = place_of(code);
        if (c->key != code) miss_code(c, code);
        stack_reenter(t, c->block, tag_of(frames[i]));
    }
    free(frames);
}

int precise_attach(track *t, PyThreadState *tstate) {
    if (tstate->c_profilefunc && !precise_is_attached(tstate)) the_session.taken++;
    return _PyEval_SetProfile(tstate, first_hook, (PyObject *)t);
}

bool precise_is_attached(const PyThreadState *tstate) {
    Py_tracefunc f = tstate->c_profilefunc;
    return f == hook || f == full_hook || f == first_hook || f == wait_hook || f == shutdown_hook;
}

static PyObject *real_setprofile, *real_getprofile;

// The program's own function stays, as it would be without us.
static void keep_chained(const PyThreadState *tstate, PyObject *chained) {
    if (!chained || !real_setprofile || tstate != PyThreadState_Get()) return;
    Py_XDECREF(PyObject_CallOneArg(real_setprofile, chained));
    PyErr_Clear();
}

void precise_detach(PyThreadState *tstate) {
    if (!precise_is_attached(tstate)) {
        the_session.taken++;
        return;
    }
    PyObject *chained = ((track *)tstate->c_profileobj)->chained;
    Py_XINCREF(chained);
    if (_PyEval_SetProfile(tstate, NULL, NULL)) PyErr_Clear();
    keep_chained(tstate, chained);
    Py_XDECREF(chained);
}

// ---------------------------------------------------------------- sys.setprofile of the program

// The functions that stand in for sys.setprofile and sys.getprofile while a session runs: our hook
// calls the program's function after recording. A thread that is not recorded gets the real ones.

static track *track_here(void) {
    PyThreadState *tstate = PyThreadState_Get();
    bool ours = the_session.running && precise_is_attached(tstate);
    return ours ? (track *)tstate->c_profileobj : NULL;
}

static PyObject *setprofile(PyObject *self, PyObject *function) {
    (void)self;
    track *t = track_here();
    if (!t) return PyObject_CallOneArg(real_setprofile, function);
    static bool sets; // the end of the old function may run code that sets another one
    if (sets) {
        PyErr_SetString(PyExc_RuntimeError, "Cannot install a profile function while another "
                                            "profile function is being installed");
        return NULL;
    }
    // A function that is set sees nothing of the call that sets it, not even its return.
    t->chain_waits = !t->chained;
    sets = true;
    Py_XSETREF(t->chained, function == Py_None ? NULL : Py_NewRef(function));
    sets = false;
    PyThreadState *tstate = PyThreadState_Get();
    if (tstate->c_profilefunc == hook) tstate->c_profilefunc = full_hook;
    Py_RETURN_NONE;
}

static PyObject *getprofile(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    const track *t = track_here();
    if (!t) return PyObject_CallNoArgs(real_getprofile);
    return Py_NewRef(t->chained ? t->chained : Py_None);
}

static PyMethodDef set_method = {"setprofile", setprofile, METH_O, NULL};
static PyMethodDef get_method = {"getprofile", getprofile, METH_NOARGS, NULL};

PyObject *precise_stand_ins(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *set, *get;
    if (!PyArg_ParseTuple(arguments, "OO", &set, &get)) return NULL;
    Py_XSETREF(real_setprofile, Py_NewRef(set));
    Py_XSETREF(real_getprofile, Py_NewRef(get));
    PyObject *module = PyUnicode_FromString("sys");
    PyObject *ours = Py_BuildValue("NN", PyCFunction_NewEx(&set_method, NULL, module),
                                   PyCFunction_NewEx(&get_method, NULL, module));
    Py_XDECREF(module);
    return ours;
}
