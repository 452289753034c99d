// SPDX-License-Identifier: MIT
//
// The hooks of -finstrument-functions: the hot path. It touches one cache line of thread-local
// state, one word of the cache of functions, one place, one node and one frame; no lock, no call.
// All unusual cases go to events.c.
//
// While nothing records, a hook is a comparison and a return: `off` is expected, because in code
// that is dense with calls each taken jump counts. Recording pays one for it.
//
// Leaving is safe against signals without a mark: a handler that runs in the middle of it enters
// and leaves on top of the frame that is being left, and restores position and top.

#include "top_frame.h"

#define HOOK HOOK_SECTION __attribute__((visibility("default"), no_instrument_function))

__thread native_self ouro_native_self;
uint64_t ouro_native_cache[1 << CACHE_BITS];

HOOK void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site);

// The stack pointer before the hook was called. The name is the compilers' own.
#define CALLERS_SP ((uintptr_t)__builtin_dwarf_cfa())

// The unusual cases, and idle programs, which have no array of frames: `limit` is NULL.
static NATIVE_COLD HOOK_SECTION void event(uintptr_t function, uintptr_t sp, int kind) {
    ouro_native_event(function, sp, kind);
}

// They complete the enter. Functions of their own, so that the hook saves no registers.
static NATIVE_COLD HOOK_SECTION void search(native_frame *top, ouro_thread *thread,
                                            ouro_block block) {
    ouro_enter(thread, block);
    frame_end(&ouro_native_self, top + 1);
}

static APART void enter_lately(native_frame *top, ouro_thread *thread, ouro_block block,
                               ouro_place *place, uintptr_t function) {
    if (UNLIKELY(!ouro_place_learn(thread, place, function, block))) {
        search(top, thread, block);
        return;
    }
    frame_end(&ouro_native_self, top + 1);
}

static APART void enter_other(native_frame *top, ouro_thread *thread, ouro_block block,
                              ouro_place *place, uintptr_t function) {
    if (UNLIKELY(!ouro_place_recall(thread, place, function, block))) {
        enter_lately(top, thread, block, place, function);
        return;
    }
    frame_end(&ouro_native_self, top + 1);
}

// By the place of the call and the function: inlined functions have the place of their caller's.
static inline ouro_place *place_of(const native_self *self, uintptr_t site, uintptr_t function) {
    return self->places + (site / 2 + function / 16) % OURO_PLACE_COUNT;
}

void __cyg_profile_func_enter(void *function, void *site) {
    if (LIKELY(ouro_native_session.off)) return;
    native_self *self = &ouro_native_self;
    uintptr_t address = (uintptr_t)function;
    native_frame *top = self->top;
    if (UNLIKELY(top >= self->limit)) {
        event(address, CALLERS_SP, NATIVE_ENTER);
        return;
    }
    uint64_t height = CALLERS_SP - self->low;
    uint64_t block = *cache_place(address) ^ address << CACHE_BLOCK_BITS;
    if (UNLIKELY(height > top[-1].height) || UNLIKELY(block >> CACHE_BLOCK_BITS)) {
        event(address, CALLERS_SP, NATIVE_ENTER);
        return;
    }
    ouro_thread *thread = frame_thread(self);
    frame_begin(self, top);
    ouro_position from = ouro_thread_position(thread);
    frame_put(top, height, (uint32_t)address, from);
    ouro_place *place = place_of(self, (uintptr_t)site, address);
    if (UNLIKELY(!ouro_place_knows(place, from, (ouro_block)block))) {
        enter_other(top, thread, (ouro_block)block, place, address);
        return;
    }
    ouro_place_follow(thread, place);
    frame_end(self, top + 1);
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)site;
    if (LIKELY(ouro_native_session.off)) return;
    native_self *self = &ouro_native_self;
    uintptr_t address = (uintptr_t)function;
    native_frame *top = self->top;
    if (UNLIKELY(top >= self->limit)) {
        event(address, CALLERS_SP, NATIVE_EXIT);
        return;
    }
    if (UNLIKELY(top[-1].key != (uint32_t)address) ||
        UNLIKELY(CALLERS_SP - self->low > self->size)) {
        event(address, CALLERS_SP, NATIVE_EXIT);
        return;
    }
    frame_leave(self, top);
}
