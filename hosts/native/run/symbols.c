// SPDX-License-Identifier: MIT
//
// Symbols by libdw. A module is opened once: its own file if that still has the build id that ran,
// else the debug file with that id. libdw finds the debug file of a stripped program, and unpacks
// .gnu_debugdata. The symbols of a module are sorted by address once.
//
// Where the start of a function is asked for (hooks know it), a symbol must start there, too: in a
// stripped file, the symbol before it would be a wrong name. Where an address inside is asked for
// (samples), the symbol must cover it.
//
// File and line are the declaration of the function that begins at the address. All functions of a
// compilation unit are listed once: a lambda and a member of a local class stand inside another
// function, and a search by address from the outside would not find them.

#include "symbols.h"

#include "array.h"
#include "clone_name.h"
#include "dw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Of libstdc++; there is no header for C.
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

// A function as the symbol table has it; `end` is `start` if its size is not known.
typedef struct {
    uint64_t start, end;
    const char *name; // the module's
    bool weak;
} place;

// A function as the debug information has it.
typedef struct {
    uint64_t start;
    Dwarf_Off entry;
} described;

typedef struct unit {
    struct unit *next;
    Dwarf_Off offset;
    described *functions; // sorted by start
    size_t count, room;
} unit;

typedef struct module {
    struct module *next;
    char *path, *build_id;
    Dwfl *dwfl;
    Dwfl_Module *handle; // NULL: there is no such file
    place *places;       // sorted by start
    place **by_name;     // the same; NULL: not asked for yet
    size_t place_count;
    bool sorted;      // places are there
    uint64_t *starts; // of functions, by the unwinding tables; sorted
    size_t start_count;
    bool has_starts; // they were looked for
    unit *units;     // that were read
} module;

typedef struct text {
    struct text *next;
    char bytes[];
} text;

// The binary that a function's name, file and line stand for.
typedef struct {
    const char *name, *file; // a name of NULL marks a free place
    uint32_t line;
    const char *path;
} owner;

struct symbols {
    module *modules;
    owner *owners; // hash table
    size_t owner_count, owner_size;
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
        for (unit *u = m->units, *after; u; u = after) {
            after = u->next;
            free(u->functions);
            free(u);
        }
        free(m->places);
        free(m->by_name);
        free(m->starts);
        if (m->dwfl) dwfl_end(m->dwfl);
        free(m->path);
        free(m->build_id);
        free(m);
    }
    for (text *t = all->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(all->owners);
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

// Opening a pipe or a device could wait for ever.
static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// What is found is put first: an address is mostly in the module of the one before.
static module *module_of(symbols *all, const char *path, const char *build_id) {
    for (module **at = &all->modules; *at; at = &(*at)->next) {
        module *m = *at;
        if (!m->path || !m->build_id || strcmp(m->path, path) || strcmp(m->build_id, build_id))
            continue;
        *at = m->next;
        m->next = all->modules;
        return all->modules = m;
    }
    module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->path = strdup(path);
    m->build_id = strdup(build_id);
    m->next = all->modules;
    all->modules = m;
    if (!m->path || !m->build_id) return m;
    if (!is_file(path) || !open_file(all, m, path)) open_debug_file(all, m);
    return m;
}

// ---------------------------------------------------------------- the symbol table

// Which of several names of one address is taken: the smaller. The complete object's constructor
// and destructor come before the base's, which compilers often make the same code; names for the
// public come before those with underscores.
static int rank(const place *p) {
    bool base = strstr(p->name, "C2E") || strstr(p->name, "D2E");
    bool hidden = p->name[0] == '_' && p->name[1] != 'Z';
    return (p->end == p->start) * 8 + p->weak * 4 + hidden * 2 + base;
}

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    int order = rank(x) - rank(y);
    size_t n = strlen(x->name), k = strlen(y->name);
    if (!order && n != k) order = n > k ? -1 : 1; // the longer says more
    return order ? order : strcmp(x->name, y->name);
}

