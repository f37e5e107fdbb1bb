// Kernels with bfloat16, for test_bfloat16.py; nvcc also compiles them.
#include <cuda_bf16.h>

#define INDEX const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
#define KERNEL extern "C" __global__ void
typedef __nv_bfloat16 bf16;

KERNEL widened(const bf16 *x, float *y, int n) {
    INDEX;
    y[i] = __bfloat162float(x[i]);
}

// y: (5, n)
KERNEL narrowed(const float *x, bf16 *y, int n) {
    INDEX;
    y[i] = __float2bfloat16(x[i]);
    y[n + i] = __float2bfloat16_rz(x[i]);
    y[2 * n + i] = __float2bfloat16_rd(x[i]);
    y[3 * n + i] = __float2bfloat16_ru(x[i]);
    y[4 * n + i] = bf16(x[i]);
}

KERNEL narrowed_double(const double *x, bf16 *y, int n) {
    INDEX;
    y[i] = __double2bfloat16(x[i]);
}

// y: (7, n)
KERNEL arithmetic(const bf16 *a, const bf16 *b, const bf16 *c, bf16 *y, int n) {
    INDEX;
    y[i] = a[i] + b[i];
    y[n + i] = __hsub(a[i], b[i]);
    y[2 * n + i] = a[i] * b[i];
    y[3 * n + i] = a[i] / b[i];
    y[4 * n + i] = __hfma(a[i], b[i], c[i]);
    y[5 * n + i] = hsqrt(a[i]);
    y[6 * n + i] = __hmax(a[i], b[i]);
}

// a, b: (n) pairs; y: (4, n) pairs
KERNEL pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *y, int n) {
    INDEX;
    y[i] = __hadd2(a[i], b[i]);
    y[n + i] = a[i] * b[i];
    y[2 * n + i] = __lows2bfloat162(a[i], b[i]);
    const float2 both = __bfloat1622float2(a[i]);
    y[3 * n + i] = __floats2bfloat162_rn(both.y, both.x);
}

KERNEL compared(const bf16 *a, const bf16 *b, int *y, int n) {
    INDEX;
    y[i] = (a[i] < b[i]) + 2 * (a[i] == b[i]) + 4 * __hge(a[i], b[i]) + 8 * __hisnan(a[i]) + 16 * (__hisinf(a[i]) != 0);
}

KERNEL by_value(bf16 a, float *y) { y[0] = float(a) + __bfloat162int_rz(bf16(-2.75f)) + float(__ushort_as_bfloat16(0x4000)); }
