// SPDX-License-Identifier: MIT
//
// Sampling: a timer per Python thread. Its signal handler runs on that thread, walks the frames and
// leaves their keys in the thread's sampler; the keeper, a native thread, turns them into a path of
// the profile. The handler takes no lock, allocates nothing and calls nothing of Python that does
// more than read a word.
//
// A key is a hash of a function's text, from the hashes that Python keeps in its strings. The first
// time that a thread meets a key, the handler copies the text as well.
//
// A sample is charged with all the time since the last one, however late it comes and whatever has
// kept the thread from running, so the samples of a thread add up to the time that it was recorded.
// A walk is linear in the depth of the stack. After it the next ticks only pass, until a hundred
// times its cost, and the keeper's, has gone by: sampling stays at 1% on the deepest stack.
//
// The interrupted thread may be inside any instruction of the interpreter, also one that takes a
// frame apart. A fault during the walk is caught, and the sample is charged to `[unreadable]`.

#include "session.h"

#include "tick_signal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    HZ = 251,
    SHARE = 100,
    FRAMES_MOST = 1 << 20,
    SEEN = 1 << 15, // keys that a thread has defined
    TEXTS = 1 << 19,
    NAME_MOST = 500
};

enum { RUNNING, NATIVE, GIL_WAIT };

// What the handler copies of a function: this, then the name and the file, each ended by a zero.
typedef struct {
    uint64_t key;
    uint32_t line, name_length, file_length;
} definition;

typedef struct sampler {
    _Atomic bool full; // the handler fills it, the keeper empties it
    _Atomic bool stopped, busy;
    uint64_t amount; // nanoseconds
    int state;
    bool broken, cut;
    size_t depth, texts_used;
    uint64_t *keys; // innermost first
    char *texts;
    uint64_t *seen;
    size_t seen_count;
    // of the handler
    uint64_t last, rest_until, ended;
    _Atomic uint64_t keeper_cost; // of the last sample
    bool cpu;
    unsigned long owner; // the OS thread, as pthread_self tells it
    clockid_t clock;
    timer_t timer;
    pid_t os_thread;
    bool has_timer;
    struct sampler *next;
} sampler;

static struct {
    _Atomic(sampler *) list; // only grows, until the session ends
    ouro_thread *thread;
    ouro_block *path;
    ouro_position *tokens;
    size_t length, room; // of the path that was charged last
    block_map by_key;
    ouro_block unreadable, cut;
    int signal; // of the timers; 0: none is free
} all;

// ---------------------------------------------------------------- the handler

static _Thread_local __attribute__((tls_model("initial-exec"))) sigjmp_buf *fault_point;

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(bool cpu) {
    return nanoseconds(cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

// For texts that Python has not hashed yet (FNV-1a). Their address would not do: another text may
// get it later.
static uint64_t hash_of_bytes(PyObject *text) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(text) * PyUnicode_KIND(text);
    const unsigned char *bytes = PyUnicode_DATA(text);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size && i < NAME_MOST; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static inline uint64_t text_hash(PyObject *text) {
    Py_hash_t hash = ((PyASCIIObject *)text)->hash;
    return hash == -1 ? hash_of_bytes(text) : (uint64_t)hash;
}

static inline uint64_t key_of(PyCodeObject *code) {
    uint64_t key = text_hash(code->co_qualname) * UINT64_C(0x9E3779B97F4A7C15);
    key ^= text_hash(code->co_filename) + (key >> 29);
    key = key * UINT64_C(0xBF58476D1CE4E5B9) + (uint64_t)code->co_firstlineno;
    return key ? key : 1;
}

// UTF-8 of a string of Python, at most NAME_MOST bytes. Returns the length.
static uint32_t copy_text(char *to, PyObject *text) {
    uint32_t used = 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    unsigned kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < length && used < NAME_MOST - 5; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c >= 0xD800 && c < 0xE000) c = '?';
        if (c < 0x80) {
            to[used++] = (char)c;
        } else if (c < 0x800) {
            to[used++] = (char)(0xC0 | c >> 6);
            to[used++] = (char)(0x80 | (c & 0x3F));
        } else {
            if (c >= 0x10000) to[used++] = (char)(0xF0 | c >> 18);
            to[used++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3F) : 0xE0 | c >> 12);
            to[used++] = (char)(0x80 | (c >> 6 & 0x3F));
            to[used++] = (char)(0x80 | (c & 0x3F));
        }
    }
    to[used] = '\0';
    return used;
}

