// atomicAdd and its family. One operating system thread runs all simulated ones and switches only at calls, so a plain
// read, change and write is atomic. The runtime is notified, to find spin loops and wrong addresses.
#pragma once

CUSIM_API void cusim_atomic(const void *p, unsigned bytes, int how, void *pc);  // how: 1 it reads, 2 of a block's scope
CUSIM_API void cusim_read_only(const void *p, unsigned bytes, void *pc);

namespace cusim {
template <class T, class... Types>
constexpr bool one_of = (std::is_same<T, Types>::value || ...);
typedef unsigned long long ull;

template <class T>
struct same {  // keeps a parameter out of type deduction: atomicAdd(float *, 1) adds 1.0f
    typedef T type;
};
}  // namespace cusim

// Types without such an atomic in CUDA are rejected; classes (half, half2) may be added.
#define CUSIM_ATOMIC(name, how, result, allowed)                          \
    template <class T>                                                    \
    CUSIM_OWN T name(T *p, typename cusim::same<T>::type v) {             \
        using namespace cusim;                                            \
        static_assert(allowed, "CUDA has no " #name " for this type");    \
        cusim_atomic(p, sizeof(T), how, CUSIM_CALLER);                    \
        const T old = *p;                                                 \
        *p = (result);                                                    \
        return old;                                                       \
    }                                                                     \
    template <class T>                                                    \
    CUSIM_INLINE T name(volatile T *p, typename cusim::same<T>::type v) { \
        return name((T *)p, v);                                           \
    }

#define CUSIM_32 (one_of<T, int, unsigned>)
#define CUSIM_BITS (one_of<T, int, unsigned, ull>)
#define CUSIM_ORDERED (one_of<T, int, unsigned, long long, ull>)
#define CUSIM_EXCHANGED (one_of<T, int, unsigned, ull, float>)
#define CUSIM_ADDED (one_of<T, int, unsigned, ull, float, double> || std::is_class<T>::value)
#define CUSIM_COUNTED (one_of<T, unsigned>)
#define CUSIM_COMPARED (one_of<T, int, unsigned, ull, unsigned short>)

#define CUSIM_ATOMICS(suffix, scope)                                                                               \
    CUSIM_ATOMIC(atomicAdd##suffix, 1 | scope, old + v, CUSIM_ADDED)                                               \
    CUSIM_ATOMIC(atomicSub##suffix, 1 | scope, old - v, CUSIM_32)                                                  \
    CUSIM_ATOMIC(atomicExch##suffix, 0 | scope, v, CUSIM_EXCHANGED)                                                \
    CUSIM_ATOMIC(atomicMin##suffix, 1 | scope, v < old ? v : old, CUSIM_ORDERED)                                   \
    CUSIM_ATOMIC(atomicMax##suffix, 1 | scope, v > old ? v : old, CUSIM_ORDERED)                                   \
    CUSIM_ATOMIC(atomicAnd##suffix, 1 | scope, (old & v), CUSIM_BITS)                                              \
    CUSIM_ATOMIC(atomicOr##suffix, 1 | scope, old | v, CUSIM_BITS)                                                 \
    CUSIM_ATOMIC(atomicXor##suffix, 1 | scope, old ^ v, CUSIM_BITS)                                                \
    CUSIM_ATOMIC(atomicInc##suffix, 1 | scope, old >= v ? 0 : old + 1, CUSIM_COUNTED)                              \
    CUSIM_ATOMIC(atomicDec##suffix, 1 | scope, old == 0 || old > v ? v : old - 1, CUSIM_COUNTED)                   \
    template <class T>                                                                                             \
    CUSIM_OWN T atomicCAS##suffix(T *p, typename cusim::same<T>::type expected, typename cusim::same<T>::type v) { \
        using namespace cusim;                                                                                     \
        static_assert(CUSIM_COMPARED, "CUDA has no atomicCAS for this type");                                      \
        cusim_atomic(p, sizeof(T), 1 | scope, CUSIM_CALLER);                                                       \
        const T old = *p;                                                                                          \
        if (old == expected) *p = v;                                                                               \
        return old;                                                                                                \
    }                                                                                                              \
    template <class T>                                                                                             \
    CUSIM_INLINE T atomicCAS##suffix(volatile T *p, typename cusim::same<T>::type expected,                        \
                                     typename cusim::same<T>::type v) {                                            \
        return atomicCAS##suffix((T *)p, expected, v);                                                             \
    }

CUSIM_ATOMICS(, 0)
CUSIM_ATOMICS(_block, 2)
CUSIM_ATOMICS(_system, 0)

// Loads and stores with a caching hint, which has no effect here.
#define CUSIM_LOAD(name)              \
    template <class T>                \
    CUSIM_INLINE T name(const T *p) { \
        return *p;                    \
    }
#define CUSIM_STORE(name)                                           \
    template <class T>                                              \
    CUSIM_INLINE void name(T *p, typename cusim::same<T>::type v) { \
        *p = v;                                                     \
    }
CUSIM_LOAD(__ldcg)
CUSIM_LOAD(__ldca)
CUSIM_LOAD(__ldcs)
CUSIM_LOAD(__ldlu)
template <class T>
CUSIM_OWN T __ldg(const T *p) {  // by a cache for what no thread writes during the launch
#ifdef CUSIM_CHECK
    cusim_read_only(p, sizeof(T), CUSIM_CALLER);
#endif
    return *p;
}
template <class T>
CUSIM_INLINE T __ldcv(const T *p) {  // "volatile": it reads memory each time
    if constexpr (std::is_arithmetic<T>::value) return *(const volatile T *)p;
    else return *p;
}
CUSIM_STORE(__stcg)
CUSIM_STORE(__stcs)
CUSIM_STORE(__stwb)
CUSIM_STORE(__stwt)
