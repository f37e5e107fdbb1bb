"""The devices `cuda` and `cuda-sim`: one device class over two drivers, an NVIDIA GPU and a simulator of one.

Where things are::

    ../cells/                     one step of a cell and its gradient, as a header that is made of the cell's plan
    kernels/sequence/             every_cell.cu, cell.cuh: the CUDA code around a cell, one thread per few neighboring
                                  units of a row (units.cuh); plain.cu: a few steps, written out; steps.cu: one step per
                                  launch, reductions.cu: between its stages; unitwise.cu: all steps of a cell whose
                                  units do not read each other; barrier.cu: whole sequences in one launch,
                                  readable; persistent.cu, persistent_grad.cu: the same, for speed
    kernels/grid_barrier.cuh, grid.cuh, tile_gather.cuh, warp_product.cuh
                                  used by these: a barrier of all blocks, messages between blocks, products by warps
    kernels/primitives/           the primitives; views.cuh reads broadcast, transposed and sliced arrays in place
    launch/                       grid, block and arguments of each kernel, and the products between kernels
    launch/sequence/              a layer or a step of any cell: the rungs of the ladder, and the rule that chooses one
    array.py, device.py           arrays with shape and strides; the device, with NumPy's rules
    interface.py                  arrays of other GPU libraries
    driver.py                     the interface of a driver: memory, modules, launches, matrix products
    gpu/, sim/                    the two drivers
    uncompiled.py                 passes the layers of a rung that is refused to the lowest rung
    free_blocks.py, arguments.py  the choice of the freed memory that is reused next; the arguments of a launch as bytes
    program.py, recordings.py     the launches of a layer, written down once; loops over time as CUDA graphs
    missed.py                     checks whether a block missed a message from another block
    debug.py                      MINIRNN_DEBUG=1

`minirnn/machine/cuda_versions.py` knows which toolkits, drivers and GPUs fit.
"""