static bool define(sampler *s, uint64_t key, PyCodeObject *code) {
    if (s->texts_used + sizeof(definition) + 2 * NAME_MOST + 16 > TEXTS) return false;
    char *at = s->texts + s->texts_used;
    definition d = {.key = key, .line = (uint32_t)code->co_firstlineno};
    char *texts = at + sizeof d;
    d.name_length = copy_text(texts, code->co_qualname);
    d.file_length = copy_text(texts + d.name_length + 1, code->co_filename);
    memcpy(at, &d, sizeof d);
    size_t size = sizeof d + d.name_length + d.file_length + 2;
    s->texts_used += (size + 7) & ~(size_t)7;
    return true;
}

// Defines a key that this thread meets for the first time.
static void meet(sampler *s, uint64_t key, PyCodeObject *code) {
    size_t i = key & (SEEN - 1);
    while (s->seen[i] && s->seen[i] != key) i = (i + 1) & (SEEN - 1);
    if (s->seen[i] || !define(s, key, code)) return;
    s->seen[i] = key;
    s->seen_count++;
}

static void walk(sampler *s, const PyThreadState *tstate) {
    uint64_t last_key = 0;
    PyCodeObject *last = NULL;
    if (s->seen_count > SEEN / 4 * 3) { // begin again; blocks are found again by their texts
        memset(s->seen, 0, SEEN * sizeof *s->seen);
        s->seen_count = 0;
    }
    const _PyInterpreterFrame *frame = tstate->cframe->current_frame;
    for (; frame && s->depth < FRAMES_MOST; frame = frame->previous) {
        PyCodeObject *code = frame->f_code;
        if (code != last) {
            if (!Py_IS_TYPE((PyObject *)code, &PyCode_Type)) continue;
            last_key = key_of(code);
            last = code;
            meet(s, last_key, code);
        }
        s->keys[s->depth++] = last_key;
    }
    s->cut = frame != NULL;
}

// The register that holds a system call's first argument; 0: this machine's are not known.
static uintptr_t first_argument(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RDI];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.regs[0];
#else
    (void)context;
    return 0;
#endif
}

// Who waits for the GIL sleeps in futex(2) on its condition variable or mutex.
static int state_of(const PyThreadState *tstate, const ucontext_t *context) {
    if (_PyThreadState_UncheckedGet() == tstate) return RUNNING;
    uintptr_t gil = (uintptr_t)&_PyRuntime.ceval.gil, at = first_argument(context);
    return at - gil < sizeof _PyRuntime.ceval.gil ? GIL_WAIT : NATIVE;
}

static void take_sample(sampler *s, uint64_t start, const ucontext_t *context) {
    const PyThreadState *tstate = PyGILState_GetThisThreadState();
    if (!tstate || !tstate->cframe) return;
    sigjmp_buf here;
    uint64_t began = s->cpu ? start : now(true); // processor time: others may run in between
    s->amount = start - s->last;
    s->last = start;
    s->depth = s->texts_used = 0;
    s->broken = s->cut = false;
    if (sigsetjmp(here, 0) == 0) {
        fault_point = &here;
        walk(s, tstate);
        s->state = state_of(tstate, context);
    } else {
        s->broken = true;
    }
    fault_point = NULL;
    s->full = true;
    keeper_wake(); // it may run at once, and for long
    uint64_t cost = now(true) - began + s->keeper_cost;
    s->rest_until = now(s->cpu) + cost * SHARE;
}

static void on_tick(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (info->si_code != SI_TIMER) ouro__obey_default(number);
    sampler *s = info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;
    if (s && !s->stopped && s->owner == (unsigned long)pthread_self()) {
        s->busy = true;
        uint64_t start = now(s->cpu);
        if (!s->stopped && !s->full && start >= s->rest_until) take_sample(s, start, context);
        s->busy = false;
    }
    errno = error;
}

// ---------------------------------------------------------------- faults

static const int faults[] = {SIGSEGV, SIGBUS};
static struct sigaction faults_before[2];

static void on_fault(int number, siginfo_t *info, void *context) {
    if (fault_point) siglongjmp(*fault_point, 1);
    const struct sigaction *old = &faults_before[number == SIGBUS];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    } else { // the instruction is executed again, and ends the process
        sigaction(number, old, NULL);
        if (info->si_code <= 0) raise(number); // it was sent
    }
}

