// Kernels with inline assembly, for planted.py. Each section is independent and correct. Blocks communicate by PTX
// instructions.
#define KERNEL extern "C" __global__ void
#define FIRST_THREAD if (threadIdx.x) return

// ---- released
// Block 1 sends 32 numbers and a flag; block 0 waits for the flag and adds them up.
__device__ void send(int *p, int x) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
__device__ int look(const int *p) {
    int x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
KERNEL released(int *data, int *flag, int *total) {
    FIRST_THREAD;
    if (blockIdx.x == 1) {
        for (int k = 0; k < 32; k++) data[k] = k;
        send(flag, 1);
    } else {
        while (!look(flag)) {}
        int sum = 0;
        for (int k = 0; k < 32; k++) sum += data[k];
        *total = sum;
    }
}

// ---- fenced
KERNEL fenced(int *data, int *flag, int *total) {
    FIRST_THREAD;
    if (blockIdx.x == 1) {
        for (int k = 0; k < 32; k++) data[k] = k;
        asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int there = 0;
        while (!there) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(flag) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        int sum = 0;
        for (int k = 0; k < 32; k++) sum += data[k];
        *total = sum;
    }
}

// ---- exclusive
// Each of two blocks says that it wants to enter, then looks whether the other one does: never do both enter.
KERNEL exclusive(int *wants, int *unused, int *entered) {
    FIRST_THREAD;
    int *own = wants + 64 * blockIdx.x, *others = wants + 64 * (1 - blockIdx.x), other;
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(own) : "memory");
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(other) : "l"(others) : "memory");
    if (!other) atomicAdd(entered, 1);
}

// ---- counted
// All threads of all blocks count themselves.
KERNEL counted(int *count, int *unused, int *total) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(total) : "memory");
}

// ---- turns
// A barrier of the grid, made of an atomic that releases and a load that acquires; numbers go around.
__device__ void meet(int *arrived, int round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        int before, there = 0;
        asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
        while (there < round * (int)gridDim.x)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(arrived) : "memory");
    }
    asm volatile("bar.sync 0;" ::: "memory");
}
KERNEL turns(int *x, int *arrived, int *total) {
    const int n = gridDim.x * blockDim.x, k = blockIdx.x * blockDim.x + threadIdx.x;
    x[k] = k;
    for (int round = 1; round <= 3; round++) {
        meet(arrived, 2 * round - 1);
        const int left = x[(k + n - 1) % n];
        meet(arrived, 2 * round);
        x[k] += left;
    }
    atomicAdd(total, x[k] * (k % 7));
}

// ---- folded
// The sum of a warp's numbers: lanes exchange halves.
KERNEL folded(int *x, int *unused, int *total) {
    int sum = threadIdx.x * threadIdx.x + 1, other;
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(sum), "r"(d));
        sum += other;
    }
    if (threadIdx.x == 0) *total = sum;
}

// ---- vectors
// Four numbers in one access.
KERNEL vectors(int *x, int *unused, int *total) {
    const int k = threadIdx.x;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(x + 4 * k), "r"(k), "r"(2 * k), "r"(3 * k), "r"(1));
    int a, b, c, d;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(x + 4 * k));
    atomicAdd(total, a + 10 * b + 100 * c + 1000 * d);
}
