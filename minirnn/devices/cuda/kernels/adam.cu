// A step of Adam.        p, g, m, v and their new values: (n,)        one thread = one number
// Formula and settings: minirnn/optim/adam.py. The same lines in NumPy: minirnn/devices/cpu/adam.py.
//   new1 = 1 - beta1, new2 = 1 - beta2   scale = lr / (1 - beta1^step)   correction = 1 / sqrt(1 - beta2^step)
//   m_ and v_ are null at the first step
#include "views.cuh"

extern "C" __global__ void adam(i64 n, const real *p_, const real *g_, const real *m_, const real *v_, real *p_new,
                                real *m_new, real *v_new, acc beta1, acc beta2, acc new1, acc new2, acc scale,
                                acc correction, acc eps) {
    const i64 k = element();
    if (k >= n) return;
    const acc g = acc(g_[k]);

    acc m = new1 * g;
    acc v = new2 * (g * g);
    if (m_ != nullptr) {
        m = beta1 * acc(m_[k]) + m;
        v = beta2 * acc(v_[k]) + v;
    }

    m_new[k] = real(m), v_new[k] = real(v);
    p_new[k] = real(acc(p_[k]) - scale * m / (sqrt(v) * correction + eps));
}
