// SPDX-License-Identifier: MIT
//
// Events that the hot path does not handle: the first event of a thread, of a function or after a
// fork; an event on another machine stack, after abandoned frames, or in a signal handler that
// interrupted an enter. Each runs in a section: signals are blocked, and calls that the section
// itself makes are not recorded.

#include "sleds.h"

#include "ouro_site.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

// ---------------------------------------------------------------- the queue

// Called in a signal handler that interrupted an enter: only system calls are allowed here.
static void queue_put(native_self *self, uintptr_t function, uintptr_t sp, int kind) {
    if (self->queued == self->queue_room) {
        size_t bytes = self->queue_room * sizeof *self->queue;
        size_t larger = bytes ? bytes * 2 : 16384;
        void *queue =
            bytes ? mremap(self->queue, bytes, larger, MREMAP_MAYMOVE)
                  : mmap(NULL, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (queue == MAP_FAILED) return;
        self->queue = queue;
        self->queue_room = larger / sizeof *self->queue;
    }
    self->queue[self->queued++] = (native_event){function, sp, kind};
    self->limit = NULL;
}

// ---------------------------------------------------------------- frames

// Position first, then top: a signal handler in between pushes its frames above this one.
static void pop(native_self *self) {
    if (self->stack->unsaved) {
        self->stack->unsaved--;
    } else {
        ouro_exit(self->thread, self->top[-1].token);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        self->top--;
        if (UNLIKELY(self->slice_stack == self->stack) &&
            (size_t)(self->top - self->stack->frames) <= self->slice_frame)
            ouro_native_slice_exit(self);
    }
}

static bool push_room(native_self *self) {
    native_stack *stack = self->stack;
    if (stack->unsaved == 0 && self->top < stack->end) return true;
    stack->top = self->top;
    if (stack->unsaved || !ouro_native_stack_grow(stack)) {
        stack->unsaved++;
        return false;
    }
    self->top = stack->top;
    return true;
}

static void push(native_self *self, uint64_t height, uint32_t key, ouro_block block) {
    if (!push_room(self)) return;
    *self->top = (native_frame){height, key, ouro_enter(self->thread, block)};
    self->top++;
}

static bool has_frames(const native_self *self) { return self->top > self->stack->frames + 1; }

// Leaves the frames that are lower than an address that is in use again.
static void abandon(native_self *self, uint64_t height) {
    while (has_frames(self) && self->top[-1].height < height) {
        self->stack->unsaved = 0;
        pop(self);
    }
}

// ---------------------------------------------------------------- machine stacks

// Leaves what is open in the profile that held before. After fork(2) that is the parent's, and is
// not touched; a stack of another OS thread is that thread's to leave.
static void release(native_self *self, native_stack *stack) {
    if (!stack->thread || stack->owner != self->number ||
        stack->generation < ouro_native_session.forked)
        return;
    for (native_frame *f = stack->top - 1; f > stack->frames; f--)
        ouro_exit(stack->thread, f->token);
    if (ouro_native_session.by_thread && !stack->coroutine) ouro_exit(stack->thread, stack->root);
    ouro_thread_free(stack->thread);
    stack->thread = NULL;
}

static void enter_name(native_stack *stack, ouro_thread *thread) {
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    stack->root = ouro_reenter(thread, ouro_native_block_of_name(name));
}

// Enters a stack's frames again in this OS thread's lane of the current profile.
static bool adopt(native_self *self, native_stack *stack, ouro_thread *parent) {
    ouro_profile *profile = ouro_native_session.profile;
    release(self, stack);
    ouro_thread *thread =
        stack->coroutine && parent ? ouro_thread_fork(parent) : ouro_thread_new(profile);
    if (!thread) return false;
    ouro_thread_hasten(thread);
    if (ouro_native_session.by_thread && !stack->coroutine) enter_name(stack, thread);
    for (native_frame *f = stack->frames + 1; f < stack->top; f++)
        f->token = ouro_reenter(thread, ouro_native_block_by_key(f->key));
    stack->thread = thread;
    stack->generation = ouro_native_session.generation;
    stack->owner = self->number;
    return true;
}

static bool is_adopted(const native_self *self, const native_stack *stack) {
    return stack->thread && stack->owner == self->number &&
           stack->generation == ouro_native_session.generation;
}

static void load_stack(native_self *self, native_stack *stack) {
    self->stack = stack;
    self->top = stack->top;
    self->low = stack->low;
    self->size = stack->size;
    self->thread = stack->thread;
    self->places = stack->thread ? ouro_place_at(stack->thread, 0) : NULL;
    self->mirror = mirror_of(stack->low) - stack->low;
}

// A new coroutine on an old stack begins at the position that starts it.
static void begin_anew(native_stack *stack) {
    ouro_thread_free(stack->thread);
    stack->thread = NULL;
}

static void switch_to(native_self *self, native_stack *stack, uintptr_t sp, bool entering) {
    native_stack *from = self->stack;
    from->top = self->top;
    if (is_adopted(self, stack)) {
        load_stack(self, stack);
        if (entering) abandon(self, sp - stack->low);
        stack->top = self->top;
        if (entering && stack->coroutine && !has_frames(self)) begin_anew(stack);
    }
    if (!is_adopted(self, stack) && !adopt(self, stack, from->thread)) {
        load_stack(self, from);
        return;
    }
    load_stack(self, stack);
}

static bool is_on(const native_stack *stack, uintptr_t sp) {
    return sp - stack->low <= stack->size;
}

// The main thread's stack has grown beyond the limit that it had at the start.
static bool own_stack_has_grown(native_self *self, uintptr_t sp) {
    uintptr_t low, size;
    native_stack *own = &self->own;
    ouro_native_stack_of_thread(&low, &size);
    if (sp - low > size || low > own->low) return false;
    uintptr_t more = own->low - low;
    native_frame *end = self->stack == own ? self->top : own->top;
    for (native_frame *f = own->frames; f < end; f++) f->height += more;
    own->low = low;
    own->size += more;
    own->mirrored = own->mirrored && ouro_native_mirror(low, more);
    if (self->stack == own) {
        self->low = low;
        self->size = own->size;
    }
    return true;
}

// Switches to the machine stack that `sp` is on and returns the height there. A signal handler on
// the alternate signal stack is a call like any other, at the height of the frame it interrupted.
static uint64_t settle(native_self *self, uintptr_t sp, bool entering) {
    if (is_on(self->stack, sp)) return sp - self->low;
    if (ouro_native_on_signal_stack(sp, &(uintptr_t){0}, &(uintptr_t){0}))
        return self->top[-1].height;
    native_stack *stack = &self->own;
    // Known stacks first: the other two lookups read the memory map.
    if (!is_on(stack, sp)) stack = ouro_native_stack_known(sp);
    if (!stack) stack = own_stack_has_grown(self, sp) ? &self->own : ouro_native_stack_find(sp);
    if (!stack) return self->top[-1].height;
    if (stack != self->stack) switch_to(self, stack, sp, entering);
    return is_on(self->stack, sp) ? sp - self->low : self->top[-1].height;
}

// ---------------------------------------------------------------- events

static void enter(native_self *self, uintptr_t function, uintptr_t sp) {
    uint64_t height = settle(self, sp, true);
    abandon(self, height);
    ouro_block block = ouro_native_block_of(function);
    push(self, height, ouro_native_slice_enter(self, function), block);
}

// Leaves a function. If it is not on top, the frames above it were abandoned. A function that was
// never entered, because the profile began later, is ignored.
static void leave(native_self *self, uintptr_t function, uintptr_t sp) {
    settle(self, sp, false);
    if (self->stack->unsaved) {
        pop(self);
        return;
    }
    native_frame *f = self->top;
    uint32_t key = (uint32_t)function;
    while (f > self->stack->frames + 1 && f[-1].key != key && f[-1].key != ~key) f--;
    if (f == self->stack->frames + 1) return;
    while (self->top >= f) pop(self);
}

// ---------------------------------------------------------------- events of sleds

// They come at the first instruction of a function and after its last one, so heights are exact,
// and are multiples of 8. The height of a call that is a slice is lower by one than that of its
// exit, which is so noticed.

static void sled_enter(native_self *self, uintptr_t function, uintptr_t sp) {
    uint64_t height = settle(self, sp, true);
    if (is_on(self->stack, sp)) abandon(self, height + 1);
    ouro_block block = ouro_native_block_of(function);
    uint32_t key = ouro_native_slice_enter(self, function);
    push(self, key == (uint32_t)function ? height : height - 1, key, block);
}

static void sled_tail(native_self *self, uintptr_t function, uintptr_t sp) {
    uint64_t height = settle(self, sp, false);
    if (self->stack->unsaved) return;
    if (is_on(self->stack, sp)) abandon(self, height - 1);
    if (!has_frames(self) || self->top[-1].height > height) return;
    uint32_t key = ouro_native_slice_enter(self, function);
    ouro_replace(self->thread, ouro_native_block_of(function));
    self->top[-1].key = key;
    if (key == (uint32_t)function) return;
    self->top[-1].height = height - 1;
    self->slice_frame--;
}

static void sled_leave(native_self *self, uintptr_t sp) {
    uint64_t height = settle(self, sp, false);
    if (self->stack->unsaved || !is_on(self->stack, sp)) {
        if (self->stack->unsaved || has_frames(self)) pop(self);
    } else {
        abandon(self, height + 1);
    }
}

static void take(native_self *self, native_event event) {
    switch (event.kind) {
    case NATIVE_ENTER:
        enter(self, event.function, event.sp);
        break;
    case NATIVE_EXIT:
        leave(self, event.function, event.sp);
        break;
    case NATIVE_SLED_ENTER:
        sled_enter(self, event.function, event.sp);
        break;
    case NATIVE_SLED_TAIL:
        sled_tail(self, event.function, event.sp);
        break;
    case NATIVE_SLED_LEAVE:
        sled_leave(self, event.sp);
        break;
    }
}

// ---------------------------------------------------------------- sections

// Makes sure of a profile, a thread and frames in this profile, and takes what has waited.
static bool prepare(native_self *self) {
    if (!ouro_native_session.profile && !ouro_native_session_begin()) return false;
    if (!self->started && !ouro_native_thread_begin()) return false;
    if (ouro_native_switch_waits()) ouro_native_switch_now();
    native_stack *stack = self->stack;
    if (!is_adopted(self, stack)) {
        stack->top = self->top;
        if (!adopt(self, stack, NULL)) return false;
        load_stack(self, stack);
        if (ouro_native_session.profile == ouro_native_session.counted)
            ouro_native_clock_start(self);
    }
    ouro_native_uncounted_settle(self);
    for (size_t i = 0; i < self->queued; i++) take(self, self->queue[i]);
    self->queued = 0;
    return true;
}

// Where there are gates, a stack without a mirror has no fast path.
static bool make_mirror(native_stack *stack) {
    if (!stack->mirrored && ouro_native_gates_count)
        stack->mirrored = ouro_native_mirror(stack->low, stack->size);
    return stack->mirrored || !ouro_native_gates_count;
}

bool ouro_native_section_begin(native_section *section) {
    native_self *self = &ouro_native_self;
    if (ouro_native_session.off || self->busy || self->dead || is_entering(self)) return false;
    sigset_t all;
    section->error = errno;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &section->before);
    self->busy = self->slow = true;
    self->limit = NULL;
    if (prepare(self)) return true;
    ouro_native_section_end(section);
    return false;
}

