// Maps a number of `Mode` to its cell.
#pragma once
#include "cell.h"
#include "cells/gru.h"
#include "cells/lstm.h"
#include "cells/lstm_block.h"
#include "cells/rnn.h"

template <class real>
LstmBlock<Vector<real>, real> lstm_block(const Layer<real> &d) {
    return {{}, d.vectors != nullptr, real(d.clip)};
}

// The type that f(cell) returns.
template <class real, class F>
int with_cell(int mode, const Layer<real> &d, F f) {
    using V = Vector<real>;
    switch (mode) {
        case RNN_RELU: return f(RnnRelu<V, real>());
        case RNN_TANH: return f(RnnTanh<V, real>());
        case LSTM: return f(Lstm<V, real>());
        case GRU: return f(Gru<V, real>());
        default: return f(lstm_block(d));
    }
}