// Functions, and names without a type or size, as assemblers write them.
static bool is_code(const GElf_Sym *s, const char *name) {
    int type = GELF_ST_TYPE(s->st_info);
    return name && *name && s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

// Without memory the module has fewer names.
static void sort_places(module *m) {
    size_t room = 0;
    int count = dwfl_module_getsymtab(m->handle);
    m->sorted = true;
    for (int i = 1; i < count; i++) {
        GElf_Sym s;
        GElf_Addr address;
        const char *name = dwfl_module_getsym_info(m->handle, i, &s, &address, NULL, NULL, NULL);
        if (!is_code(&s, name)) continue;
        if (!array_reserve(&m->places, m->place_count + 1, &room, sizeof *m->places)) break;
        m->places[m->place_count++] =
            (place){address, address + s.st_size, name, GELF_ST_BIND(s.st_info) == STB_WEAK};
    }
    if (m->place_count) qsort(m->places, m->place_count, sizeof *m->places, compare_places);
}

// The last place that starts at `address` or before it, of those with one start the first.
static const place *place_before(module *m, uint64_t address) {
    if (!m->sorted) sort_places(m);
    size_t low = 0, high = m->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->places[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return NULL;
    const place *p = &m->places[low - 1];
    while (p > m->places && p[-1].start == p->start) p--;
    return p;
}

// ---------------------------------------------------------------- unwinding tables

// .eh_frame_hdr: a table of where functions start, sorted, for unwinding at run time. A program
// keeps it when it is stripped. It begins with a version and how numbers are written.
static const unsigned char usual_head[] = {1, 0x1b, 0x03, 0x3b};

static void read_starts(module *m, const unsigned char *bytes, size_t size, uint64_t address) {
    uint32_t count;
    int32_t distance;
    if (size < 12 || memcmp(bytes, usual_head, sizeof usual_head)) return;
    memcpy(&count, bytes + 8, sizeof count);
    if (count > (size - 12) / 8) count = (uint32_t)((size - 12) / 8);
    m->starts = malloc((count + 1) * sizeof *m->starts);
    for (uint32_t i = 0; m->starts && i < count; i++) {
        memcpy(&distance, bytes + 12 + (size_t)i * 8, sizeof distance);
        m->starts[m->start_count++] = address + (uint64_t)(int64_t)distance;
    }
}

static void find_starts(module *m) {
    GElf_Addr bias;
    GElf_Phdr header;
    size_t count = 0;
    Elf *elf = dwfl_module_getelf(m->handle, &bias);
    m->has_starts = true;
    if (!elf || elf_getphdrnum(elf, &count)) return;
    for (size_t i = 0; i < count && !m->starts; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME) continue;
        Elf_Data *data =
            elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
        if (data && data->d_buf) read_starts(m, data->d_buf, data->d_size, header.p_vaddr);
    }
}

// The start of the function that an address is in; 0: not known.
static uint64_t start_before(module *m, uint64_t address) {
    if (!m->has_starts) find_starts(m);
    size_t low = 0, high = m->start_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->starts[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? m->starts[low - 1] : 0;
}

// A symbol without a size, as assemblers write them, covers what the unwinding tables say is of the
// same function. _init would take all of the procedure linkage table otherwise.
static bool covers(module *m, const place *p, uint64_t address) {
    if (p->end > p->start) return address < p->end;
    return start_before(m, address) <= p->start;
}

// ---------------------------------------------------------------- debug information

// The compilation unit of an address. clang writes no index for this, so all units may be searched.
static Dwarf_Die *unit_of(Dwfl_Module *handle, uint64_t address, Dwarf_Addr *bias) {
    Dwarf_Die *found = dwfl_module_addrdie(handle, address, bias);
    if (found) return found;
    while ((found = dwfl_module_nextcu(handle, found, bias))) {
        if (dwarf_haspc(found, address - *bias) > 0) return found;
    }
    return NULL;
}

// A function with an unlikely part elsewhere has a range for each.
static bool add_described(unit *u, Dwarf_Die *die) {
    Dwarf_Addr base, start, end;
    if (dwarf_tag(die) != DW_TAG_subprogram) return true;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        if (!array_reserve(&u->functions, u->count + 1, &u->room, sizeof *u->functions))
            return false;
        u->functions[u->count++] = (described){start, dwarf_dieoffset(die)};
    }
    return true;
}

// Can there be a function inside?
static bool has_functions(Dwarf_Die *die) {
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
        return dwarf_haschildren(die) > 0;
    default:
        return false;
    }
}

// All entries of the unit, each after the one that contains it. The stack is our own, because the
// file decides how deep entries stand in each other.
static void list_functions(unit *u, Dwarf_Die *top) {
    Dwarf_Die *stack = NULL;
    size_t depth = 0, room = 0;
    Dwarf_Die at = *top;
    bool more = true;
    while (more && add_described(u, &at)) {
        Dwarf_Die next;
        if (has_functions(&at) && array_reserve(&stack, depth + 1, &room, sizeof at) &&
            dwarf_child(&at, &next) == 0) {
            stack[depth++] = at;
            at = next;
            continue;
        }
        while (depth && dwarf_siblingof(&at, &next) != 0) at = stack[--depth];
        more = depth > 0;
        if (more) at = next;
    }
    free(stack);
}

