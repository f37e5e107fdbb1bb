// The C interface of the simulator's runtime library, which Python calls. sim/library.py mirrors it by ctypes.
#pragma once
#include <stddef.h>
#include <stdint.h>
#define CUSIM_API extern "C" __attribute__((visibility("default")))

struct CusimOptions {         // of one launch
    uint32_t seed;            // 0: threads and blocks run in index order; otherwise the seed of a random order
    uint32_t check;           // 1: the kernel was compiled with -fsanitize=thread, check every access
    uint32_t preempt;         // check mode: yield with probability 1/preempt at each access; 0: never
    uint32_t resident;        // the number of blocks on the device at a time
    uint32_t stack_bytes;     // of each simulated thread
    uint32_t shared_limit;    // bytes of shared memory per block
    uint32_t watchdog_ms;     // processor time without progress after which a launch fails
    uint32_t trace_capacity;  // the capacity of `trace` in accesses; 0: no trace. Needs check
};

struct CusimStats {  // of one launch
    uint64_t switches, barriers, warp_operations, atomics;
    uint64_t resident_blocks;  // the largest number that were active at the same time
    uint64_t shared_bytes;     // that a block used
    uint64_t traced;           // accesses written to `trace`
    uint64_t accesses;         // of shared and device memory, in check mode; more than `traced`: the trace was full
    uint64_t bytes_read, bytes_written;    // of device memory, in check mode: by plain accesses
    uint64_t bytes_looked_at, bytes_sent;  // by atomic and volatile ones
};

struct CusimAccess {     // one traced access
    uint64_t address;    // offset inside its allocation, or inside the block's shared memory
    uint64_t pc;         // its return address; the same access has the same pc in all threads
    uint64_t order;      // the number of earlier accesses
    int32_t allocation;  // number of the device allocation; -1: shared memory; -2: a variable of the module, if written
    uint32_t block, thread;  // linear indices
    uint16_t size;           // bytes
    uint8_t write, atomic;   // atomic: or volatile
};

enum { CUSIM_OK = 0, CUSIM_FAILED = 1, CUSIM_INTERRUPTED = 2 };

// Device memory. These functions are thread-safe and wait for a launch that is running. New memory is filled with NaN
// of every type, 0x7FFB in each two bytes. Null: no address space or memory is left. 0 bytes have their own address as
// well.
CUSIM_API void *cusim_alloc(size_t bytes);
// Returns 0: done; 1: no allocation; 2: freed before; 3: done, but a kernel wrote just outside it.
CUSIM_API int cusim_free(void *p);
CUSIM_API size_t cusim_live_bytes(void);
// Number (and size) of an allocation with a changed red zone, which is mended; -1: none.
CUSIM_API int64_t cusim_damaged(size_t *bytes);
// The number of the allocation that contains p; -1: none.
CUSIM_API int64_t cusim_allocation(const void *p);
CUSIM_API int cusim_range(const void *p, const char **begin, size_t *bytes);

// A `__device__` or `__constant__` variable of a module: check mode reports its name.
CUSIM_API void cusim_name_variable(const void *p, size_t bytes, const char *name);

// Run a kernel: `call` is its cusim_call_NAME, args[i] points to argument i, which lies in the same buffer of
// `args_bytes` bytes. One launch at a time: others wait.
CUSIM_API int cusim_launch(void (*call)(void **), void **args, size_t args_bytes, const uint32_t grid[3],
                           const uint32_t shape[3], uint32_t dynamic_shared, const CusimOptions *options,
                           CusimStats *stats, CusimAccess *trace);
CUSIM_API const char *cusim_error(void);  // of the last launch that failed
// The places of the failing access and, for a race, of the earlier one. They are return addresses, so pc - 1 lies
// inside the instruction. Null: unknown, or the text has the line.
CUSIM_API void cusim_error_pcs(void *pcs[2]);
