// SPDX-License-Identifier: MIT
//
// Opens the browser on an address. Arguments of a process can be read by every user of the machine,
// and the address may carry the viewer's secret. Then the browser gets the name of a file instead,
// which only its owner can read, and which leads to the address.

#include "cli.h"

#include "printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

void put_encoded(FILE *to, const char *text) {
    for (; *text; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || strchr("-._~/", *text);
        fprintf(to, plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
}

// $BROWSER, or what the desktop chose if there is one; NULL: neither.
static const char *find_browser(void) {
    const char *browser = secure_getenv("BROWSER");
    bool screen = secure_getenv("DISPLAY") || secure_getenv("WAYLAND_DISPLAY");
    return browser && *browser ? browser : screen ? "xdg-open" : NULL;
}

// No shell is involved: the address is one argument, whatever it holds.
static void start(const char *browser, const char *address) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    pid_t child;
    char *arguments[] = {(char *)(uintptr_t)browser, (char *)(uintptr_t)address, NULL};
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // A group of its own: Ctrl-C here does not end the browser.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int problem = posix_spawnp(&child, browser, &actions, &attributes, arguments, environ);
    if (problem) ouro__say("ouro: cannot start %s: %s", browser, strerror(problem));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
}

// ---------------------------------------------------------------- the file

static char *file; // NULL: there is none

// The user's own folder for such files, or the one for all, where nobody removes another's.
static char *folder_of_files(void) {
    const char *const folders[] = {secure_getenv("XDG_RUNTIME_DIR"), secure_getenv("TMPDIR"),
                                   "/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i] || !*folders[i] || access(folders[i], W_OK | X_OK) != 0) continue;
        char *real = realpath(folders[i], NULL);
        if (real) return real;
    }
    return NULL;
}

static void write_page(FILE *to, const char *address) {
    fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Ouro</title>\n"
          "<meta http-equiv=\"refresh\" content=\"0; url=",
          to);
    for (const char *at = address; *at; at++) fputs(*at == '&' ? "&amp;" : (char[]){*at, 0}, to);
    fputs("\">\n<p>Opening the profile. If nothing happens, open the address that "
          "<code>ouro view</code> printed.</p>\n</html>\n",
          to);
}

static bool make_file(const char *address) {
    char *folder = folder_of_files();
    if (!folder || asprintf(&file, "%s/ouro-view-XXXXXX.html", folder) < 0) file = NULL;
    free(folder);
    int fd = file ? mkostemps(file, 5, O_CLOEXEC) : -1; // mode 0600
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (to) write_page(to, address);
    bool good = to && fclose(to) == 0;
    if (fd >= 0 && !good) browser_end();
    return good;
}

void browser_end(void) {
    if (file) unlink(file);
    free(file);
    file = NULL;
}

// ---------------------------------------------------------------- opening

static void start_with_file(const char *browser) {
    char *name = NULL;
    size_t size;
    FILE *to = open_memstream(&name, &size);
    if (!to) fail_memory();
    fputs("file://", to);
    put_encoded(to, file);
    fclose(to);
    start(browser, name);
    free(name);
}

void browser_open(const char *address, bool secret) {
    const char *browser = find_browser();
    if (!browser) return;
    if (!secret) {
        start(browser, address);
    } else if (make_file(address)) {
        start_with_file(browser);
    } else {
        ouro__say("ouro: cannot open the browser without showing the secret to other users (%s); "
                  "open the address by hand",
                  strerror(errno));
    }
}