void ouro_native_section_end(const native_section *section) {
    native_self *self = &ouro_native_self;
    if (self->started && self->thread) {
        __atomic_store_n(&self->limit, self->stack->end, __ATOMIC_SEQ_CST);
        // Switched meanwhile: the next event takes the slow path, too.
        if (ouro_native_switch_waits() || !is_adopted(self, self->stack) ||
            !make_mirror(self->stack))
            self->limit = NULL;
    }
    self->busy = false;
    pthread_sigmask(SIG_SETMASK, &section->before, NULL);
    self->slow = false;
    errno = section->error;
}

NATIVE_COLD void ouro_native_event(uintptr_t function, uintptr_t sp, int kind) {
    native_self *self = &ouro_native_self;
    if (ouro_native_session.off) return;
    if (is_entering(self)) {
        queue_put(self, function, sp, kind);
        return;
    }
    native_section section;
    if (!ouro_native_section_begin(&section)) return;
    take(self, (native_event){function, sp, kind});
    ouro_native_section_end(&section);
}

// Puts the return address of a function that is entered into the mirror.
static bool keep_return(const native_self *self, uintptr_t sp) {
    uintptr_t low, size;
    if (self->stack && is_on(self->stack, sp)) {
        if (!self->stack->mirrored) return false;
    } else if (!ouro_native_on_signal_stack(sp, &low, &size) || !ouro_native_mirror(low, size)) {
        return false;
    }
    *(uintptr_t *)mirror_of(sp) = *(const uintptr_t *)sp;
    return true;
}

