// SPDX-License-Identifier: MIT
//
// Reads a source file that a profile names. Profiles come from anywhere, so their names are not
// trusted: the file must, with all symbolic links followed, lie inside one of the roots, and be a
// plain file, looked at before it is opened (devices act when opened) and after (somebody may have
// put another in its place). What the open file really is, the system tells.
//
// The working folder may be a home folder, where keys and passwords are. So the path inside the
// root has no name that begins with a dot, and the file has the extension of a source.
//
// A name may be a file:// URL, and its first folders may be mapped to others. That happens first:
// the rules above hold for what comes out. A map keeps the file's own name.

#include "source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 8 << 20 };

// In lower case. Formats of data and of settings are not here: they hold passwords more often
// than code.
static const char usual[] =
    " ada adb ads agda asm awk bas bash c c++ cc cjs cl clj cljc cljs cob coffee cpp cr cs cu "
    "cuh cxx d dart e el elm erb erl ex exs f f03 f08 f77 f90 f95 fble fish fnl for forth fs "
    "fsi fsx gd gleam glsl go groovy h h++ hack hh hip hlsl hpp hrl hs hx hxx idr inl ino ipp "
    "ispc java jl js jsp jsx kt kts l lean lhs lisp ll lsp lua luau m m4 metal mjs ml mli mll "
    "mly mm moon nasm nim nix odin p pas php phtml pl pm pony ps1 purs pxd py pyi pyx q r "
    "rake raku rb re rei rkt rs s sage scala scm sh sml sol sql ss st sv svelte swift tcc tcl "
    "tpp ts tsx v vala vb vhd vhdl vim vue wat wgsl wren x y zig zsh ";

static bool is_listed(const char *extension) {
    char word[16];
    size_t length = strlen(extension);
    if (length == 0 || length > sizeof word - 3 || strchr(extension, ' ')) return false;
    word[0] = ' ';
    for (size_t i = 0; i < length; i++) word[i + 1] = (char)tolower((unsigned char)extension[i]);
    memcpy(word + length + 1, " ", 2);
    return strstr(usual, word) != NULL;
}

// The path inside the root: it begins with a slash.
static bool is_source(const source_rules *rules, const char *path) {
    const char *dot = strrchr(path, '.');
    if (strstr(path, "/.") || !dot || strchr(dot, '/')) return false;
    for (size_t i = 0; i < rules->extension_count; i++) {
        if (strcmp(rules->extensions[i], dot + 1) == 0) return true;
    }
    return is_listed(dot + 1);
}

static bool is_inside(const char *root, const char *path, size_t *inside) {
    *inside = strlen(root);
    while (*inside > 0 && root[*inside - 1] == '/') --*inside;
    return strncmp(root, path, *inside) == 0 && path[*inside] == '/';
}

// The path with all links followed, if it lies inside the root, where it begins at `inside`. Freed
// by the caller.
static char *find_inside(const char *root, const char *name, size_t *inside) {
    char *joined = NULL, *real_root = realpath(root, NULL), *real = NULL;
    if (asprintf(&joined, "%s/%s", root, name) < 0) joined = NULL;
    if (real_root && joined) real = realpath(name[0] == '/' ? name : joined, NULL);
    free(joined);
    if (real && !is_inside(real_root, real, inside)) {
        free(real);
        real = NULL;
        errno = EPERM;
    }
    free(real_root);
    return real;
}

static const char not_a_source[] =
    "its name is not that of a source file (--source-extension), or is hidden by a dot";

static int refuse(const char **reason, const char *why, int fd) {
    *reason = why;
    if (fd >= 0) close(fd);
    return -1;
}

// Nobody moved a link between looking and opening.
static bool is_still(int fd, const char *path) {
    char link[64], now[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, now, sizeof now - 1);
    if (n <= 0) return false;
    now[n] = '\0';
    return strcmp(now, path) == 0;
}

static int open_plain(const char *path, struct stat *info, const char **reason) {
    if (lstat(path, info) != 0) return refuse(reason, "it is not there", -1);
    if (!S_ISREG(info->st_mode)) return refuse(reason, "it is not a plain file", -1);
    if (info->st_size > LARGEST) return refuse(reason, "it is larger than 8 MB", -1);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return refuse(reason, "it cannot be opened", -1);
    if (fstat(fd, info) != 0 || !S_ISREG(info->st_mode) || !is_still(fd, path))
        return refuse(reason, "it is not a plain file", fd);
    return fd;
}

