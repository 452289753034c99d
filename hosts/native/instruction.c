// SPDX-License-Identifier: MIT
//
// An instruction is prefixes, an opcode of one of four maps, and what that map says comes behind:
// m: ModRM, with SIB and displacement; b: a byte; z: four bytes, two with the prefix 66; combined
// M (m, b) and Z (m, z). n: nothing. Some have a case of their own; the others are unknown (.).

#include "instruction.h"

#include <stdbool.h>
#include <string.h>

//                           0123456789abcdef
static const char one[] = "mmmmbz..mmmmbz.."  // 0
                          "mmmmbz..mmmmbz.."  // 1
                          "mmmmbz..mmmmbz.."  // 2
                          "mmmmbz..mmmmbz.."  // 3
                          "................"  // 4: prefixes
                          "nnnnnnnnnnnnnnnn"  // 5
                          "...m....zZbM...."  // 6
                          "................"  // 7: branches
                          "MZ.Mmmmmmmmmmmmm"  // 8
                          "nnnnnnnnnn.nnn.."  // 9
                          "....nnnnbznnnnnn"  // a
                          "bbbbbbbbzzzzzzzz"  // b
                          "MM....MZ.n......"  // c
                          "mmmm....mmmmmmmm"  // d
                          "................"  // e
                          ".....n..nn..nnm."; // f: 6, 7 and f are cases
static const char two[] = ".............m.."  // 0
                          "mmmmmmmmmmmmmmmm"  // 1
                          "........mmmmmmmm"  // 2
                          ".n.............."  // 3: 8 and a are maps
                          "mmmmmmmmmmmmmmmm"  // 4
                          "mmmmmmmmmmmmmmmm"  // 5
                          "mmmmmmmmmmmmmmmm"  // 6
                          "MMMMmmmn....mmmm"  // 7
                          "................"  // 8: branches
                          "mmmmmmmmmmmmmmmm"  // 9
                          "..nmMm.....mMmmm"  // a
                          "mm.m..mmm.Mmmmmm"  // b
                          "mmMmMMMmnnnnnnnn"  // c
                          "mmmmmmmmmmmmmmmm"  // d
                          "mmmmmmmmmmmmmmmm"  // e
                          "mmmmmmmmmmmmmmm."; // f

typedef struct {
    const unsigned char *code;
    size_t at, left;
    bool short_words; // the prefix 66
    bool wide;        // REX.W
    bool repeats;     // the prefix f2 or f3
} reader;

static unsigned char next(reader *r) {
    unsigned char byte = r->at < r->left ? r->code[r->at] : 0;
    r->at++;
    return byte;
}

// Prefixes, and the opcode behind them.
static unsigned char opcode_of(reader *r) {
    unsigned char c = next(r);
    for (int i = 0; i < 14 && c && strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x67\xf0", c); i++) {
        if (c == 0x66) r->short_words = true;
        if (c == 0xf2 || c == 0xf3) r->repeats = true;
        c = next(r);
    }
    if (c >> 4 != 4) return c;
    r->wide = c & 8;
    return next(r);
}

static void skip_modrm(reader *r) {
    unsigned char modrm = next(r), mod = modrm >> 6, base = modrm & 7;
    if (mod == 3) return;
    if (base == 4) base = next(r) & 7;
    if (mod == 1) r->at += 1;
    if (mod == 2 || (mod == 0 && base == 5)) r->at += 4;
}

static size_t word_size(const reader *r) { return r->short_words && !r->wide ? 2 : 4; }

static instruction done(const reader *r, instruction_kind kind) {
    bool whole = r->at <= r->left;
    return (instruction){.kind = whole ? kind : INSTRUCTION_UNKNOWN, .size = r->at};
}

static instruction finish(reader *r, char operands) {
    if (strchr("mMZ", operands)) skip_modrm(r);
    if (strchr("bM", operands)) r->at += 1;
    if (strchr("zZ", operands)) r->at += word_size(r);
    return done(r, operands == '.' ? INSTRUCTION_UNKNOWN : INSTRUCTION_PLAIN);
}

static instruction jump(reader *r, instruction_kind kind, size_t bytes) {
    int32_t distance = 0;
    if (r->at + bytes <= r->left) memcpy(&distance, r->code + r->at, bytes);
    r->at += bytes;
    instruction i = done(r, kind);
    i.distance = bytes == 1 ? (signed char)distance : distance;
    return i;
}

// VEX and EVEX: the map is told by a field, and ModRM is always there, but for vzeroupper.
static instruction vector(reader *r, unsigned char first) {
    unsigned char p = next(r), map = first == 0xc5 ? 1 : first == 0xc4 ? p & 31 : p & 7;
    if (first != 0xc5) next(r);
    if (first == 0x62) next(r);
    unsigned char opcode = next(r);
    if (map == 1) return finish(r, opcode >> 4 == 8 ? '.' : two[opcode]);
    return finish(r, map == 2 ? 'm' : map == 3 ? 'M' : '.');
}

static instruction second_map(reader *r) {
    unsigned char c = next(r);
    if (c == 0x0b) return done(r, INSTRUCTION_END); // ud2
    if (c == 0x38 || c == 0x3a) {
        next(r);
        return finish(r, c == 0x38 ? 'm' : 'M');
    }
    if (c >> 4 == 8) return jump(r, INSTRUCTION_BRANCH, 4);
    return finish(r, two[c]);
}

// What is behind depends on the second field of ModRM.
static instruction group(reader *r, unsigned char c) {
    unsigned char field = r->at < r->left ? r->code[r->at] >> 3 & 7 : 2;
    if (c == 0xff) return finish(r, field < 2 || field == 6 ? 'm' : '.');
    return finish(r, field > 1 ? 'm' : c == 0xf6 ? 'M' : 'Z');
}

instruction ouro_native_instruction(const unsigned char *code, size_t left) {
    reader r = {.code = code, .left = left};
    unsigned char c = opcode_of(&r);
    if (c == 0x0f) return second_map(&r);
    if (c == 0xc4 || c == 0xc5 || c == 0x62) return vector(&r, c);
    if (c >> 4 == 7) return jump(&r, INSTRUCTION_BRANCH, 1);
    if (c == 0xeb || c == 0xe9) return jump(&r, INSTRUCTION_JUMP, c == 0xeb ? 1 : 4);
    if (c == 0xe8 && !r.short_words) return jump(&r, INSTRUCTION_CALL, 4);
    if (c == 0xc3) return done(&r, INSTRUCTION_END);
    if (c == 0xf6 || c == 0xf7 || c == 0xff) return group(&r, c);
    if (c >> 3 == 0xb8 >> 3 && r.wide) r.at += 4; // eight bytes
    bool is_string = c >= 0xa4 && c != 0xa8 && c != 0xa9 && c <= 0xaf;
    return finish(&r, is_string && r.repeats ? '.' : one[c]);
}