static int compare_described(const void *a, const void *b) {
    const described *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static unit *read_unit(module *m, Dwarf_Die *top) {
    Dwarf_Off offset = dwarf_dieoffset(top);
    for (unit *u = m->units; u; u = u->next) {
        if (u->offset == offset) return u;
    }
    unit *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    u->offset = offset;
    u->next = m->units;
    m->units = u;
    list_functions(u, top);
    if (u->count) qsort(u->functions, u->count, sizeof *u->functions, compare_described);
    return u;
}

// The description of the function that starts at an address.
static bool function_at(module *m, uint64_t address, Dwarf_Die *function) {
    Dwarf_Addr bias = 0;
    Dwarf_Die *top = unit_of(m->handle, address, &bias);
    unit *u = top ? read_unit(m, top) : NULL;
    size_t low = 0, high = u ? u->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->functions[middle].start < address - bias)
            low = middle + 1;
        else
            high = middle;
    }
    if (!u || low == u->count || u->functions[low].start != address - bias) return false;
    Dwarf *debug = dwfl_module_getdwarf(m->handle, &bias);
    return debug && dwarf_offdie(debug, u->functions[low].entry, function) != NULL;
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
    Dwarf_Die top;
    Dwarf_Files *files;
    size_t count;
    if (!dwarf_diecu(function, &top, NULL, NULL) || dwarf_getsrcfiles(&top, &files, &count))
        return NULL;
    return count ? dwarf_filesrc(files, 0, NULL, NULL) : NULL;
}

// ---------------------------------------------------------------- names

static int compare_names(const void *a, const void *b) {
    return strcmp((*(place *const *)a)->name, (*(place *const *)b)->name);
}

static int compare_name(const void *name, const void *b) {
    return strcmp(name, (*(place *const *)b)->name);
}

// Has the module a function of this name, other than the one at `start`?
static bool has_other(module *m, const char *name, uint64_t start) {
    if (!m->sorted) sort_places(m);
    if (!m->by_name && m->place_count) {
        m->by_name = malloc(m->place_count * sizeof *m->by_name);
        for (size_t i = 0; m->by_name && i < m->place_count; i++) m->by_name[i] = &m->places[i];
        if (m->by_name) qsort(m->by_name, m->place_count, sizeof *m->by_name, compare_names);
    }
    if (!m->by_name) return false;
    place **found = bsearch(name, m->by_name, m->place_count, sizeof *found, compare_name);
    return found && (*found)->start != start;
}

// With `usual` in place of three characters, is it the name of another function that reads alike?
static bool is_variant(module *m, uint64_t start, const char *mangled, size_t at, const char *usual,
                       const char *readable) {
    int status;
    char *other = strdup(mangled);
    if (other) memcpy(other + at, usual, 3);
    char *same = other ? __cxa_demangle(other, NULL, NULL, &status) : NULL;
    bool found = same && strcmp(same, readable) == 0 && has_other(m, other, start);
    free(other);
    free(same);
    return found;
}

