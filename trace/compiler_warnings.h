// What compilers are to say of the files that include this one, whatever their flags.
#pragma once

// x[0, 1] is a comma operator in C++20, and would be x[1]; sum(x, (0, 1)) would be sum(x, 1). The
// compilers' warnings are made errors, for the files that include this one. Write x[{0, 1}] and
// sum(x, {0, 1}). printf("%f", x[0]) would print what is no number: clang++ refuses it, and g++
// warns.
#if defined(__clang__)
#pragma clang diagnostic error "-Wdeprecated-comma-subscript"
#pragma clang diagnostic error "-Wunused-value"
#elif defined(__GNUC__)
#pragma GCC diagnostic error "-Wcomma-subscript"
#pragma GCC diagnostic error "-Wunused-value"
#pragma GCC diagnostic warning "-Wconditionally-supported"
#endif
