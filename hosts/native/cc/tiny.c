// SPDX-License-Identifier: MIT
//
// Tiny functions. gcc puts its hooks in before it inlines, so a function of three instructions that
// is called everywhere pays for two calls each time, and what it was inlined into can no longer be
// optimised. So each source is compiled without hooks first, and the debug information of that says
// what became of each function: a function is tiny if it makes no call, and no copy of it, of its
// own or inlined, has more than TINY_BYTES of code; or if all its copies are inlined, none of them
// with more than INLINED_BYTES. A function with a loop is not tiny: it may be where the time goes.
// Nor is main.
//
// gcc leaves out functions whose name contains a given text. A tiny function whose name is a part
// of the name of one that is not tiny keeps its hooks.

#include "tiny.h"

#include "descriptors.h"
#include "loops.h"

#include "../run/dw.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TINY_BYTES = 64,
    INLINED_BYTES = 256, // larger ones are often inlined because they are called at one place
    DEPTH_MOST = 256,
    FUNCTIONS_MOST = 20000, // else comparing all their names would take longer than compiling
    LIST_MOST = 64 << 10
};

typedef struct {
    Dwarf_Off die; // of the function, without its copies
    char *name;
    uint64_t largest;
    bool calls;
    bool apart; // not only inlined
} function;

typedef struct {
    function *items;
    size_t count, room;
    uint32_t *places; // hash table by `die`: the number of an item + 1; twice `room` is its size
    loops loops;
    bool cxx;
} functions;

// ---------------------------------------------------------------- names

// C: the name. C++: with its classes and namespaces, without parameters. NULL: gcc writes it in a
// way that we do not know.
static char *name_of(const functions *all, Dwarf_Die *die) {
    Dwarf_Die *scopes = NULL, at;
    char *text = NULL;
    size_t size = 0;
    const char *own = dwarf_diename(die);
    if (!own) return NULL;
    if (!all->cxx) return strdup(own);
    // A definition outside of its class has the name of the declaration.
    Dwarf_Attribute attribute;
    at = *die;
    if (dwarf_attr(die, DW_AT_specification, &attribute)) dwarf_formref_die(&attribute, &at);
    int count = dwarf_getscopes_die(&at, &scopes);
    FILE *to = open_memstream(&text, &size);
    if (!to) count = 0;
    for (int i = count - 1; i > 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        bool named = tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
                     tag == DW_TAG_class_type || tag == DW_TAG_union_type;
        if (named) fprintf(to, "%s::", name ? name : "<");
    }
    if (to) fputs(own, to);
    if (to && fclose(to)) count = 0;
    free(scopes);
    if (count > 0 && !strpbrk(text, "<>,\\ ")) return text;
    free(text);
    return NULL;
}

// ---------------------------------------------------------------- debug information

static uint32_t *place_of(const functions *all, Dwarf_Off die) {
    size_t mask = 2 * all->room - 1, at = (size_t)(die * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (all->places[at] && all->items[all->places[at] - 1].die != die) at = (at + 1) & mask;
    return &all->places[at];
}

static bool grow(functions *all) {
    size_t room = all->room ? all->room * 2 : 256;
    function *items = realloc(all->items, room * sizeof *items);
    if (items) all->items = items;
    uint32_t *places = items ? calloc(2 * room, sizeof *places) : NULL;
    if (!places) return false;
    free(all->places);
    all->places = places;
    all->room = room;
    for (size_t i = 0; i < all->count; i++) *place_of(all, items[i].die) = (uint32_t)i + 1;
    return true;
}

// The function that a copy was made of.
static function *function_of(functions *all, Dwarf_Die *die) {
    Dwarf_Die origin = *die;
    Dwarf_Attribute attribute;
    for (int i = 0; i < 3 && dwarf_attr(&origin, DW_AT_abstract_origin, &attribute); i++) {
        if (!dwarf_formref_die(&attribute, &origin)) return NULL;
    }
    if (all->count == all->room && !grow(all)) return NULL;
    uint32_t *place = place_of(all, dwarf_dieoffset(&origin));
    if (*place) return &all->items[*place - 1];
    function *f = &all->items[all->count++];
    *f = (function){.die = dwarf_dieoffset(&origin), .name = name_of(all, &origin)};
    *place = (uint32_t)all->count;
    return f;
}

static uint64_t size_of(Dwarf_Die *die) {
    Dwarf_Addr base, low, high;
    uint64_t size = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
        size += high - low;
    return size;
}

// Where the walk is: an entry, and the function of which it is a copy.
typedef struct {
    Dwarf_Die die;
    size_t function; // SIZE_MAX: none
} level;

static void look_at(functions *all, level *levels, int depth) {
    level *l = &levels[depth];
    int tag = dwarf_tag(&l->die);
    l->function = SIZE_MAX;
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
        uint64_t size = size_of(&l->die);
        function *f = size ? function_of(all, &l->die) : NULL;
        if (!f) return;
        if (size > f->largest) f->largest = size;
        if (tag == DW_TAG_subprogram) f->apart = true;
        l->function = (size_t)(f - all->items);
    } else if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) {
        for (int i = 0; i < depth; i++) {
            if (levels[i].function != SIZE_MAX) all->items[levels[i].function].calls = true;
        }
    }
}

// All entries of a file, without recursion; what is nested deeper than any program is left alone.
static void walk(functions *all, Dwarf_Die *unit) {
    level *levels = calloc(DEPTH_MOST, sizeof *levels);
    int depth = levels && dwarf_child(unit, &levels[0].die) == 0 ? 0 : -1;
    while (depth >= 0) {
        look_at(all, levels, depth);
        if (depth + 1 < DEPTH_MOST &&
            dwarf_child(&levels[depth].die, &levels[depth + 1].die) == 0) {
            depth++;
            continue;
        }
        while (depth >= 0 && dwarf_siblingof(&levels[depth].die, &levels[depth].die)) depth--;
    }
    free(levels);
}

