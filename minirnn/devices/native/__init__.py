"""The device `native`: NumPy arrays, and recurrent kernels in C++.

The files in `kernels/`, in a good order for reading::

    vector.h                vector registers, and the end of a row that does not fill one
    activation.h            sigmoid and tanh from e^y, accurate for large arguments and near 0
    tile.h, tile.cpp        the product of a tile in registers, and the largest possible tile
    transpose.h             transposing a square block in registers, to pack weights
    ../../cells/*.h         the cells: a step and its gradient, in the source that CUDA includes; form.h is their form
    cell.h, modes.h         the cells on vectors, and the selection of a layer's cell
    layer.h                 one direction of a layer, and the order of its steps
    shares.h                the assignment of the tiles of a step to threads
    forward.h, backward.h   all steps, with tiles of samples and units; Python calls the .cpp files of the same names
    sums.h                  the sums over steps: gradients of weights, biases and x
    gemm.h, product.cpp     large products, blocked for the caches
    gru_block.cpp           GRUBlockCell
    team.h, team.cpp        the threads

The kernels are compiled without -ffast-math, which assumes that NaN never occurs. The tests run them for several vector
widths, and under the address, undefined-behavior and thread sanitizers.
"""
