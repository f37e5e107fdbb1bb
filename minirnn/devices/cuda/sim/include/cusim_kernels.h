// Between the text of a kernel and the launcher: shared memory, and calls of a kernel with arguments known by address.
#pragma once

CUSIM_API void *cusim_shared(cusim::Slot *slot, unsigned bytes, unsigned align, const char *names);
CUSIM_API void *cusim_dynshared();
CUSIM_API void *cusim_dynamic_shared;  // that of the running block

namespace cusim {

// The block's own T, which a `__shared__` declaration becomes. `names` is for error messages.
template <class T>
CUSIM_OWN T &shared(const char *names = nullptr) {
    static Slot slot;
    return *(T *)cusim_shared(&slot, sizeof(T), alignof(T) < 16 ? 16 : alignof(T), names);
}

// One letter for each type that a parameter may have: those of Python's struct module, P for pointers, s for structs.
template <class T>
struct Letter {
    static constexpr char value = std::is_pointer<T>::value ? 'P' : 's';
};
#define CUSIM_LETTER(T, letter)               \
    template <>                               \
    struct Letter<T> {                        \
        static constexpr char value = letter; \
    };
CUSIM_LETTER(bool, '?')
CUSIM_LETTER(int, 'i')
CUSIM_LETTER(unsigned, 'I')
CUSIM_LETTER(long, sizeof(long) == 8 ? 'q' : 'i')
CUSIM_LETTER(unsigned long, sizeof(long) == 8 ? 'Q' : 'I')
CUSIM_LETTER(long long, 'q')
CUSIM_LETTER(unsigned long long, 'Q')
CUSIM_LETTER(float, 'f')
CUSIM_LETTER(double, 'd')

template <size_t... I>
struct Numbers {};
template <size_t N, size_t... I>
struct CountTo : CountTo<N - 1, N - 1, I...> {};
template <size_t... I>
struct CountTo<0, I...> {
    typedef Numbers<I...> type;
};

template <class... A, size_t... I>
CUSIM_OWN void call(void (*kernel)(A...), void **addresses, Numbers<I...>) {
    kernel(*(typename std::remove_reference<A>::type *)addresses[I]...);
}

// kernel(*addresses[0], *addresses[1], ...)
template <class... A>
CUSIM_OWN void call(void (*kernel)(A...), void **addresses) {
    call(kernel, addresses, typename CountTo<sizeof...(A)>::type());
}

// The letters of a kernel's parameters, and their sizes in bytes.
template <class... A>
CUSIM_OWN const char *signature(void (*)(A...), const unsigned **sizes) {
    static const char letters[sizeof...(A) + 1] = {Letter<typename std::remove_cv<A>::type>::value..., 0};
    static const unsigned bytes[sizeof...(A) + 1] = {sizeof(A)..., 0};
    *sizes = bytes;
    return letters;
}

}  // namespace cusim
