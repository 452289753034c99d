// SPDX-License-Identifier: MIT
//
// Unwinding by libdw. Each process has a Dwfl with its modules, made when the first sample comes
// and again when its mappings have changed. Only .eh_frame of the files themselves is used: every
// compiler writes it, and nothing is searched for on the disk or the network while a program runs.

#include "unwind.h"

#include "dw.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
// By the numbers of DWARF: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
static const unsigned char perf_number[] = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,
    PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,
    PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
    PERF_REG_X86_R15, PERF_REG_X86_IP};
enum { STACK_POINTER = 7, PROGRAM_COUNTER = 16 };
#elif defined(__aarch64__)
// x0 to x30, sp, pc: as DWARF numbers them.
static const unsigned char perf_number[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                            11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
enum { STACK_POINTER = 31, PROGRAM_COUNTER = 32 };
#else
static const unsigned char perf_number[] = {0};
enum { STACK_POINTER = 0, PROGRAM_COUNTER = 0 };
#endif

enum { REGISTERS = sizeof perf_number };

typedef struct {
    Dwfl *dwfl;
    bool attached;
    // Of the sample that is unwound:
    const record *sample;
    Dwarf_Word registers[REGISTERS];
    uint64_t *frames;
    size_t count, most;
    bool cut;
} unwinder;

uint64_t unwind_registers(void) {
    uint64_t mask = 0;
    for (size_t i = 0; REGISTERS > 1 && i < REGISTERS; i++) mask |= UINT64_C(1) << perf_number[i];
    return mask;
}

// ---------------------------------------------------------------- what libdw asks

static pid_t next_thread(Dwfl *dwfl, void *user, void **thread) {
    (void)dwfl;
    if (*thread) return 0;
    *thread = user;
    return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *user, void **thread) {
    (void)dwfl;
    (void)tid;
    *thread = user;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *user) {
    (void)dwfl;
    unwinder *u = user;
    uint64_t offset = address - u->registers[STACK_POINTER];
    if (offset <= u->sample->stack_size && u->sample->stack_size - offset >= sizeof *result) {
        memcpy(result, u->sample->stack + offset, sizeof *result);
        return true;
    }
    if (address >= u->registers[STACK_POINTER]) u->cut = u->sample->stack_is_cut;
    return false;
}

static bool set_registers(Dwfl_Thread *thread, void *user) {
    unwinder *u = user;
    unsigned count = PROGRAM_COUNTER == 16 ? REGISTERS : REGISTERS - 1;
    if (!dwfl_thread_state_registers(thread, 0, count, u->registers)) return false;
    dwfl_thread_state_register_pc(thread, u->registers[PROGRAM_COUNTER]);
    return true;
}

static int no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word sum, char **found) {
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)sum;
    (void)found;
    return -1;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_memory,
                                                       .set_initial_registers = set_registers};
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = no_debug_file};

// ---------------------------------------------------------------- unwinding

void unwinder_free(void *pointer) {
    unwinder *u = pointer;
    if (!u) return;
    if (u->dwfl) dwfl_end(u->dwfl);
    free(u);
}

// The parts of a file that is loaded once have one bias.
static unwinder *unwinder_new(const modules *all, const process *p) {
    unwinder *u = calloc(1, sizeof *u);
    if (!u || !(u->dwfl = dwfl_begin(&callbacks))) {
        free(u);
        return NULL;
    }
    dwfl_report_begin(u->dwfl);
    for (size_t i = 0; i < p->count; i++) {
        const mapping *m = &p->mappings[i];
        const file_module *file = &all->modules[m->module];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= p->mappings[k].module == m->module && p->mappings[k].bias == m->bias;
        if (file->is_elf && !again)
            dwfl_report_elf(u->dwfl, file->path, file->path, -1, m->bias, true);
    }
    dwfl_report_end(u->dwfl, NULL, NULL);
    u->attached = dwfl_attach_state(u->dwfl, NULL, (pid_t)p->pid, &thread_callbacks, u);
    return u;
}

static int take_frame(Dwfl_Frame *frame, void *user) {
    unwinder *u = user;
    Dwarf_Addr pc;
    bool exact;
    if (u->count == u->most || !dwfl_frame_pc(frame, &pc, &exact) || pc == 0) return DWARF_CB_ABORT;
    u->frames[u->count++] = exact ? pc : pc - 1;
    return DWARF_CB_OK;
}

static bool load_registers(unwinder *u, const record *sample, uint64_t mask) {
    for (size_t i = 0; i < REGISTERS; i++) {
        uint64_t bit = UINT64_C(1) << perf_number[i];
        if (!(mask & bit)) return false;
        size_t place = (size_t)__builtin_popcountll(mask & (bit - 1));
        u->registers[i] = record_word(sample->registers, place);
    }
    return true;
}

size_t unwind(modules *all, process *p, const record *sample, uint64_t mask, uint64_t *frames,
              size_t most, bool *cut) {
    unwinder *u = p->unwinder;
    if (REGISTERS == 1 || !sample->registers || !sample->stack) return 0;
    if (u && p->unwinder_changes != p->changes) {
        unwinder_free(u);
        u = p->unwinder = NULL;
    }
    if (!u) {
        u = p->unwinder = unwinder_new(all, p);
        p->unwinder_changes = p->changes;
    }
    if (!u || !u->attached || !load_registers(u, sample, mask)) return 0;
    u->sample = sample;
    u->frames = frames;
    u->most = most;
    u->count = 0;
    u->cut = false;
    dwfl_getthread_frames(u->dwfl, 1, take_frame, u);
    *cut = u->cut || u->count == most;
    return u->count;
}
