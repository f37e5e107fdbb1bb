// Maps a number of `Mode` to its cell.
#pragma once
#include "cell.h"
#include "cells/lstm_block.h"

template <class real>
LstmBlock<Vector<real>, real> lstm_block(const Layer<real> &d) {
    return {{}, d.vectors != nullptr, real(d.clip)};
}

// The type that f(cell) returns.
template <class real, class F>
int with_cell(int mode, const Layer<real> &d, F f) {
    return f(lstm_block(d));
}
