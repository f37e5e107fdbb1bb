// The interface between kernels, as the host's compiler sees them, and the runtime library.
#pragma once

namespace cusim {

struct Slot {  // of one shared variable: its address in the launch numbered `epoch`
    unsigned epoch, offset, end;
};

}  // namespace cusim

enum { CUSIM_COUNT, CUSIM_AND, CUSIM_OR };  // __syncthreads_count and its relatives

enum {  // operations of a warp
    CUSIM_SYNC,
    CUSIM_SHUFFLE,
    CUSIM_SHUFFLE_UP,
    CUSIM_SHUFFLE_DOWN,
    CUSIM_SHUFFLE_XOR,
    CUSIM_BALLOT,
    CUSIM_MATCH_ANY,
    CUSIM_MATCH_ALL,
    CUSIM_REDUCE_ADD,
    CUSIM_REDUCE_MIN,
    CUSIM_REDUCE_MAX,
    CUSIM_REDUCE_AND,
    CUSIM_REDUCE_OR,
    CUSIM_REDUCE_XOR
};
