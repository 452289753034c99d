// SPDX-License-Identifier: MIT
//
// fork(2): the child gets every profile as it stands, in memory of its own, with locks that are
// free. Its clocks are gone (timers are not inherited) and a live file stays the parent's.

#include "internal.h"

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static ouro_profile *profiles;
static bool watching;

static void lock_profile(ouro_profile *profile, bool lock) {
    int (*change)(pthread_mutex_t *) = lock ? pthread_mutex_lock : pthread_mutex_unlock;
    if (lock) change(&profile->lock);
    for (uint32_t i = 0; i < profile->lane_count; i++) change(&profile->lanes[i]->lock);
    ouro__live_lock(profile->live, lock);
    if (!lock) change(&profile->lock);
}

static void before_fork(void) {
    pthread_mutex_lock(&fork_lock);
    for (ouro_profile *p = profiles; p; p = p->next) lock_profile(p, true);
    ouro__clocks_lock(true);
    // Now, while nothing can grow and the thread that forks records nothing: later the parent may
    // have gone on.
    for (ouro_profile *p = profiles; p; p = p->next) ouro__live_copy(p->live);
}

static void unlock_all(void) {
    ouro__clocks_lock(false);
    for (ouro_profile *p = profiles; p; p = p->next) lock_profile(p, false);
    pthread_mutex_unlock(&fork_lock);
}

static void in_parent(void) {
    for (ouro_profile *p = profiles; p; p = p->next) ouro__live_drop_copy(p->live);
    unlock_all();
}

static void forget_clocks(const ouro_profile *profile) {
    for (uint32_t i = 0; i < profile->lane_count; i++)
        for (ouro_thread *t = profile->lanes[i]->first; t; t = t->next_) t->clock_ = NULL;
}

static void in_child(void) {
    for (ouro_profile *p = profiles; p; p = p->next) {
        ouro__live_detach(p->live);
        forget_clocks(p);
    }
    ouro__clocks_forget();
    unlock_all();
}

bool ouro__fork_watch(ouro_profile *profile) {
    pthread_mutex_lock(&fork_lock);
    if (!watching) watching = pthread_atfork(before_fork, in_parent, in_child) == 0;
    if (watching) {
        profile->next = profiles;
        if (profiles) profiles->previous = profile;
        profiles = profile;
    }
    pthread_mutex_unlock(&fork_lock);
    return watching;
}

void ouro__fork_forget(ouro_profile *profile) {
    pthread_mutex_lock(&fork_lock);
    if (profile->previous) profile->previous->next = profile->next;
    if (profile->next) profile->next->previous = profile->previous;
    if (profiles == profile) profiles = profile->next;
    pthread_mutex_unlock(&fork_lock);
}