// ---------------------------------------------------------------- names

bool ouro__is_source_map(const char *text) {
    const char *equals = strchr(text, '=');
    return equals && equals > text;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// In place. What is no escape stays; an escaped NUL ends the name.
static void unescape(char *text) {
    char *to = text;
    for (; *text; text++) {
        int high = *text == '%' ? hex(text[1]) : -1, low = high < 0 ? -1 : hex(text[2]);
        *to++ = low < 0 ? *text : (char)(high * 16 + low);
        if (low >= 0) text += 2;
    }
    *to = '\0';
}

// The path of a file URL of this machine; other names as they are. Freed by the caller.
static char *path_of(const char *name) {
    static const char scheme[] = "file://", host[] = "localhost/";
    if (strncmp(name, scheme, sizeof scheme - 1) != 0) return strdup(name);
    const char *rest = name + sizeof scheme - 1;
    if (strncmp(rest, host, sizeof host - 1) == 0) rest += sizeof host - 2;
    if (*rest != '/') return strdup(name);
    char *path = strdup(rest);
    if (path) unescape(path);
    return path;
}

// What is left of the name below the folder that the map begins with; NULL: it is not below it.
static const char *below(const char *map, const char *name) {
    size_t length = (size_t)(strchr(map, '=') - map);
    if (strncmp(name, map, length) != 0) return NULL;
    if (map[length - 1] != '/' && name[length] != '/') return NULL;
    const char *rest = name + length;
    while (*rest == '/') rest++;
    return *rest ? rest : NULL;
}

// The name of the file here. Freed by the caller.
static char *local_name(const source_rules *rules, const char *name) {
    char *path = path_of(name), *mapped = NULL;
    for (size_t i = 0; path && i < rules->map_count; i++) {
        const char *rest = below(rules->maps[i], path), *to = strchr(rules->maps[i], '=') + 1;
        if (!rest) continue;
        if (asprintf(&mapped, "%s%s%s", to, *to ? "/" : "", rest) < 0) mapped = NULL;
        free(path);
        return mapped;
    }
    return path;
}

// ---------------------------------------------------------------- reading

static int open_local(const source_rules *rules, const char *name, struct stat *info,
                      const char **reason) {
    bool outside = false;
    *reason = "no folder is allowed";
    if (!*name || strlen(name) >= PATH_MAX) return refuse(reason, "it has no name", -1);
    for (size_t i = 0; i < rules->root_count; i++) {
        size_t inside;
        char *path = find_inside(rules->roots[i], name, &inside);
        outside |= !path && errno == EPERM;
        if (!path) continue;
        bool shown = rules->any || is_source(rules, path + inside);
        int fd = shown ? open_plain(path, info, reason) : refuse(reason, not_a_source, -1);
        free(path);
        return fd;
    }
    if (rules->root_count)
        *reason = outside ? "it is outside the allowed folders" : "it is not there";
    return -1;
}

static int open_source(const source_rules *rules, const char *name, struct stat *info,
                       const char **reason) {
    char *local = local_name(rules, name);
    if (!local) return refuse(reason, "there is no memory for its name", -1);
    int fd = open_local(rules, local, info, reason);
    free(local);
    return fd;
}

char *ouro__source_read(const source_rules *rules, const char *name, size_t *size,
                        const char **reason) {
    struct stat info;
    int fd = open_source(rules, name, &info, reason);
    if (fd < 0) return NULL;
    size_t room = (size_t)info.st_size;
    char *bytes = malloc(room + 1);
    ssize_t n = 1;
    *size = 0;
    while (bytes && *size < room && n != 0) {
        n = read(fd, bytes + *size, room - *size);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) *size += (size_t)n;
    }
    close(fd);
    if (bytes && n >= 0) {
        bytes[*size] = '\0';
        return bytes;
    }
    free(bytes);
    *reason = "it cannot be read";
    return NULL;
}

bool ouro__source_readable(const source_rules *rules, const char *name) {
    struct stat info;
    const char *reason;
    int fd = open_source(rules, name, &info, &reason);
    if (fd >= 0) close(fd);
    return fd >= 0;
}
