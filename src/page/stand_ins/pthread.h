// SPDX-License-Identifier: MIT
//
// Locks for a module that has one thread: nobody else can hold one, so nothing is to be done.

#ifndef OURO_STAND_IN_PTHREAD_H
#define OURO_STAND_IN_PTHREAD_H

#include <sys/types.h> // has the types

#define pthread_mutex_init(mutex, attributes) ((void)(mutex))
#define pthread_mutex_destroy(mutex) ((void)(mutex))
#define pthread_mutex_lock(mutex) ((void)(mutex))
#define pthread_mutex_trylock(mutex) ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex) ((void)(mutex))
#define pthread_cond_init(condition, attributes) ((void)(condition))
#define pthread_cond_destroy(condition) ((void)(condition))
#define pthread_cond_broadcast(condition) ((void)(condition))
// A thread that waits for another would wait for ever.
#define pthread_cond_wait(condition, mutex) __builtin_trap()

#endif
