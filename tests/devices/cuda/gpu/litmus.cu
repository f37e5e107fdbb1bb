// Litmus tests of a device's memory, in CUDA C++: two threads of neighboring blocks read what the other one wrote.
//
//   words: (instances, 64), zeros; x and y of an instance lie 128 bytes apart      found: (instances, 2, 2), what each
//   thread read      one thread = one side of one instance; even blocks are the first sides, odd ones the second
// FENCE: the statement between the two accesses of a thread, __threadfence() or nothing
extern "C" __global__ void litmus(int shape, unsigned *words, unsigned *found) {
    const int instance = blockIdx.x / 2 * blockDim.x + threadIdx.x, side = blockIdx.x % 2;
    volatile unsigned *x = words + instance * 64, *y = x + 32;
    unsigned first = 0, second = 0;
    if (shape == 0) {  // message passing: the data is x, the flag is y
        if (side == 0) {
            *x = 1;
            FENCE;
            *y = 1;
        } else {
            first = *y;
            FENCE;
            second = *x;
        }
    } else if (shape == 1) {  // store buffering
        *(side ? y : x) = 1;
        FENCE;
        first = *(side ? x : y);
    } else if (shape == 2) {  // load buffering
        first = *(side ? x : y);
        FENCE;
        *(side ? y : x) = 1;
    } else {  // coherence: two writes to one place, read twice
        if (side == 0) {
            *x = 1;
            FENCE;
            *x = 2;
        } else {
            first = *x;
            FENCE;
            second = *x;
        }
    }
    found[(instance * 2 + side) * 2] = first;
    found[(instance * 2 + side) * 2 + 1] = second;
}
