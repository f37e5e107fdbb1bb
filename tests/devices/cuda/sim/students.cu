// Kernels like those of students, for test_students.py. Each section is independent. A line with the mark BUG is also
// tried with the text after the mark in its place (if there is none, the line is removed). Each change must be
// reported.
#define KERNEL extern "C" __global__ void

// ---- reduction
__inline__ __device__ float sum_of_warp(float v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

KERNEL reduction(const float *x, float *total, int n) {
    __shared__ float part[32];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
    v = sum_of_warp(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();  // BUG:
    if (warp == 0) {
        v = lane < blockDim.x / warpSize ? part[lane] : 0;
        v = sum_of_warp(v);
        if (lane == 0) atomicAdd(total, v);  // BUG: if (lane == 0) *total += v;
    }
}

// ---- tiled_product
#define TILE 16
KERNEL tiled_product(const float *A, const float *B, float *C, int n) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        a[threadIdx.y][threadIdx.x] = row < n && k0 + threadIdx.x < n ? A[row * n + k0 + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = col < n && k0 + threadIdx.y < n ? B[(k0 + threadIdx.y) * n + col] : 0;
        __syncthreads();  // BUG:
        for (int k = 0; k < TILE; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();  // BUG:
    }
    if (row < n && col < n) C[row * n + col] = sum;  // BUG: if (row < n && col < n) C[row] = sum;
}

// ---- scan
KERNEL scan(const float *x, float *y, int n) {
    extern __shared__ float s[];  // two halves, used in turn
    int from = 0, to = 1;
    s[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
    __syncthreads();  // BUG:
    for (int d = 1; d < n; d *= 2) {
        const float *a = s + from * blockDim.x;
        s[to * blockDim.x + threadIdx.x] = a[threadIdx.x] + (threadIdx.x >= d ? a[threadIdx.x - d] : 0);
        __syncthreads();  // BUG:
        from = to, to = 1 - to;
    }
    if (threadIdx.x < n) y[threadIdx.x] = s[from * blockDim.x + threadIdx.x];
}

// ---- histogram
KERNEL histogram(const int *x, int *counts, int n, int bins) {
    extern __shared__ int own[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
    __syncthreads();  // BUG:
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&own[x[i]], 1);  // BUG: if (i < n) own[x[i]]++;
    __syncthreads();  // BUG:
    for (int i = threadIdx.x; i < bins; i += blockDim.x) {
        atomicAdd(&counts[i], own[i]);  // BUG: counts[i] += own[i];
    }
}

// ---- global_histogram
KERNEL global_histogram(const int *x, int *counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1);  // BUG: if (i < n) counts[x[i]]++;
}

// ---- transpose
#define TILE 16
KERNEL transpose(const float *x, float *y, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();  // BUG:
    c = blockIdx.y * TILE + threadIdx.x, r = blockIdx.x * TILE + threadIdx.y;  // BUG: c = r, r = c;
    if (r < cols && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

// ---- softmax
KERNEL softmax(const float *x, float *y, int n) {  // one row per block
    __shared__ float s[64];
    x += blockIdx.x * n, y += blockIdx.x * n;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, x[i]);
    s[threadIdx.x] = most;
    __syncthreads();  // BUG:
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]);
        __syncthreads();  // BUG:
    }
    most = s[0];
    __syncthreads();  // BUG:
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += y[i] = expf(x[i] - most);
    s[threadIdx.x] = sum;
    __syncthreads();  // BUG:
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();  // BUG:
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] /= s[0];
}

// ---- layer_norm
__device__ float sum_of_block(float v) {
    __shared__ float part[32];
    __shared__ float total;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();  // BUG:
    if (threadIdx.x == 0) {
        total = 0;
        for (int w = 0; w < blockDim.x / 32; w++) total += part[w];
    }
    __syncthreads();  // BUG:
    return total;
}

KERNEL layer_norm(const float *x, float *y, int n) {  // one row per block
    x += blockIdx.x * n, y += blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    const float mean = sum_of_block(sum) / n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = rsqrtf(sum_of_block(squares) / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = (x[i] - mean) * scale;
}

// ---- stencil
#define RADIUS 2
KERNEL stencil(float *x, float *y, int n) {
    __shared__ float s[64 + 2 * RADIUS];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, k = threadIdx.x + RADIUS;
    s[k] = i < n ? x[i] : 0;
    if (threadIdx.x < RADIUS) {
        s[k - RADIUS] = i >= RADIUS ? x[i - RADIUS] : 0;
        s[k + blockDim.x] = i + blockDim.x < n ? x[i + blockDim.x] : 0;
    }
    __syncthreads();  // BUG:
    float sum = 0;
    for (int d = -RADIUS; d <= RADIUS; d++) sum += s[k + d];
    if (i < n) y[i] = sum;  // BUG: if (i < n) x[i] = y[i] = sum;
}

// ---- bitonic_sort
KERNEL bitonic_sort(float *x, int n) {
    extern __shared__ float s[];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();  // BUG:
    for (int size = 2; size <= n; size *= 2) {
        for (int d = size / 2; d > 0; d /= 2) {
            const int other = t ^ d;
            if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
                const float kept = s[t];
                s[t] = s[other], s[other] = kept;
            }
            __syncthreads();  // BUG:
        }
    }
    x[t] = s[t];
}