static void faults_install(void) {
    for (size_t i = 0; i < 2; i++) {
        struct sigaction ours = {.sa_sigaction = on_fault,
                                 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        struct sigaction now_set;
        sigemptyset(&ours.sa_mask);
        sigaction(faults[i], NULL, &now_set);
        if (now_set.sa_sigaction == on_fault) continue;
        sigaction(faults[i], &ours, &faults_before[i]);
    }
}

static void faults_remove(void) {
    for (size_t i = 0; i < 2; i++) {
        struct sigaction now_set;
        sigaction(faults[i], NULL, &now_set);
        if (now_set.sa_sigaction == on_fault) sigaction(faults[i], &faults_before[i], NULL);
    }
}

// ---------------------------------------------------------------- the keeper's part

static void learn(sampler *s) {
    for (size_t at = 0; at < s->texts_used;) {
        definition d;
        memcpy(&d, s->texts + at, sizeof d);
        const char *name = s->texts + at + sizeof d;
        ouro_block_info info = {name, name + d.name_length + 1, d.line, 0};
        block_map_put(&all.by_key, d.key, names_of_text(&info));
        size_t size = sizeof d + d.name_length + d.file_length + 2;
        at += (size + 7) & ~(size_t)7;
    }
    s->texts_used = 0;
}

static bool path_room(size_t depth) {
    if (depth <= all.room) return true;
    size_t room = depth * 2 + 64;
    ouro_block *path = realloc(all.path, room * sizeof *path);
    if (path) all.path = path;
    ouro_position *tokens = path ? realloc(all.tokens, room * sizeof *tokens) : NULL;
    if (tokens) all.tokens = tokens;
    if (!tokens) return false;
    all.room = room;
    return true;
}

static void leave(size_t length) {
    while (all.length > length) ouro_exit(all.thread, all.tokens[--all.length]);
}

// Stands at a path that shares its first blocks with the last one.
static void step(size_t at, ouro_block block) {
    if (at < all.length && all.path[at] == block) return;
    leave(at);
    all.path[at] = block;
    all.tokens[at] = ouro_reenter(all.thread, block);
    all.length = at + 1;
}

static ouro_block block_of_key(uint64_t key) {
    ouro_block block;
    return block_map_get(&all.by_key, key, &block) ? block : all.unreadable;
}

static void charge(sampler *s, uint64_t samples) {
    learn(s);
    size_t at = 0;
    if (!path_room(s->depth + 2)) return;
    if (s->cut) step(at++, all.cut);
    if (s->broken) step(at++, all.unreadable);
    uint64_t key = 0;
    ouro_block block = all.unreadable;
    for (size_t i = s->broken ? 0 : s->depth; i > 0; i--) {
        if (s->keys[i - 1] != key) block = block_of_key(s->keys[i - 1]);
        key = s->keys[i - 1];
        step(at++, block);
    }
    leave(at);
    ouro_note_stack(the_session.profile, all.path, at);
    const session *own = &the_session;
    ouro_count(all.thread, own->time, s->amount);
    ouro_count(all.thread, own->samples, samples);
    if (s->state == NATIVE) ouro_count(all.thread, own->native, s->amount);
    if (s->state == GIL_WAIT) ouro_count(all.thread, own->gil_wait, s->amount);
}

static pthread_mutex_t consuming = PTHREAD_MUTEX_INITIALIZER;

void sample_hold(void) { pthread_mutex_lock(&consuming); }
void sample_release(void) { pthread_mutex_unlock(&consuming); }

void sample_consume(void) {
    sample_hold();
    for (sampler *s = all.list; s; s = s->next) {
        if (!s->full) continue;
        uint64_t start = now(true);
        charge(s, 1);
        s->keeper_cost = now(true) - start;
        s->full = false;
    }
    sample_release();
}

// ---------------------------------------------------------------- start and stop of a thread

enum { MEMORY = FRAMES_MOST * 8 + SEEN * 8 + TEXTS };

// Samplers are never freed, because a signal of a timer that is gone may still be on its way.
static sampler *spare;

static sampler *sampler_again(void) {
    sampler *s = spare;
    uint64_t *keys = s->keys;
    spare = s->next;
    memset(s, 0, sizeof *s);
    s->keys = keys;
    madvise(keys, MEMORY, MADV_DONTNEED); // zeros
    return s;
}

static sampler *sampler_new(void) {
    if (spare) return sampler_again();
    sampler *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        free(s);
        return NULL;
    }
    s->keys = (uint64_t *)(void *)memory;
    return s;
}

