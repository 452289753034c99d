// SPDX-License-Identifier: MIT
//
// Symbols by libdw. A module is opened once: its own file if that still has the build id that ran,
// else the debug file with that id. libdw finds the debug file of a stripped program. The address
// is the start of a function, so a symbol must start there, too: in a stripped file, the symbol
// before it would be a wrong name. File and line are the declaration of the outermost function at
// that address, not of a function that was inlined at its very start.

#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of libstdc++; there is no header for C.
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

typedef struct module {
    struct module *next;
    char *path, *build_id;
    Dwfl *dwfl;
    Dwfl_Module *handle; // NULL: there is no such file
} module;

typedef struct text {
    struct text *next;
    char bytes[];
} text;

struct symbols {
    module *modules;
    text *texts;
    char *debug_folders;
    Dwfl_Callbacks callbacks;
};

symbols *symbols_new(const char *debug_folders) {
    symbols *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    // libdw looks in the program's folder and in .debug below it first; we keep that.
    if (asprintf(&all->debug_folders, ":.debug:%s",
                 debug_folders ? debug_folders : "/usr/lib/debug") < 0)
        all->debug_folders = NULL;
    all->callbacks = (Dwfl_Callbacks){.find_debuginfo = dwfl_standard_find_debuginfo,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = &all->debug_folders};
    return all;
}

void symbols_free(symbols *all) {
    for (module *m = all->modules, *next; m; m = next) {
        next = m->next;
        if (m->dwfl) dwfl_end(m->dwfl);
        free(m->path);
        free(m->build_id);
        free(m);
    }
    for (text *t = all->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(all->debug_folders);
    free(all);
}

static const char *keep(symbols *all, const char *bytes) {
    size_t size = strlen(bytes) + 1;
    text *t = malloc(sizeof *t + size);
    if (!t) return "";
    memcpy(t->bytes, bytes, size);
    t->next = all->texts;
    all->texts = t;
    return t->bytes;
}

// ---------------------------------------------------------------- modules

static bool has_build_id(Dwfl_Module *handle, const char *wanted) {
    const unsigned char *bytes;
    GElf_Addr address;
    int n = dwfl_module_build_id(handle, &bytes, &address);
    if (n <= 0) return wanted[0] == '\0';
    if (strlen(wanted) != (size_t)n * 2) return false;
    for (int i = 0; i < n; i++) {
        char two[3];
        snprintf(two, sizeof two, "%02x", bytes[i]);
        if (strncmp(two, wanted + 2 * i, 2)) return false;
    }
    return true;
}

static bool open_file(symbols *all, module *m, const char *path) {
    m->dwfl = dwfl_begin(&all->callbacks);
    if (!m->dwfl) return false;
    dwfl_report_begin(m->dwfl);
    // Loaded at address 0, so that addresses are the file's own.
    m->handle = dwfl_report_elf(m->dwfl, m->path, path, -1, 0, false);
    dwfl_report_end(m->dwfl, NULL, NULL);
    if (m->handle && has_build_id(m->handle, m->build_id)) return true;
    dwfl_end(m->dwfl);
    m->dwfl = NULL;
    m->handle = NULL;
    return false;
}

// FOLDER/.build-id/12/3456.debug
static void open_debug_file(symbols *all, module *m) {
    const char *folder = all->debug_folders;
    if (strlen(m->build_id) < 3) return;
    while (folder && *folder && !m->handle) {
        int length = (int)strcspn(folder, ":");
        char *path = NULL;
        if (asprintf(&path, "%.*s/.build-id/%.2s/%s.debug", length, folder, m->build_id,
                     m->build_id + 2) < 0)
            return;
        if (access(path, R_OK) == 0) open_file(all, m, path);
        free(path);
        folder += length;
        folder += *folder == ':';
    }
}

static module *module_of(symbols *all, const char *path, const char *build_id) {
    for (module *m = all->modules; m; m = m->next) {
        if (strcmp(m->path, path) == 0 && strcmp(m->build_id, build_id) == 0) return m;
    }
    module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->path = strdup(path);
    m->build_id = strdup(build_id);
    m->next = all->modules;
    all->modules = m;
    if (!open_file(all, m, path)) open_debug_file(all, m);
    return m;
}

// ---------------------------------------------------------------- functions

static const char *symbol_name(Dwfl_Module *handle, uint64_t address) {
    GElf_Off offset = 1;
    GElf_Sym found;
    const char *name = dwfl_module_addrinfo(handle, address, &offset, &found, NULL, NULL, NULL);
    return name && offset == 0 ? name : NULL;
}

// The compilation unit of an address. clang writes no index for this, so all units may be searched.
static Dwarf_Die *unit_of(Dwfl_Module *handle, uint64_t address, Dwarf_Addr *bias) {
    Dwarf_Die *unit = dwfl_module_addrdie(handle, address, bias);
    if (unit) return unit;
    while ((unit = dwfl_module_nextcu(handle, unit, bias))) {
        if (dwarf_haspc(unit, address - *bias) > 0) return unit;
    }
    return NULL;
}

static bool function_at(Dwfl_Module *handle, uint64_t address, Dwarf_Die *function) {
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = unit_of(handle, address, &bias), *scopes = NULL;
    int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
    bool found = false;
    for (int i = 0; i < n; i++) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram) continue;
        *function = scopes[i];
        found = true;
    }
    free(scopes);
    return found;
}

static const char *linkage_name(Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    Dwarf_Attribute *name = dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute);
    return name ? dwarf_formstring(name) : dwarf_diename(function);
}

// clang numbers files from 0, which libdw takes for "no file".
static const char *declared_file(Dwarf_Die *function) {
    const char *file = dwarf_decl_file(function);
    Dwarf_Attribute attribute;
    Dwarf_Word number = 1;
    if (file) return file;
    Dwarf_Attribute *has = dwarf_attr_integrate(function, DW_AT_decl_file, &attribute);
    if (!has || dwarf_formudata(has, &number) || number != 0) return NULL;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    if (!dwarf_diecu(function, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count))
        return NULL;
    return count ? dwarf_filesrc(files, 0, NULL, NULL) : NULL;
}

static const char *demangled(symbols *all, const char *name) {
    int status;
    char *readable = __cxa_demangle(name, NULL, NULL, &status);
    const char *kept = keep(all, readable ? readable : name);
    free(readable);
    return kept;
}

bool symbols_find(symbols *all, const char *path, const char *build_id, uint64_t offset,
                  symbol *found) {
    module *m = module_of(all, path, build_id);
    if (!m || !m->handle) return false;
    Dwarf_Die function;
    bool known = function_at(m->handle, offset, &function);
    const char *name = symbol_name(m->handle, offset);
    if (!name && known) name = linkage_name(&function);
    if (!name) return false;
    *found = (symbol){demangled(all, name), "", 0};
    const char *file = known ? declared_file(&function) : NULL;
    int line = 0;
    if (file) {
        found->file = keep(all, file);
        if (dwarf_decl_line(&function, &line) == 0 && line > 0) found->line = (uint32_t)line;
    }
    return true;
}
