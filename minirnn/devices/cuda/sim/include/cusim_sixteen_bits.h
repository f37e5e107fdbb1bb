// 16-bit numbers in software: arithmetic in float, rounded once per operation; and pairs of such numbers.
//
// cuda_fp16.h and cuda_bf16.h include this file, each for its own type. Before that they define
//
//   Number, Raw, Pair         the type, its bits, and two of it: __half, __half_raw, __half2
//   CUSIM_WORD, CUSIM_WORD2   its name in functions, and that of a pair: half, half2
//   CUSIM_INFINITE            the bits of infinity
//
// and, in the namespace cusim, `rounded(float, Raw *)`, which returns the bits, and `widened(Raw)`. float carries more
// than twice the digits of either type, so the second rounding changes nothing: + - * / sqrt are exact.
#define CUSIM_16 static CUSIM_INLINE
#define CUSIM_JOIN(a, b, c) a##b##c
#define CUSIM_NAME(before, word, after) CUSIM_JOIN(before, word, after)

struct alignas(2) Number {
    uint16_t bits;

    Number() = default;
    Number(const Raw &raw) : bits(raw.x) {}
    Number(float x) : bits(cusim::rounded(x, (Raw *)nullptr)) {}
    Number(double x) : Number(cusim::odd_float(x)) {}
    Number(short x) : Number((double)x) {}
    Number(unsigned short x) : Number((double)x) {}
    Number(int x) : Number((double)x) {}
    Number(unsigned x) : Number((double)x) {}
    Number(long x) : Number((double)x) {}
    Number(unsigned long x) : Number((double)x) {}
    Number(long long x) : Number((double)x) {}
    Number(unsigned long long x) : Number((double)x) {}

    // All the conversions of CUDA, so that expressions that are ambiguous there (float += half) are ambiguous here.
    operator float() const { return cusim::widened(Raw{bits}); }
    operator Raw() const { return {bits}; }
    operator bool() const { return (bits & 0x7fff) != 0; }
    operator char() const { return integer<char>(); }
    operator signed char() const { return integer<signed char>(); }
    operator unsigned char() const { return integer<unsigned char>(); }
    operator short() const { return integer<short>(); }
    operator unsigned short() const { return integer<unsigned short>(); }
    operator int() const { return integer<int>(); }
    operator unsigned() const { return integer<unsigned>(); }
    operator long() const { return integer<long>(); }
    operator unsigned long() const { return integer<unsigned long>(); }
    operator long long() const { return integer<long long>(); }
    operator unsigned long long() const { return integer<unsigned long long>(); }

    template <class T>
    CUSIM_INLINE T integer() const {
        return cusim::clamped<T>(truncf(cusim::widened(Raw{bits})));
    }
};
static_assert(sizeof(Number) == 2, "it has 16 bits");

#define CUSIM_OPERATOR(op)                                                                         \
    CUSIM_16 Number operator op(const Number &a, const Number &b) { return float(a) op float(b); } \
    CUSIM_16 Number &operator op## = (Number & a, const Number &b) { return a = a op b; }
CUSIM_OPERATOR(+)
CUSIM_OPERATOR(-)
CUSIM_OPERATOR(*)
CUSIM_OPERATOR(/)
#undef CUSIM_OPERATOR
CUSIM_16 Number operator+(const Number &a) { return a; }
CUSIM_16 Number operator-(const Number &a) { return Raw{(unsigned short)(a.bits ^ 0x8000)}; }
CUSIM_16 Number &operator++(Number &a) { return a = a + Number(1); }
CUSIM_16 Number &operator--(Number &a) { return a = a - Number(1); }
CUSIM_16 Number operator++(Number &a, int) {
    const Number before = a;
    ++a;
    return before;
}
CUSIM_16 Number operator--(Number &a, int) {
    const Number before = a;
    --a;
    return before;
}

#define CUSIM_COMPARISON(op, name)                                                               \
    CUSIM_16 bool operator op(const Number &a, const Number &b) { return float(a) op float(b); } \
    CUSIM_16 bool name(Number a, Number b) { return float(a) op float(b); }
CUSIM_COMPARISON(==, __heq)
CUSIM_COMPARISON(!=, __hne)
CUSIM_COMPARISON(<, __hlt)
CUSIM_COMPARISON(<=, __hle)
CUSIM_COMPARISON(>, __hgt)
CUSIM_COMPARISON(>=, __hge)
#undef CUSIM_COMPARISON

// ----------------------------------------------------------------------------------------------- conversions

