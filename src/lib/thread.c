// SPDX-License-Identifier: MIT
//
// Threads: a position in a lane, and nothing else. A fork is a second position in the same lane; a
// spawn is a lane of its own, in which the parent's path is laid out again.

#include "internal.h"

#include <errno.h>
#include <stdlib.h>

static bool is_enabled(const ouro_profile *profile) {
    return atomic_load_explicit(&((ouro_profile *)profile)->enabled, memory_order_relaxed);
}

// Standing somewhere keeps a position open, as a phantom entry does.
static ouro_thread *thread_make(ouro__lane *lane, ouro_position position) {
    ouro_thread *thread = malloc(sizeof *thread);
    if (!thread) return NULL;
    thread->nodes_ = lane->nodes;
    thread->position_ = position;
    thread->metric_count_ = lane->profile->metric_count;
    thread->lane_ = lane;
    thread->clock_ = NULL;
    ouro_increment_(&node_at(lane, position)->balance);
    return thread;
}

ouro_thread *ouro_thread_new(ouro_profile *profile) {
    if (!profile || !is_enabled(profile)) return NULL;
    ouro__lane *lane = ouro__lane_acquire(profile);
    if (!lane) return NULL;
    ouro_thread *thread = thread_make(lane, ROOT_POSITION);
    if (!thread) ouro__lane_release(lane);
    return thread;
}

ouro_thread *ouro_thread_fork(ouro_thread *parent) {
    if (!parent || !is_enabled(parent->lane_->profile)) return NULL;
    ouro__lane *lane = parent->lane_;
    ouro_thread *thread = thread_make(lane, parent->position_);
    if (!thread) return NULL;
    pthread_mutex_lock(&lane->lock);
    lane->threads++;
    pthread_mutex_unlock(&lane->lock);
    return thread;
}

ouro_thread *ouro_thread_spawn(ouro_thread *parent) {
    if (!parent || !is_enabled(parent->lane_->profile)) return NULL;
    size_t length;
    ouro__path_step *path = ouro__path_copy(parent->lane_, parent->position_, &length);
    ouro__lane *lane = path ? ouro__lane_acquire(parent->lane_->profile) : NULL;
    ouro_thread *thread = NULL;
    if (lane) {
        pthread_mutex_lock(&lane->lock);
        thread = thread_make(lane, ouro__path_reenter(lane, path, length));
        pthread_mutex_unlock(&lane->lock);
        if (!thread) ouro__lane_release(lane);
    }
    free(path);
    return thread;
}

void ouro_thread_free(ouro_thread *thread) {
    if (!thread) return;
    ouro_clock_stop(thread);
    ouro_decrement_(&node_at(thread->lane_, thread->position_)->balance);
    ouro__lane_release(thread->lane_);
    free(thread);
}