static bool keep_return_here(native_self *self, uintptr_t sp) {
    settle(self, sp, true);
    make_mirror(self->stack);
    return keep_return(self, sp);
}

bool ouro_native_sled_entered(uintptr_t function, uintptr_t sp, bool tail) {
    native_self *self = &ouro_native_self;
    int kind = tail ? NATIVE_SLED_TAIL : NATIVE_SLED_ENTER;
    native_section section;
    if (ouro_native_session.off) return false;
    if (is_entering(self)) {
        if (!tail && !keep_return(self, sp)) return false;
        queue_put(self, function, sp, kind);
        return true;
    }
    if (!ouro_native_section_begin(&section)) return false;
    bool taken = tail || keep_return_here(self, sp);
    if (taken) take(self, (native_event){function, sp, kind});
    ouro_native_section_end(&section);
    return taken;
}

// The program goes on at `sp`, or is about to, so the frames below it are gone. A handler that
// leaves by siglongjmp may have interrupted an enter, which then never ends. There is no section on
// the fast path, because programs jump often and leaving is safe against signals.
void ouro_native_unwind(uintptr_t sp) {
    native_self *self = &ouro_native_self;
    native_section section;
    if (!self->started) return;
    if (is_entering(self)) self->top = unmarked(self->top);
    if (self->limit && is_on(self->stack, sp) && !self->stack->unsaved && !self->slice_stack) {
        abandon(self, sp - self->low);
        return;
    }
    if (!ouro_native_section_begin(&section)) return;
    if (is_on(self->stack, sp)) abandon(self, sp - self->low);
    ouro_native_section_end(&section);
}

void ouro_native_settle(uintptr_t sp) {
    native_self *self = &ouro_native_self;
    native_section section;
    if (!self->started || sp - self->low <= self->size || !ouro_native_section_begin(&section))
        return;
    settle(self, sp, false);
    ouro_native_section_end(&section);
}

ouro_thread *ouro_native_thread_now(void) {
    native_self *self = &ouro_native_self;
    native_section section;
    if (self->limit) return self->thread;
    if (!ouro_native_section_begin(&section)) return NULL;
    ouro_native_section_end(&section);
    return self->thread;
}
