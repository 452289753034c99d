// SPDX-License-Identifier: MIT
// The header alone, as strict C++17 with all warnings as errors.
#include <ouro.h>

int main() {
    ouro_options options{};
    ouro_profile *profile = ouro_profile_new(&options);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_exit(thread, ouro_enter(thread, OURO_PHANTOM));
    ouro_sample(thread, 1);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}
