// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_ENDS_H
#define OURO_LUA_ENDS_H

#include "session.h"

// Interrupts and other signals that end a script, so that its profile is written all the same.
typedef struct {
    session *session;
    void (*finish)(void); // stops the session and writes the profile
    // Writes it as it is, in a child process, and exits with status 1 on failure. `charge`: look
    // first where the script stands.
    void (*rescue)(bool charge);
} ends_of_script;

// From now on signals are handled. Called once, by the process that runs the script.
void ends_begin(const ends_of_script *what);
// The session has ended.
void ends_forget(void);
// While on, an interrupt is an error in the script, as in lua; the second one ends the process.
void ends_catch_interrupts(bool on);

#endif
