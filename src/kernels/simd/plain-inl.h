// Included behind <hwy/foreach_target.h>, once for each instruction set. The plain build, the last one of a file for
// x86-64, runs on processors of before SSE4 alone: its size matters more than its speed.
#if HWY_TARGET == HWY_SCALAR && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os")
#endif
