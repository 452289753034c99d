// SPDX-License-Identifier: MIT
//
// ouro.h for C++: a block that is left by itself, also when an exception passes.
//
//     static const ouro_block parse_block =
//         ouro::add_block(profile, "parse", __FILE__, __LINE__);
//     void parse() {
//         ouro::block here(thread, parse_block);
//         ...
//     }
//
// In a program that `ouro run` profiles, profile and thread are ouro_native_profile() and
// ouro_native_thread() of ouro-native.h. Everything may be NULL, and costs a branch then.

#ifndef OURO_HPP
#define OURO_HPP

#include <ouro.h>

namespace ouro {

OURO_QUIET_ inline ouro_block add_block(ouro_profile *profile, const char *name,
                                        const char *file = "", uint32_t line = 0,
                                        uint32_t column = 0) {
    ouro_block_info info = {name, file, line, column};
    return ouro_add_block(profile, &info);
}

// Enters a block where it is declared and leaves it at the end of the scope. On one OS thread.
class block {
public:
    OURO_QUIET_ block(ouro_thread *thread, ouro_block id) noexcept
        : thread_(thread), caller_(ouro_enter(thread, id)) {}
    OURO_QUIET_ ~block() { ouro_exit(thread_, caller_); }
    block(const block &) = delete;
    block &operator=(const block &) = delete;

    // Goes on as another block: a state machine's next state, a tail call.
    OURO_QUIET_ void replace(ouro_block id) noexcept { ouro_replace(thread_, id); }

private:
    ouro_thread *thread_;
    ouro_position caller_;
};

} // namespace ouro

#endif
