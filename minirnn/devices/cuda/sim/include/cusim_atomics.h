// atomicAdd and its family. One operating system thread runs all simulated ones and switches only at calls, so a plain
// read, change and write is atomic; the runtime is told, to find spin loops and wrong addresses.
#pragma once

CUSIM_API void cusim_atomic(const void *p, unsigned bytes, int reads, void *pc);

namespace cusim {
template <class T>
struct same {  // keeps a parameter out of type deduction: atomicAdd(float *, 1) adds 1.0f
    typedef T type;
};
}  // namespace cusim

#define CUSIM_ATOMIC(name, reads, result)                                    \
    template <class T>                                                       \
    CUSIM_OWN T name(T *p, typename cusim::same<T>::type v) {                \
        cusim_atomic(p, sizeof(T), reads, CUSIM_CALLER);                     \
        const T old = *p;                                                    \
        *p = (result);                                                       \
        return old;                                                          \
    }                                                                        \
    template <class T>                                                       \
    CUSIM_INLINE T name(volatile T *p, typename cusim::same<T>::type v) {    \
        return name((T *)p, v);                                              \
    }

#define CUSIM_ATOMICS(suffix)                                                             \
    CUSIM_ATOMIC(atomicAdd##suffix, 1, old + v)                                           \
    CUSIM_ATOMIC(atomicSub##suffix, 1, old - v)                                           \
    CUSIM_ATOMIC(atomicExch##suffix, 0, v)                                                \
    CUSIM_ATOMIC(atomicMin##suffix, 1, v < old ? v : old)                                 \
    CUSIM_ATOMIC(atomicMax##suffix, 1, v > old ? v : old)                                 \
    CUSIM_ATOMIC(atomicAnd##suffix, 1, old & v)                                           \
    CUSIM_ATOMIC(atomicOr##suffix, 1, old | v)                                            \
    CUSIM_ATOMIC(atomicXor##suffix, 1, old ^ v)                                           \
    CUSIM_ATOMIC(atomicInc##suffix, 1, old >= v ? 0 : old + 1)                            \
    CUSIM_ATOMIC(atomicDec##suffix, 1, old == 0 || old > v ? v : old - 1)                 \
    template <class T>                                                                    \
    CUSIM_OWN T atomicCAS##suffix(T *p, typename cusim::same<T>::type expected,           \
                                  typename cusim::same<T>::type v) {                      \
        cusim_atomic(p, sizeof(T), 1, CUSIM_CALLER);                                      \
        const T old = *p;                                                                 \
        if (memcmp(&old, &expected, sizeof(T)) == 0) *p = v;                              \
        return old;                                                                       \
    }

CUSIM_ATOMICS()
CUSIM_ATOMICS(_block)
CUSIM_ATOMICS(_system)

// Loads and stores with a caching hint, which means nothing here.
#define CUSIM_LOAD(name)                        \
    template <class T>                          \
    CUSIM_INLINE T name(const T *p) {           \
        return *p;                              \
    }
#define CUSIM_STORE(name)                                               \
    template <class T>                                                  \
    CUSIM_INLINE void name(T *p, typename cusim::same<T>::type v) {     \
        *p = v;                                                         \
    }
CUSIM_LOAD(__ldg)
CUSIM_LOAD(__ldcg)
CUSIM_LOAD(__ldca)
CUSIM_LOAD(__ldcs)
CUSIM_LOAD(__ldlu)
CUSIM_LOAD(__ldcv)
CUSIM_STORE(__stcg)
CUSIM_STORE(__stcs)
CUSIM_STORE(__stwb)
CUSIM_STORE(__stwt)
