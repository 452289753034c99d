// SPDX-License-Identifier: MIT
//
// Threads: a position in a lane, and nothing else. A fork is a second position in the same lane; a
// spawn is a lane of its own, in which the parent's path is laid out again.

#include "internal.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(sizeof(ouro_thread) == 48, "ouro.h and docs/embedding.md say what a fork takes");

static bool is_enabled(const ouro_profile *profile) {
    return atomic_load_explicit(&((ouro_profile *)profile)->enabled, memory_order_relaxed);
}

// Puts a thread that was allocated into its lane. Standing somewhere keeps a position open, as a
// phantom entry does. The caller holds the lane's lock.
static void thread_begin(ouro_thread *thread, ouro__lane *lane, ouro_position position) {
    thread->nodes_ = lane->nodes;
    thread->position_ = position;
    thread->metric_count_ = lane->profile->metric_count;
    thread->lane_ = &lane->head;
    thread->clock_ = NULL;
    thread->previous_ = NULL;
    thread->next_ = lane->first;
    if (lane->first) lane->first->previous_ = thread;
    lane->first = thread;
    ouro_increment_(&node_at(lane, position)->balance);
}

static void thread_end(ouro_thread *thread) {
    ouro__lane *lane = lane_of(thread);
    ouro_decrement_(&node_at(lane, thread->position_)->balance);
    if (thread->next_) thread->next_->previous_ = thread->previous_;
    if (thread->previous_) thread->previous_->next_ = thread->next_;
    if (lane->first == thread) lane->first = thread->next_;
    lane->threads--;
    // If others wait, they say so again.
    if (lane->threads == 0 && lane->full)
        atomic_store_explicit(&lane->profile->waiting, false, memory_order_relaxed);
}

// A thread at the end of a path that is laid out in a lane of its own.
static ouro_thread *thread_in_new_lane(ouro_profile *profile, const ouro__path_step *path,
                                       size_t length) {
    ouro_thread *thread = malloc(sizeof *thread);
    ouro__lane *lane = thread ? ouro__lane_acquire(profile) : NULL;
    if (!lane) {
        free(thread);
        return NULL;
    }
    pthread_mutex_lock(&lane->lock);
    lane->head.watched = NULL; // of threads that were here before
    ouro__slices_leave(lane);  // and so is a slice that they left open
    thread_begin(thread, lane, ouro__path_reenter(lane, path, length));
    pthread_mutex_unlock(&lane->lock);
    return thread;
}

ouro_thread *ouro_thread_new(ouro_profile *profile) {
    if (!profile || !is_enabled(profile)) return NULL;
    return thread_in_new_lane(profile, NULL, 0);
}

ouro_thread *ouro_thread_fork(ouro_thread *parent) {
    if (!parent || !is_enabled(lane_of(parent)->profile)) return NULL;
    ouro__lane *lane = lane_of(parent);
    ouro_thread *thread = malloc(sizeof *thread);
    if (!thread) return NULL;
    pthread_mutex_lock(&lane->lock);
    lane->threads++;
    thread_begin(thread, lane, parent->position_);
    pthread_mutex_unlock(&lane->lock);
    return thread;
}

ouro_thread *ouro_thread_spawn(ouro_thread *parent) {
    if (!parent || !is_enabled(lane_of(parent)->profile)) return NULL;
    size_t length;
    ouro__path_step *path = ouro__path_copy(lane_of(parent), parent->position_, &length);
    if (!path) return NULL;
    ouro_thread *thread = thread_in_new_lane(lane_of(parent)->profile, path, length);
    int error = errno;
    free(path);
    errno = error;
    return thread;
}

void ouro_thread_free(ouro_thread *thread) {
    if (!thread) return;
    ouro_clock_stop(thread);
    ouro__lane *lane = lane_of(thread);
    pthread_mutex_lock(&lane->lock);
    thread_end(thread);
    pthread_mutex_unlock(&lane->lock);
    free(thread);
}
