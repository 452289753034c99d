// SPDX-License-Identifier: MIT
//
// Recording is switched on and off while the program runs, by a signal (`ouro record on PID`). Its
// handler marks what is wanted, and lets all OS threads take the slow path at their next event. The
// first of them there changes the profile of the session; each enters its open frames again in the
// profile that holds now, as after fork(2). So paths are complete from the first event on, and the
// hot path knows nothing of this.
//
// Both profiles have the same blocks with the same numbers.

#include "native.h"

#include <pthread.h>

enum { WANTED_ON = 1, WANTED_OFF = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held only while signals are blocked
static native_self *all;
static ouro_profile *unread; // where events go while it is off
static bool wanted_off, is_off;

bool ouro_native_switch_waits(void) {
    return __atomic_load_n(&wanted_off, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&is_off, __ATOMIC_RELAXED);
}

void ouro_native_switch_lock(bool take) {
    if (take)
        pthread_mutex_lock(&lock);
    else
        pthread_mutex_unlock(&lock);
}

// ---------------------------------------------------------------- OS threads

void ouro_native_switch_add(native_self *self) {
    pthread_mutex_lock(&lock);
    self->next = all;
    all = self;
    pthread_mutex_unlock(&lock);
}

// Also where no section could begin.
void ouro_native_switch_remove(native_self *self) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    pthread_mutex_lock(&lock);
    for (native_self **at = &all; *at; at = &(*at)->next) {
        if (*at != self) continue;
        *at = self->next;
        break;
    }
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// A child has one thread, and makes its profiles anew.
void ouro_native_switch_in_child(native_self *self) {
    all = self->started ? self : NULL;
    self->next = NULL;
    unread = NULL;
    is_off = false;
}

// ---------------------------------------------------------------- switching

static void make_all_slow(void) {
    for (native_self *self = all; self; self = self->next)
        __atomic_store_n(&self->limit, NULL, __ATOMIC_SEQ_CST);
}

static bool on_signal(const siginfo_t *info, void *context) {
    int value = info->si_value.sival_int;
    (void)context;
    if (info->si_code != SI_QUEUE || (value != WANTED_ON && value != WANTED_OFF)) return false;
    __atomic_store_n(&wanted_off, value == WANTED_OFF, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    make_all_slow();
    pthread_mutex_unlock(&lock);
    return true;
}

void ouro_native_switch_start(bool off) {
    static bool started;
    if (started) return;
    started = true;
    wanted_off = off;
    ouro_native_signal_take(SWITCH_SIGNAL, on_signal);
}

static void copy_blocks(void) {
    ouro_block_info info;
    for (ouro_block b = ouro_add_blocks(unread, NULL, 0);
         ouro_block_get(ouro_native_session.counted, b, &info); b++)
        ouro_add_block(unread, &info);
}

void ouro_native_switch_block(ouro_block block) {
    (void)block;
    if (__atomic_load_n(&unread, __ATOMIC_ACQUIRE)) copy_blocks();
}

void ouro_native_switch_now(void) {
    static const ouro_metric_info metrics[] = {{"time", "nanoseconds"},
                                               {"recording", "nanoseconds"},
                                               {"samples", "count"},
                                               {"bytes", "bytes"},
                                               {"n", "count"}};
    ouro_native_functions_lock(true);
    pthread_mutex_lock(&lock);
    if (!unread)
        __atomic_store_n(&unread,
                         ouro_profile_new(&(ouro_options){
                             .metrics = metrics, .metric_count = 5, .max_nodes = 1 << 16}),
                         __ATOMIC_RELEASE);
    if (unread && ouro_native_switch_waits()) {
        is_off = !is_off;
        copy_blocks();
        ouro_native_session.generation++;
        __atomic_store_n(&ouro_native_session.profile,
                         is_off ? unread : ouro_native_session.counted, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    ouro_native_functions_lock(false);
}

void ouro_native_switch_slow(void) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    pthread_mutex_lock(&lock);
    make_all_slow();
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// All threads enter their frames again, under the names that they have now. Names are given seldom.
void ouro_native_switch_rename(void) {
    native_section section;
    if (!ouro_native_section_begin(&section)) return;
    pthread_mutex_lock(&lock);
    ouro_native_session.generation++;
    make_all_slow();
    pthread_mutex_unlock(&lock);
    ouro_native_section_end(&section);
}
