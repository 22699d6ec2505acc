// What compilers are to say of the files that include this one, whatever their flags.
#pragma once

// x[0, 1] is a comma operator in C++20, and would be x[1]: the compilers' warning is made an error,
// for the files that include this one. Write x[{0, 1}]. So would sum(x, (0, 1)) be sum(x, 1): told
// without -Wall, too. And printf("%f", x[0]) would print what is no number.
#if defined(__clang__)
#pragma clang diagnostic error "-Wdeprecated-comma-subscript"
#pragma clang diagnostic warning "-Wunused-value"
#elif defined(__GNUC__)
#pragma GCC diagnostic error "-Wcomma-subscript"
#pragma GCC diagnostic warning "-Wunused-value"
#pragma GCC diagnostic warning "-Wconditionally-supported"
#endif
