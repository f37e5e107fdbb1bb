// Rounding to odd: a second rounding to fewer digits still knows on which side of a tie the exact number was.
// Source: S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums" (2008).
#pragma once

namespace cusim {

CUSIM_OWN float odd_float(double x) {
    const float nearest = (float)x;
    uint32_t bits = cusim::bits<uint32_t>(nearest);
    if (nearest == x || x != x || (bits & 0x7fffffff) == 0x7f800000) return nearest;
    if (fabs((double)nearest) > fabs(x)) bits--;
    return cusim::bits<float>(bits | 1);
}

// a * b + c. The product is exact in double; the sum is rounded to odd if it does not fit.
CUSIM_OWN double odd_fma(float a, float b, float c) {
    const double product = double(a) * double(b), addend = c, sum = product + addend;
    const double part = sum - product, error = (product - (sum - part)) + (addend - part);
    unsigned long long bits = cusim::bits<unsigned long long>(sum);
    if (error != 0 && !isinf(sum) && sum == sum && !(bits & 1)) {
        if ((error > 0) == (sum > 0)) bits |= 1;
        else bits -= 1;
    }
    return cusim::bits<double>(bits);
}

}  // namespace cusim
