// SPDX-License-Identifier: MIT
//
// Included before the leaves of a module, and again after them: between the two, the macros of
// compiled.h do what a leaf does. It has no frame, and nothing has happened until it returns its
// value. 0: the call has to be made as any other.

#ifndef FBLE_IN_LEAVES
#define FBLE_IN_LEAVES

#pragma push_macro("FBLE_FAIL")
#pragma push_macro("FBLE_RETURN")
#pragma push_macro("FBLE_CHARGE")
#pragma push_macro("FBLE_THIRD")
#undef FBLE_FAIL
#undef FBLE_RETURN
#undef FBLE_CHARGE
#undef FBLE_THIRD

#define FBLE_FAIL(failure, place, charge, more) return 0
#define FBLE_CHARGE(n) (run->charge += (n))
#define FBLE_RETURN(site, value, charge)      \
    do {                                      \
        fble_value value_ = (value);          \
        if (!value_) __builtin_unreachable(); \
        FBLE_LEAVE_LEAF(site);                \
        *top = hp;                            \
        return value_;                        \
    } while (0)
#define FBLE_THIRD c

#else
#undef FBLE_IN_LEAVES

#pragma pop_macro("FBLE_FAIL")
#pragma pop_macro("FBLE_RETURN")
#pragma pop_macro("FBLE_CHARGE")
#pragma pop_macro("FBLE_THIRD")
#endif