// The demangler prints all constructors of a class alike, and all destructors. In the mangled name
// C1 is the complete object's, C2 the base's, D0 deletes the object. Where a class has only one,
// there is nothing to tell apart.
static const char *mark_of(module *m, uint64_t start, const char *mangled, const char *readable) {
    static const struct {
        const char *code, *usual, *mark;
    } marks[] = {{"C2E", "C1E", " [base]"},
                 {"D2E", "D1E", " [base]"},
                 {"D0E", "D1E", " [deleting]"},
                 {"D0E", "D2E", " [deleting]"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        for (const char *at = mangled; (at = strstr(at, marks[i].code)); at++) {
            if (is_variant(m, start, mangled, (size_t)(at - mangled), marks[i].usual, readable))
                return marks[i].mark;
        }
    }
    return "";
}

// Returns a copy of the function's own name, of which `name` may be a clone's. Everything after the
// name in the debug information (`known`) is the compiler's. Otherwise the usual words are cut off,
// but `.cold` only if there is a function that it can be a part of.
static char *own_name(module *m, uint64_t start, const char *name, const char *known) {
    char *own = strndup(name, strcspn(name, "@")); // the version of a library follows an @
    size_t size = known ? strlen(known) : 0;
    if (!own) return NULL;
    if (known && strncmp(own, known, size) == 0 && own[size] == '.') own[size] = '\0';
    bool done = known && strcmp(own, known) == 0;
    for (size_t cut; !done && (cut = ouro__clone_cut(own, strlen(own)));) {
        bool is_cold = ouro__clone_is_cold(own, cut);
        own[cut] = '\0';
        if (!is_cold || has_other(m, own, start)) continue;
        own[cut] = '.';
        break;
    }
    return own;
}

// Names of C are not mangled, and some would mean something: `f` is a float to the demangler.
static const char *demangled(symbols *all, module *m, uint64_t start, const char *name) {
    int status;
    char *readable = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    if (!readable) return keep(all, name);
    const char *kept;
    char *whole = NULL;
    if (asprintf(&whole, "%s%s", readable, mark_of(m, start, name, readable)) < 0) whole = NULL;
    kept = keep(all, whole ? whole : readable);
    free(whole);
    free(readable);
    return kept;
}

// ---------------------------------------------------------------- binaries

static uint64_t hash_bytes(uint64_t h, const char *bytes) {
    for (; *bytes; bytes++) h = (h ^ (unsigned char)*bytes) * UINT64_C(0x100000001b3);
    return h;
}

// The owner of a name, file and line, or the free place where it belongs.
static owner *owner_of(owner *table, size_t size, const symbol *s) {
    uint64_t h = hash_bytes(hash_bytes(s->line + UINT64_C(0xcbf29ce484222325), s->name), s->file);
    for (size_t i = (size_t)(h >> 32);; i++) {
        owner *o = &table[i & (size - 1)];
        if (!o->name ||
            (o->line == s->line && !strcmp(o->name, s->name) && !strcmp(o->file, s->file)))
            return o;
    }
}

static bool reserve_owner(symbols *all) {
    if (all->owner_count * 2 < all->owner_size) return true;
    size_t larger = all->owner_size ? all->owner_size * 2 : 1024;
    owner *fresh = calloc(larger, sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < all->owner_size; i++) {
        const owner *o = &all->owners[i];
        if (o->name)
            *owner_of(fresh, larger, &(symbol){.name = o->name, .file = o->file, .line = o->line}) =
                *o;
    }
    free(all->owners);
    all->owners = fresh;
    all->owner_size = larger;
    return true;
}

static bool owns(symbols *all, const module *m, const symbol *s) {
    if (!reserve_owner(all)) return true;
    owner *o = owner_of(all->owners, all->owner_size, s);
    if (o->name) return strcmp(o->path, m->path) == 0;
    *o = (owner){s->name, s->file, s->line, m->path};
    all->owner_count++;
    return true;
}

// Two binaries may contain the same function, as from a header. The second one's has the binary in
// its name.
static void tell_apart(symbols *all, const module *m, symbol *s) {
    const char *name = s->name, *slash = strrchr(m->path, '/');
    const char *binaries[] = {slash ? slash + 1 : m->path, m->path};
    for (size_t i = 0; i < 2 && !owns(all, m, s); i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s [%s]", name, binaries[i]) < 0) return;
        s->name = keep(all, longer);
        free(longer);
    }
}

// ---------------------------------------------------------------- functions

// gcc says of a lambda's function neither file nor line; its first instruction has both.
static const char *first_line(Dwfl_Module *handle, uint64_t address, int *line) {
    Dwfl_Line *at = dwfl_module_getsrc(handle, address);
    return at ? dwfl_lineinfo(at, NULL, line, NULL, NULL, NULL) : NULL;
}

static bool describe(symbols *all, module *m, uint64_t start, const char *name, symbol *found) {
    Dwarf_Die function;
    bool known = function_at(m, start, &function);
    const char *own_linkage = known ? linkage_name(&function) : NULL;
    if (!name) name = own_linkage;
    char *own = name ? own_name(m, start, name, own_linkage) : NULL;
    if (!own) return false;
    *found = (symbol){.name = demangled(all, m, start, own),
                      .file = "",
                      .start = start,
                      .is_part = strstr(name + strlen(own), ".part.")};
    free(own);
    const char *file = known ? declared_file(&function) : NULL;
    int line = 0;
    if (file && dwarf_decl_line(&function, &line)) line = 0;
    if (known && !file) file = first_line(m->handle, start, &line);
    found->file = file ? keep(all, file) : m->path;
    if (file && line > 0) found->line = (uint32_t)line;
    if (file) tell_apart(all, m, found);
    return true;
}

bool symbols_find(symbols *all, const char *path, const char *build_id, uint64_t offset,
                  symbol *found) {
    module *m = module_of(all, path, build_id);
    if (!m || !m->handle) return false;
    const place *p = place_before(m, offset);
    return describe(all, m, offset, p && p->start == offset ? p->name : NULL, found);
}

bool symbols_containing(symbols *all, const char *path, const char *build_id, uint64_t offset,
                        symbol *found) {
    module *m = module_of(all, path, build_id);
    if (!m || !m->handle) return false;
    const place *p = place_before(m, offset);
    if (p && covers(m, p, offset)) return describe(all, m, p->start, p->name, found);
    uint64_t start = start_before(m, offset);
    if (start && describe(all, m, start, NULL, found)) return true;
    *found = (symbol){.start = start};
    return false;
}