// A thread's clock, as the kernel numbers it.
static clockid_t cpu_clock(pid_t thread) {
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (clockid_t)(~(unsigned)thread << 3 | PER_THREAD | SCHEDULED);
}

static bool timer_begin(sampler *s) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = all.signal;
    event.sigev_value.sival_ptr = s;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = s->os_thread;
#else
    event._sigev_un._tid = s->os_thread;
#endif
    if (timer_create(s->clock, &event, &s->timer)) return false;
    s->has_timer = true;
    unsigned hz = the_session.settings.hz ? the_session.settings.hz : HZ;
    long period = 1000000000 / (long)hz;
    struct itimerspec times = {.it_interval = {period / 1000000000, period % 1000000000}};
    times.it_value = times.it_interval;
    return timer_settime(s->timer, 0, &times, NULL) == 0;
}

// A thread that ends before its first tick was in the function that it began with.
static void begin_in(sampler *s, PyObject *function) {
    if (PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
    if (!PyFunction_Check(function)) return;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    s->keys[0] = key_of(code);
    if (define(s, s->keys[0], code)) s->depth = 1;
}

int sample_attach(track *t, PyThreadState *tstate, PyObject *function) {
    sampler *s = sampler_new();
    if (!s) {
        PyErr_NoMemory();
        return -1;
    }
    s->seen = s->keys + FRAMES_MOST;
    s->texts = (char *)(s->seen + SEEN);
    s->cpu = the_session.settings.cpu;
    s->owner = tstate->thread_id;
    if (function) begin_in(s, function);
    s->next = all.list;
    all.list = s;
    t->sampler = s;
    s->os_thread = (pid_t)tstate->native_thread_id;
    s->clock = s->cpu ? cpu_clock(s->os_thread) : CLOCK_MONOTONIC;
    s->last = nanoseconds(s->clock);
    if (timer_begin(s)) return 0;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

// The sampler stays in the list, because a signal may be on its way.
void sample_detach(track *t) {
    sampler *s = t->sampler;
    t->sampler = NULL;
    if (!s) return;
    s->stopped = true;
    s->ended = nanoseconds(s->clock);
    if (s->has_timer) timer_delete(s->timer);
    s->has_timer = false;
}

// ---------------------------------------------------------------- start and stop of a session

// The threads that are recorded change to another signal.
int sample_leave(int number) {
    if (number != all.signal) return number;
    for (sampler *s = all.list; s; s = s->next) {
        if (s->has_timer) timer_delete(s->timer);
    }
    all.signal = ouro__take_tick_signal(on_tick, number);
    for (sampler *s = all.list; s; s = s->next) {
        if (s->has_timer) s->has_timer = all.signal && timer_begin(s);
    }
    return all.signal;
}

ouro_thread *sample_thread(void) { return all.thread; }

bool sample_begin(void) {
    all.signal = ouro__take_tick_signal(on_tick, 0);
    if (!all.signal) return false;
    faults_install();
    all.thread = ouro_thread_new(the_session.profile);
    all.unreadable =
        ouro_add_block(the_session.profile, &(ouro_block_info){.name = "[unreadable]"});
    all.cut = ouro_add_block(the_session.profile, &(ouro_block_info){.name = "[truncated]"});
    return all.thread && keeper_start();
}

// The time since the last sample is charged to where that was taken. A handler that runs now on
// another thread still writes to its sampler: wait for it.
static void charge_rest(sampler *s) {
    while (s->busy) sched_yield();
    s->amount = s->ended > s->last ? s->ended - s->last : 0;
    if (s->depth) charge(s, 0);
}

static void put_aside(void) {
    for (sampler *s = all.list, *next; s; s = next) {
        next = s->next;
        s->next = spare;
        spare = s;
    }
    all.list = NULL;
}

// In a child of fork, where no other thread is: the parent charges what its samplers have.
void sample_forget(void) {
    put_aside();
    leave(0);
    ouro_thread_free(all.thread);
    all.thread = NULL;
}

void sample_end(void) {
    keeper_stop();
    sample_consume(); // what was left
    for (sampler *s = all.list; s; s = s->next) charge_rest(s);
    leave(0);
    ouro_thread_free(all.thread);
    put_aside();
    faults_remove();
    block_map_free(&all.by_key);
    free(all.path);
    free(all.tokens);
    memset(&all, 0, sizeof all);
}
