"""The device `native`: NumPy arrays, and recurrent kernels in C++.

A library has the products and the threads. The passes of a cell are compiled when the cell is first used: its header,
which `devices/cells/header.py` makes of its plan, and the drivers in `kernels/`. `sequence/` calls them.

The files in `kernels/`, in a good order for reading::

    vector.h                vector registers, and the end of a row that does not fill one
    activation.h            sigmoid and tanh from e^y, accurate for large arguments and near 0
    tile.h, tile.cpp        the product of a tile in registers, and the largest possible tile
    transpose.h             transposing a square block in registers, to pack weights
    ../../cells/form.h      the form of a cell: a step and its gradient, in the source that CUDA includes
    cell.h                  a cell on vectors
    layer.h                 one direction of a layer, and the order of its steps
    shares.h                the assignment of the tiles of a step to threads
    forward.h, backward.h   all steps, with tiles of samples and units
    sums.h                  the sums over steps: gradients of weights, biases and x
    step.h                  a single step without the products of W and R
    gemm.h, product.cpp     large products, blocked for the caches
    team.h, team.cpp        the threads

The kernels are compiled without -ffast-math, which assumes that NaN never occurs. The tests run them for several vector
widths, and under the address, undefined-behavior and thread sanitizers.
"""
