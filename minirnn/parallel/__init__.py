"""Training on several processes at once, over MPI (mpi4py): ``pip install "minirnn[parallel]"``.

::

    from minirnn import parallel

    world = parallel.init()                                # 4 ranks under `mpiexec -n 4`, one without
    model = parallel.DistributedDataParallel(Net(), world)
    rows = world.rows(B)                                   # this rank's part of the batch
    model.weight = rows.stop - rows.start                  # only needed if parts differ in size
    criterion(model(x[:, rows]), y[:, rows]).backward()    # p.grad is now the gradient of the whole batch, everywhere
    optimizer.step()
"""

from minirnn.parallel.data_parallel import DistributedDataParallel, Event
from minirnn.parallel.sums import tree_sum
from minirnn.parallel.world import World, init, simulate

__all__ = ["DistributedDataParallel", "Event", "World", "init", "simulate", "tree_sum"]
