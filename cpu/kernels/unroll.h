// HEDDLE_UNROLL: the next loop, of a few constant steps, has no branch.
#pragma once

#if defined(__clang__)
#define HEDDLE_UNROLL _Pragma("unroll")
#else
#define HEDDLE_UNROLL _Pragma("GCC unroll 16")
#endif