// ---- matrix_vector
KERNEL matrix_vector(const float *A, const float *x, float *y, int rows, int cols) {
    __shared__ float part[64];  // blocks along y share a row's columns
    const int row = blockIdx.x, each = (cols + gridDim.y - 1) / gridDim.y;
    const int begin = blockIdx.y * each, end = min(cols, begin + each);
    float sum = 0;
    for (int k = begin + threadIdx.x; k < end; k += blockDim.x) sum += A[row * cols + k] * x[k];
    part[threadIdx.x] = sum;
    __syncthreads();  // BUG:
    if (threadIdx.x == 0) {
        for (int k = 1; k < blockDim.x; k++) sum += part[k];
        atomicAdd(&y[row], sum);  // BUG: y[row] += sum;
    }
}

// ---- last_block
__device__ unsigned int finished = 0;

KERNEL last_block(const float *x, volatile float *unused, float *partial, float *total, int n) {
    __shared__ float s[64];
    __shared__ bool is_last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();  // BUG:
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();  // BUG:
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();  // BUG: __threadfence_block();
        is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;  // BUG: is_last = finished++ == gridDim.x - 1;
        __threadfence();  // BUG:
    }
    __syncthreads();  // BUG:
    if (!is_last) return;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += partial[b];
        *total = sum;
    }
}

// ---- grid_barrier
__device__ void everybody(unsigned *count, unsigned round) {
    __syncthreads();  // BUG:
    if (threadIdx.x == 0) {
        __threadfence();  // BUG:
        atomicAdd(count, 1u);
        while (*(volatile unsigned *)count < round * gridDim.x) __nanosleep(20);
        __threadfence();  // BUG:
    }
    __syncthreads();  // BUG:
}

KERNEL grid_barrier(float *x, unsigned *count, int steps) {
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < steps; step++) {
        const float left = x[(i + n - 1) % n];
        everybody(count, 2 * step + 1);  // BUG:
        x[i] += left;
        everybody(count, 2 * step + 2);
    }
}

// ---- lock
KERNEL lock(int *mutex, float *sums, int n) {
    if (threadIdx.x > 0) return;
    while (atomicCAS(mutex, 0, 1) != 0) __nanosleep(20);  // BUG:
    __threadfence();                                      // BUG:
    for (int k = 0; k < n; k++) sums[k] += k + blockIdx.x;
    __threadfence();  // BUG:
    atomicExch(mutex, 0);
}

// ---- initialized_by_one
KERNEL initialized_by_one(int *total) {
    __shared__ int own;
    if (threadIdx.x == 0) own = 0;  // BUG: own = 0; if (blockIdx.x == 0 && threadIdx.x == 0) *total = 0;
    __syncthreads();
    atomicAdd(&own, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, own);
}

// ---- any_negative
KERNEL any_negative(const float *x, int *found, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < 0) atomicExch(found, 1);  // BUG: if (i < n && x[i] < 0) *found = 1;
}

// ---- look_back
KERNEL look_back(const int *x, int *y, volatile int *ready, int *sums) {  // running totals over all blocks
    __shared__ int before;
    __shared__ int s[32];
    const int b = blockIdx.x, t = threadIdx.x;
    s[t] = x[b * 32 + t];
    __syncthreads();  // BUG:
    if (t == 0) {
        for (int k = 1; k < 32; k++) s[k] += s[k - 1];
        before = 0;
        if (b > 0) {
            while (ready[b - 1] == 0) __nanosleep(10);  // BUG: while (ready[b] != 0) __nanosleep(10);
            __threadfence();                            // BUG:
            before = sums[b - 1];
        }
        sums[b] = before + s[31];
        __threadfence();  // BUG:
        ready[b] = 1;
    }
    __syncthreads();  // BUG:
    y[b * 32 + t] = before + s[t];
}

// ---- sense_reversing
__device__ volatile int sense;
__device__ unsigned arrived;

__device__ void meet(int *own) {
    __syncthreads();
    if (threadIdx.x == 0) {
        *own ^= 1;
        __threadfence();  // BUG:
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            sense = *own;
        } else {
            while (sense != *own) __nanosleep(5);
        }
        __threadfence();  // BUG:
    }
    __syncthreads();
}

KERNEL sense_reversing(float *x, int steps) {
    int own = sense;
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < steps; step++) {
        const float left = x[(i + n - 1) % n];
        meet(&own);
        x[i] += left;
        meet(&own);  // BUG:
    }
}

// ---- fence_of_a_warp
KERNEL fence_of_a_warp(int *data, unsigned *count, int *total) {
    data[blockIdx.x * 32 + threadIdx.x] = 1;
    __syncwarp();  // BUG:
    unsigned n = 0;
    if (threadIdx.x == 0) {
        __threadfence();  // BUG:
        n = atomicAdd(count, 1u);
        __threadfence();  // BUG:
    }
    n = __shfl_sync(~0u, n, 0);
    __syncwarp();  // a shuffle orders no memory
    if (n < gridDim.x - 1) return;
    int sum = 0;
    for (int k = threadIdx.x; k < gridDim.x * 32; k += 32) sum += data[k];
    atomicAdd(total, sum);
}
