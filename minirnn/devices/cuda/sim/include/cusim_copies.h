// In check mode the simulator defines memcpy, memmove and memset, and checks each piece that they copy.
#pragma once
#include <cstring>  // declares these names itself, so it is included before they become macros

CUSIM_API void *cusim_memcpy(void *to, const void *from, size_t bytes);
CUSIM_API void *cusim_memmove(void *to, const void *from, size_t bytes);
CUSIM_API void *cusim_memset(void *to, int value, size_t bytes);
CUSIM_API void *cusim_copied(void *to, const void *from, size_t bytes, void *pc) noexcept;
CUSIM_API void *cusim_moved(void *to, const void *from, size_t bytes, void *pc) noexcept;
CUSIM_API void *cusim_filled(void *to, int value, size_t bytes, void *pc) noexcept;

namespace std {
using ::cusim_memcpy;
using ::cusim_memmove;
using ::cusim_memset;
}  // namespace std

#undef memcpy
#undef memmove
#undef memset

#ifdef __clang__
// Before version 16 Clang copies a struct by a memcpy call that is not instrumented, so this library defines memcpy.
#define CUSIM_HERE_ONLY extern "C" __attribute__((visibility("hidden"), used, no_sanitize("thread"))) void *
CUSIM_HERE_ONLY memcpy(void *to, const void *from, size_t n) noexcept {
    return cusim_copied(to, from, n, CUSIM_CALLER);
}
CUSIM_HERE_ONLY memmove(void *to, const void *from, size_t n) noexcept {
    return cusim_moved(to, from, n, CUSIM_CALLER);
}
CUSIM_HERE_ONLY memset(void *to, int value, size_t n) noexcept { return cusim_filled(to, value, n, CUSIM_CALLER); }
#endif

#define memcpy cusim_memcpy
#define memmove cusim_memmove
#define memset cusim_memset