static void read_object(functions *all, const char *path) {
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    Dwarf_Addr bias;
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, path, path, -1) : NULL;
    if (dwfl) dwfl_report_end(dwfl, NULL, NULL);
    for (Dwarf_Die *unit = NULL; module && (unit = dwfl_module_nextcu(module, unit, &bias));)
        walk(all, unit);
    if (dwfl) dwfl_end(dwfl);
}

// ---------------------------------------------------------------- the list

static bool is_tiny(const functions *all, const function *f) {
    bool tiny = !f->calls && f->largest <= TINY_BYTES;
    bool inlined = !f->apart && f->largest <= INLINED_BYTES;
    return f->name && (tiny || inlined) && strcmp(f->name, "main") != 0 &&
           !loops_has(&all->loops, f->name);
}

static bool hits_another(const functions *all, const char *name) {
    for (size_t i = 0; i < all->count; i++) {
        const function *f = &all->items[i];
        if (f->name && !is_tiny(all, f) && strstr(f->name, name)) return true;
    }
    return false;
}

static char *list_of(const functions *all) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool any = false;
    if (!to) return NULL;
    for (size_t i = 0; i < all->count && ftell(to) < LIST_MOST; i++) {
        const function *f = &all->items[i];
        if (!is_tiny(all, f) || hits_another(all, f->name)) continue;
        fprintf(to, "%s%s", any ? "," : "", f->name);
        any = true;
    }
    if (fclose(to) == 0 && any) return text;
    free(text);
    return NULL;
}

// ---------------------------------------------------------------- the compiler

static bool ends_in(const char *text, const char *ending) {
    size_t n = strlen(text), e = strlen(ending);
    return n > e && strcmp(text + n - e, ending) == 0;
}

static bool is_source(const char *word) {
    static const char *const endings[] = {".c", ".cc", ".cpp", ".cxx", ".c++",
                                          ".C", ".i",  ".ii",  NULL};
    if (word[0] == '-') return false;
    for (size_t i = 0; endings[i]; i++) {
        if (ends_in(word, endings[i])) return true;
    }
    return false;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

// Options that take the next word, and those that write files of their own.
static bool takes_word(const char *word) {
    static const char *const words[] = {"-o",        "-MF",      "-MT", "-MQ", "-dumpbase",
                                        "-aux-info", "-Xlinker", "-T",  NULL};
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(word, words[i]) == 0) return true;
    }
    return false;
}

static bool is_dropped(const char *word) {
    return begins(word, "-M") || begins(word, "-Wp,-M") || begins(word, "-save-temps") ||
           begins(word, "-fdump-") || begins(word, "-Wl,") || begins(word, "-l") ||
           begins(word, "-flto") || begins(word, "-gsplit") || strcmp(word, "-c") == 0 ||
           strcmp(word, "-S") == 0 || strcmp(word, "--coverage") == 0 ||
           strcmp(word, "-ftest-coverage") == 0 || ends_in(word, ".o") || ends_in(word, ".a") ||
           ends_in(word, ".so");
}

static bool run(char **words) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = ouro__open("/dev/null", O_RDWR, 0);
        for (int i = 0; i < 3 && nowhere >= 0; i++) dup2(nowhere, i);
        execvp(words[0], words);
        _exit(127);
    }
    if (child < 0) return false;
    while (waitpid(child, &status, 0) < 0) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// One source, without hooks and warnings.
static void compile(functions *all, char *const *words, const char *source, const char *object) {
    char dump[256];
    size_t count = 0, n = 0;
    while (words[count]) count++;
    char **own = calloc(count + 12, sizeof *own);
    if (!own) return;
    for (size_t i = 0; i < count; i++) {
        if (takes_word(words[i])) {
            i++;
        } else if (!is_dropped(words[i]) && (i == 0 || !is_source(words[i]))) {
            own[n++] = words[i];
        }
    }
    snprintf(dump, sizeof dump, "-fdump-tree-cfg=%s.cfg", object);
    const char *const more[] = {"-w", "-g", "-c", source, "-o", object, dump};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) own[n++] = (char *)more[i];
    if (run(own)) read_object(all, object);
    loops_read(&all->loops, strchr(dump, '=') + 1);
    unlink(strchr(dump, '=') + 1);
    free(own);
}

// Nothing is inlined without optimisation, and then nobody asks what a call costs.
static bool optimises(char *const *words) {
    bool yes = false;
    for (size_t i = 0; words[i]; i++) {
        if (begins(words[i], "-O")) yes = strcmp(words[i], "-O0") != 0;
        if (words[i][0] == '@' || strcmp(words[i], "-x") == 0) return false; // not for us to read
    }
    return yes;
}

char *tiny_functions(char *const *words, bool cxx) {
    functions all = {.cxx = cxx};
    char folder[] = "/tmp/ouro-cc-XXXXXX", object[sizeof folder + 8], *list = NULL;
    if (!optimises(words) || !mkdtemp(folder)) return NULL;
    snprintf(object, sizeof object, "%s/x.o", folder);
    for (size_t i = 1; words[i]; i++) {
        if (!takes_word(words[i - 1]) && is_source(words[i]))
            compile(&all, words, words[i], object);
    }
    if (all.count <= FUNCTIONS_MOST) list = list_of(&all);
    unlink(object);
    rmdir(folder);
    for (size_t i = 0; i < all.count; i++) free(all.items[i].name);
    free(all.items);
    free(all.places);
    loops_free(&all.loops);
    return list;
}