CUSIM_16 Number CUSIM_NAME(__float2, CUSIM_WORD, )(float x) { return x; }
CUSIM_16 Number CUSIM_NAME(__float2, CUSIM_WORD, _rn)(float x) { return x; }
CUSIM_16 Number CUSIM_NAME(__double2, CUSIM_WORD, )(double x) { return x; }
CUSIM_16 Number CUSIM_NAME(__int2, CUSIM_WORD, _rn)(int x) { return x; }
CUSIM_16 Number CUSIM_NAME(__uint2, CUSIM_WORD, _rn)(unsigned x) { return x; }
CUSIM_16 Number CUSIM_NAME(__short2, CUSIM_WORD, _rn)(short x) { return x; }
CUSIM_16 Number CUSIM_NAME(__ushort2, CUSIM_WORD, _rn)(unsigned short x) { return x; }
CUSIM_16 float CUSIM_NAME(__, CUSIM_WORD, 2float)(Number x) { return x; }
#define CUSIM_TO_INTEGERS(suffix)                                                                               \
    CUSIM_16 int CUSIM_NAME(__, CUSIM_WORD, 2int_##suffix)(Number x) { return __float2int_##suffix(x); }        \
    CUSIM_16 unsigned CUSIM_NAME(__, CUSIM_WORD, 2uint_##suffix)(Number x) { return __float2uint_##suffix(x); } \
    CUSIM_16 long long CUSIM_NAME(__, CUSIM_WORD, 2ll_##suffix)(Number x) { return __float2ll_##suffix(x); }
CUSIM_TO_INTEGERS(rn)
CUSIM_TO_INTEGERS(rz)
CUSIM_TO_INTEGERS(rd)
CUSIM_TO_INTEGERS(ru)
#undef CUSIM_TO_INTEGERS
CUSIM_16 unsigned short CUSIM_NAME(__, CUSIM_WORD, _as_ushort)(Number x) { return x.bits; }
CUSIM_16 short CUSIM_NAME(__, CUSIM_WORD, _as_short)(Number x) { return (short)x.bits; }
CUSIM_16 Number CUSIM_NAME(__ushort_as_, CUSIM_WORD, )(unsigned short x) { return Raw{x}; }
CUSIM_16 Number CUSIM_NAME(__short_as_, CUSIM_WORD, )(short x) { return Raw{(unsigned short)x}; }

// ------------------------------------------------------------------------------------------------ arithmetic

CUSIM_16 Number __hadd(Number a, Number b) { return a + b; }
CUSIM_16 Number __hsub(Number a, Number b) { return a - b; }
CUSIM_16 Number __hmul(Number a, Number b) { return a * b; }
CUSIM_16 Number __hdiv(Number a, Number b) { return a / b; }
CUSIM_16 Number __hadd_rn(Number a, Number b) { return a + b; }
CUSIM_16 Number __hsub_rn(Number a, Number b) { return a - b; }
CUSIM_16 Number __hmul_rn(Number a, Number b) { return a * b; }
CUSIM_16 Number __hadd_sat(Number a, Number b) { return __saturatef(a + b); }
CUSIM_16 Number __hsub_sat(Number a, Number b) { return __saturatef(a - b); }
CUSIM_16 Number __hmul_sat(Number a, Number b) { return __saturatef(a * b); }
CUSIM_16 Number __hneg(Number a) { return -a; }
CUSIM_16 Number __habs(Number a) { return Raw{(unsigned short)(a.bits & 0x7fff)}; }
CUSIM_16 Number __hfma(Number a, Number b, Number c) { return cusim::odd_fma(a, b, c); }
CUSIM_16 Number __hfma_relu(Number a, Number b, Number c) {
    const Number sum = __hfma(a, b, c);
    return float(sum) < 0 ? Number(0) : sum;
}
CUSIM_16 bool __hisnan(Number a) { return (a.bits & 0x7fff) > CUSIM_INFINITE; }
CUSIM_16 int __hisinf(Number a) { return (a.bits & 0x7fff) != CUSIM_INFINITE ? 0 : a.bits == CUSIM_INFINITE ? 1 : -1; }
CUSIM_16 Number __hmax(Number a, Number b) { return fmaxf(float(a), float(b)); }
CUSIM_16 Number __hmin(Number a, Number b) { return fminf(float(a), float(b)); }
CUSIM_16 Number __hmax_nan(Number a, Number b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
CUSIM_16 Number __hmin_nan(Number a, Number b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }

#define CUSIM_FUNCTION(name, function) \
    CUSIM_16 Number name(Number a) { return function((float)a); }
CUSIM_FUNCTION(hexp, expf)
CUSIM_FUNCTION(hexp2, exp2f)
CUSIM_FUNCTION(hexp10, exp10f)
CUSIM_FUNCTION(hlog, logf)
CUSIM_FUNCTION(hlog2, log2f)
CUSIM_FUNCTION(hlog10, log10f)
CUSIM_FUNCTION(hsin, sinf)
CUSIM_FUNCTION(hcos, cosf)
CUSIM_FUNCTION(htanh, tanhf)
CUSIM_FUNCTION(htanh_approx, tanhf)
CUSIM_FUNCTION(hsqrt, sqrtf)
CUSIM_FUNCTION(hrsqrt, rsqrtf)
CUSIM_FUNCTION(hrcp, __frcp_rn)
CUSIM_FUNCTION(hfloor, floorf)
CUSIM_FUNCTION(hceil, ceilf)
CUSIM_FUNCTION(htrunc, truncf)
CUSIM_FUNCTION(hrint, rintf)
#undef CUSIM_FUNCTION

// -------------------------------------------------------------------------------------------------- in pairs

struct alignas(4) Pair {
    Number x, y;

    Pair() = default;
    Pair(const Number &x, const Number &y) : x(x), y(y) {}
};

CUSIM_16 Pair CUSIM_NAME(make_, CUSIM_WORD2, )(Number x, Number y) { return {x, y}; }
CUSIM_16 Pair CUSIM_NAME(__halves2, CUSIM_WORD2, )(Number x, Number y) { return {x, y}; }
CUSIM_16 Pair CUSIM_NAME(__float2, CUSIM_WORD2, _rn)(float x) { return {x, x}; }
CUSIM_16 Pair CUSIM_NAME(__floats2, CUSIM_WORD2, _rn)(float x, float y) { return {x, y}; }
CUSIM_16 Pair CUSIM_NAME(__float22, CUSIM_WORD2, _rn)(float2 a) { return {a.x, a.y}; }
CUSIM_16 float2 CUSIM_NAME(__, CUSIM_WORD2, 2float2)(Pair a) { return {a.x, a.y}; }
CUSIM_16 float __low2float(Pair a) { return a.x; }
CUSIM_16 float __high2float(Pair a) { return a.y; }
CUSIM_16 Number CUSIM_NAME(__low2, CUSIM_WORD, )(Pair a) { return a.x; }
CUSIM_16 Number CUSIM_NAME(__high2, CUSIM_WORD, )(Pair a) { return a.y; }
CUSIM_16 Pair CUSIM_NAME(__low2, CUSIM_WORD2, )(Pair a) { return {a.x, a.x}; }
CUSIM_16 Pair CUSIM_NAME(__high2, CUSIM_WORD2, )(Pair a) { return {a.y, a.y}; }
CUSIM_16 Pair CUSIM_NAME(__lows2, CUSIM_WORD2, )(Pair a, Pair b) { return {a.x, b.x}; }
CUSIM_16 Pair CUSIM_NAME(__highs2, CUSIM_WORD2, )(Pair a, Pair b) { return {a.y, b.y}; }
CUSIM_16 Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }

#define CUSIM_OPERATOR(op, name)                                                                 \
    CUSIM_16 Pair operator op(const Pair &a, const Pair &b) { return {a.x op b.x, a.y op b.y}; } \
    CUSIM_16 Pair &operator op## = (Pair & a, const Pair &b) { return a = a op b; }              \
    CUSIM_16 Pair name(Pair a, Pair b) { return a op b; }
CUSIM_OPERATOR(+, __hadd2)
CUSIM_OPERATOR(-, __hsub2)
CUSIM_OPERATOR(*, __hmul2)
CUSIM_OPERATOR(/, __h2div)
#undef CUSIM_OPERATOR
CUSIM_16 Pair operator-(const Pair &a) { return {-a.x, -a.y}; }
CUSIM_16 bool operator==(const Pair &a, const Pair &b) { return a.x == b.x && a.y == b.y; }
CUSIM_16 bool operator!=(const Pair &a, const Pair &b) { return a.x != b.x && a.y != b.y; }
CUSIM_16 Pair __hneg2(Pair a) { return -a; }
CUSIM_16 Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }
CUSIM_16 Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
CUSIM_16 Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
CUSIM_16 Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
CUSIM_16 Pair h2exp(Pair a) { return {hexp(a.x), hexp(a.y)}; }
CUSIM_16 Pair h2tanh(Pair a) { return {htanh(a.x), htanh(a.y)}; }
CUSIM_16 Pair h2sqrt(Pair a) { return {hsqrt(a.x), hsqrt(a.y)}; }
CUSIM_16 Pair h2rcp(Pair a) { return {hrcp(a.x), hrcp(a.y)}; }

#undef CUSIM_16
#undef CUSIM_JOIN
#undef CUSIM_NAME
#undef Number
#undef Raw
#undef Pair
#undef CUSIM_WORD
#undef CUSIM_WORD2
#undef CUSIM_INFINITE
