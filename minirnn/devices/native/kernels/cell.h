// A cell in C++: vectors of neighboring units, and how many of its numbers lie where.
#pragma once
#include "activation.h"
#include "cells/form.h"
#include "layer.h"

template <class Cell>
constexpr int INNER = Cell::STATES - 1;  // states other than h
template <class Cell>
constexpr int LAST = Cell::STATES - 1;  // the number of h
template <class Cell>
constexpr bool reads_h = Cell::READS_AFTER >> LAST<Cell> & 1;  // the gradient reads h

// Zoneout: how much of the state before stays.
template <class V>
INLINE V zoned(V z, V before, V after) {
    return z * before + (1 - z) * after;
}
