// SPDX-License-Identifier: MIT
//
// The secret of a viewer. Everybody on the machine can reach its port; only who has the address
// that it printed knows the secret. The first visit is to that address. It is answered with a
// cookie, and with the same address without the secret.

#ifndef OURO_SECRET_H
#define OURO_SECRET_H

#include <stdbool.h>
#include <stddef.h>

enum { SECRET_BYTES = 16, SECRET_ROOM = 2 * SECRET_BYTES + 1 };

// The parameter of the first visit.
#define SECRET_PARAMETER "secret"

// In hexadecimal. false with errno set: the system has no random bytes.
bool ouro__secret_make(char secret[static SECRET_ROOM]);
// Is this the secret? Takes as long for any text of its length.
bool ouro__secret_is(const char secret[static SECRET_ROOM], const char *text, size_t length);
// Does a Cookie header have the secret under this name? Another program on another port of the same
// host may have set one of the same name; so all of them are looked at.
bool ouro__secret_in_cookies(const char secret[static SECRET_ROOM], const char *name,
                             const char *header);
// The value of the parameter in a target, as it is written there; NULL: there is none.
const char *ouro__secret_in_target(const char *target, size_t *length);
// The target without the parameter, and with every byte encoded that is not one of an address:
// it can stand in a header. Freed by the caller. NULL: out of memory.
char *ouro__secret_removed(const char *target);

#endif
