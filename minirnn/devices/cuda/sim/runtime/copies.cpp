// Check mode treats memcpy, memmove and memset as a loop in which each piece is an access.
//
// Kernels call them by name (include/cusim_copies.h), and Clang copies structs by them.
#include "internal.h"

using namespace sim;

// A GPU moves at most 16 bytes at once, and only at addresses that are multiples of the size.
static uint32_t piece(uintptr_t to, uintptr_t from, size_t left) {
    for (uint32_t bytes = 16; bytes > 1; bytes /= 2)
        if (left >= bytes && (to | from) % bytes == 0) return bytes;
    return 1;
}

static void copy_piece(char *to, const char *from, uint32_t bytes, void *pc) {
    char held[16];
    check_access(from, bytes, READ, pc);
    memcpy(held, from, bytes);
    check_access(to, bytes, WRITE, pc);
    memcpy(to, held, bytes);
}

CUSIM_API void *cusim_copied(void *to, const void *from, size_t bytes, void *pc) {
    for (size_t at = 0; at < bytes;) {
        const uint32_t n = piece((uintptr_t)to + at, (uintptr_t)from + at, bytes - at);
        copy_piece((char *)to + at, (const char *)from + at, n, pc);
        at += n;
    }
    return to;
}

// The areas may overlap: if `to` is after `from`, the last piece is copied first.
CUSIM_API void *cusim_moved(void *to, const void *from, size_t bytes, void *pc) {
    if ((uintptr_t)to - (uintptr_t)from >= bytes) return cusim_copied(to, from, bytes, pc);
    for (size_t left = bytes; left;) {
        const uint32_t n = piece((uintptr_t)to + left, (uintptr_t)from + left, left);
        left -= n;
        copy_piece((char *)to + left, (const char *)from + left, n, pc);
    }
    return to;
}

CUSIM_API void *cusim_filled(void *to, int value, size_t bytes, void *pc) {
    for (size_t at = 0; at < bytes;) {
        const uint32_t n = piece((uintptr_t)to + at, 0, bytes - at);
        check_access((char *)to + at, n, WRITE, pc);
        memset((char *)to + at, value, n);
        at += n;
    }
    return to;
}

#define CALLER __builtin_return_address(0)
#define COPIES(PREFIX)                                                          \
    CUSIM_API void *PREFIX##memcpy(void *to, const void *from, size_t bytes) {  \
        return cusim_copied(to, from, bytes, CALLER);                           \
    }                                                                           \
    CUSIM_API void *PREFIX##memmove(void *to, const void *from, size_t bytes) { \
        return cusim_moved(to, from, bytes, CALLER);                            \
    }                                                                           \
    CUSIM_API void *PREFIX##memset(void *to, int value, size_t bytes) { return cusim_filled(to, value, bytes, CALLER); }

COPIES(cusim_)
COPIES(__tsan_)  // the calls that Clang, from version 16 on, generates for all three
