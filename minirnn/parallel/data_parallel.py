"""A module whose gradients are those of the whole batch, for any split of the batch over ranks.

Each of P ranks computes the gradient g_r of its own part of the batch; with n_r examples there the gradient of the
mean over the whole batch is::

    g = sum_r n_r g_r / sum_r n_r

Gradients travel in buckets while the backward pass still computes older ones: a parameter's hook runs as soon as its
gradient is complete (`minirnn.engine.hooks`), and a bucket is sent when it is full. When ``loss.backward()`` returns,
``p.grad`` is g on every rank, so that clipping and the optimizer work as in one process.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.hooks import running, when_backward_ends
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor, leaf
from minirnn.nn.module import Module
from minirnn.parallel.buckets import ORDERS, in_buckets
from minirnn.parallel.communicator import Wait
from minirnn.parallel.sums import tree_sum
from minirnn.parallel.world import World, init


class Event(NamedTuple):
    """One activity of a rank in a step, by its own clock (`World.now`).

    "backward": from the end of the forward pass until all gradients are complete. "bucket 0", ...: from sending
    until the sum has arrived. "wait": the idle part of this time.
    """

    name: str
    begin: float
    end: float


class DistributedDataParallel(Module):
    """A module that is trained on several ranks at once: torch.nn.parallel.DistributedDataParallel.

    Raises TypeError or ValueError if an argument is invalid, the modules of the ranks differ, or there is nothing to
    train. A backward pass raises RuntimeError for ``create_graph=True``, because the sum over ranks is not on the tape,
    or if the parameters of the ranks have drifted apart.

    Parameters
    ----------
    module : Module
        It has the same architecture on all ranks, which start with the values of rank 0.
    world : World, optional
        By default `minirnn.parallel.init()`.
    bucket_bytes : int
        Gradients travel in messages of about this size.
    order : {"fast", "tree"}
        "fast": MPI chooses the order. "tree": neighbors are added in pairs, then the pairs, ...
        (`minirnn.parallel.sums`), so that the same shards give the same bits on any number of ranks.
    shards : int, optional
        The number of parts of the batch: a multiple of the number of ranks, which is the default. With more, every
        rank calls ``backward`` once for each of its shards, in their order; the last call sends.
    broadcast_buffers : bool
        Whether every forward pass of training begins with the buffers of rank 0.
    check_every : int
        The number of passes after which the ranks compare their parameters; 0 means never. Different processors round
        differently, and their parameters would drift apart unnoticed.

    Attributes
    ----------
    module : Module
    weight : float
        The weight of the next backward pass: the number of its examples if parts differ in size. Initially 1.
    stop : bool
        Whether this rank asks to stop, for example after Ctrl-C.
    stopping : bool
        Whether any rank asked to stop in the last pass. All ranks see it after the same pass.
    events : list of Event
        What this rank did in the last pass; a timeline.
    bytes_sent : int
        The size of the gradients that the last pass sent, without the overhead of the algorithm.

    Notes
    -----
    `mr.grad` never communicates, so a single rank may use it, for example to draw a picture. A parameter that some
    ranks did not use counts as 0 there; one that no rank used keeps its gradient, None. Gradients are new arrays in
    each pass.
    """

    def __init__(
        self,
        module: Module,
        world: World | None = None,
        *,
        bucket_bytes: int = 1 << 20,
        order: str = "fast",
        shards: int | None = None,
        broadcast_buffers: bool = True,
        check_every: int = 100,
    ) -> None:
        name = type(self).__name__
        if not isinstance(module, Module):
            raise TypeError(f"{name}: module is {shown(module)}\n  expected a Module")
        if world is not None and not isinstance(world, World):
            raise TypeError(f"{name}: world is {shown(world)}\n  expected a World: minirnn.parallel.init()")
        self.module, self.world = module, init() if world is None else world
        self.order = check.choice(name, "order", order, tuple(ORDERS))
        self.own = self.world.shards(self.world.size if shards is None else shards)
        self.shards = len(self.own) * self.world.size
        self.broadcast_buffers = check.flag(name, "broadcast_buffers", broadcast_buffers)
        self.check_every = check.integer(name, "check_every", check_every, 0)
        self.weight, self.stop, self.stopping = 1.0, False, False
        self.events: list[Event] = []
        self.bytes_sent = self.passes = 0
        named = [(key, p) for key, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError(f"{name}: no parameter of the module requires gradients\n  expected something to train")
        if any(isinstance(hook, _Arrival) for _, p in named for hook in p.hooks or ()):
            raise ValueError(
                f"{name}: the module is already wrapped in another one\n  expected one wrapper: both would send"
            )
        self._sent = _Trained([p for _, p in named])
        self._make_equal(named)
        self._buckets = in_buckets(self._sent.parameters, check.integer(name, "bucket_bytes", bucket_bytes, 1))
        self._bucket_of = {k: b for b, bucket in enumerate(self._buckets) for k in bucket.members}
        self._new_step()
        self._forward_done = self.world.now()
        self._running: Any = None
        for k, p in enumerate(self._sent.parameters):
            p.register_hook(_Arrival(self, k))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        if self.training and self.broadcast_buffers and self.world.size > 1:
            self._share_buffers()
        result = self.module(*args, **kwargs)
        self._forward_done = self.world.now()
        return result

    def idle(self) -> None:
        """Take the place of a backward pass on a rank (or shard) without examples, so that the others need not wait."""
        weight, self.weight = self.weight, 0.0
        gradients: dict[Tensor, Any] = {}
        self._begin_pass()
        self._end_pass(gradients)
        self.weight = weight
        for p, g in gradients.items():
            total = leaf(p.device, g)
            p.grad = total if p.grad is None else p.grad + total

    # ---- before training

    def _make_equal(self, named: list[tuple[str, Any]]) -> None:
        name = type(self).__name__
        here = [(key, p.shape, str(p.dtype)) for key, p in named]
        settings = self.shards, self.order, len(here)
        every = self.world.all_gather((settings, here))
        for rank, (their_settings, there) in enumerate(every):
            if their_settings != every[0][0]:
                raise ValueError(
                    f"{name}: rank 0 has (shards, order, parameters) {every[0][0]}, rank {rank} has {their_settings}\n"
                    "  expected the same on all ranks"
                )
            for ours, theirs in zip(every[0][1], there, strict=True):
                if ours != theirs:
                    raise ValueError(
                        f"{name}: rank 0 has the parameter {ours}, rank {rank} has {theirs}\n"
                        "  expected the same modules on all ranks"
                    )
        values = self.world.broadcast([p.numpy() for _, p in named] if self.world.rank == 0 else None)
        for (_, p), value in zip(named, values, strict=True):
            p.assign(value)
        self._share_buffers()

    def _share_buffers(self) -> None:
        buffers = list(self.module.buffers())
        if not buffers:
            return
        values = self.world.broadcast([b.numpy() for b in buffers] if self.world.rank == 0 else None)
        for b, value in zip(buffers, values, strict=True):
            b.assign(value)

    # ---- a step: one backward pass for each shard of this rank

    def _new_step(self) -> None:
        self._flats: list[dict[int, np.ndarray]] = [{} for _ in self._buckets]  # of each bucket: shard -> numbers
        self._weights: list[float] = []
        self._seen: set[int] = set()  # parameters that got a gradient in this step

    def _begin_pass(self) -> None:
        self._running = running.callbacks
        self._missing = [set(bucket.members) for bucket in self._buckets]
        self._totals: list[tuple[np.ndarray, Wait]] = []
        self._sent_at: list[float] = []

    @property
    def _last(self) -> bool:
        """Whether this pass is the one that sends: the last of the step."""
        return len(self._weights) == len(self.own) - 1

    def _arrived(self, k: int, gradient: Tensor) -> None:
        """The hook of parameter k: its gradient is complete."""
        if running.callbacks is None:  # `mr.grad`
            return
        if mode.enabled:
            raise RuntimeError(
                "DistributedDataParallel: backward(create_graph=True)\n  expected a first-order pass: the sum over the"
                " ranks is not on the tape\n  use mr.grad, and World.all_reduce for sums over the ranks"
            )
        if self._running is not running.callbacks:
            self._begin_pass()
            when_backward_ends(self._end_pass)
        if self._last:
            self._put(k, gradient.numpy())

    def _put(self, k: int, gradient: np.ndarray | None) -> None:
        """Copy parameter k's gradient into its bucket, None for zeros; send full buckets, in the same order on all
        ranks.
        """
        b = self._bucket_of[k]
        if gradient is not None:
            self._store(k, gradient)
        self._missing[b].discard(k)
        while len(self._totals) < len(self._buckets) and not self._missing[len(self._totals)]:
            self._send(len(self._totals))

    def _store(self, k: int, gradient: np.ndarray) -> None:
        b = self._bucket_of[k]
        bucket, shard = self._buckets[b], self.own[len(self._weights)]
        flat = self._flats[b].get(shard)
        if flat is None:
            flat = self._flats[b][shard] = bucket.new()
        part = bucket.part(flat, k)
        np.multiply(gradient, part.dtype.type(self.weight), out=part)
        self._seen.add(k)

    def _send(self, b: int) -> None:
        bucket, flats = self._buckets[b], self._flats[b]
        own = {shard: flats[shard] if shard in flats else bucket.new() for shard in self.own}
        self._sent_at.append(self.world.now())
        self._totals.append(ORDERS[self.order](self.world, own, self.shards))

    def _end_pass(self, gradients: dict[Tensor, Any]) -> None:
        """At the end of a backward pass, keep the gradients for the last pass, or send the rest, wait and divide."""
        self._running = None
        numbers = {k: p.device.to_numpy(gradients[p]) for k, p in enumerate(self._sent.parameters) if p in gradients}
        if not self._last:
            for k, g in numbers.items():
                self._store(k, g)
                del gradients[self._sent.parameters[k]]
            self._weights.append(float(self.weight))
            return
        for k in range(len(self._sent.parameters)):
            if k not in numbers:
                self._put(k, None)
        self._weights.append(float(self.weight))
        used, weight = self._finish_messages()
        for k, p in enumerate(self._sent.parameters):
            if not used[k]:
                continue
            b = self._bucket_of[k]
            total = self._buckets[b].part(self._totals[b][0], k)
            mean = total / total.dtype.type(weight)
            gradients[p] = p.device.asarray(mean.astype(p.dtype, copy=False))
        self._new_step()

    def _finish_messages(self) -> tuple[np.ndarray, float]:
        """The parameters that any rank used, and the weight of all examples."""
        world, n, S = self.world, len(self._sent.parameters), self.shards
        self.passes += 1
        compares = bool(self.check_every) and self.passes % self.check_every == 0
        # One short message: weights per shard, a fingerprint per rank, available gradients, requests to stop.
        news = np.zeros(S + world.size + n + 1)
        news[list(self.own)] = self._weights
        news[S + world.rank] = self._fingerprint() if compares else 0
        news[S + world.size + np.array(sorted(self._seen), int)] = 1
        news[-1] = self.stop
        told = world.communicator.start_sum(news)
        begin = world.now()
        self.events = [Event("backward", min(self._forward_done, *self._sent_at), begin)]
        for b, (_, wait) in enumerate(self._totals):
            wait()
            self.events.append(Event(f"bucket {b}", self._sent_at[b], world.now()))
        told()
        self.events.append(Event("wait", begin, world.now()))
        self.bytes_sent = sum(flat.nbytes for flat, _ in self._totals) + news.nbytes
        self.stopping = bool(news[-1])
        fingerprints = news[S : S + world.size]
        apart = np.flatnonzero(fingerprints != fingerprints[0]).tolist()
        if apart:
            raise RuntimeError(
                f"DistributedDataParallel: the parameters of rank {', '.join(map(str, apart))} differ from rank 0's\n"
                "  expected the same on all: every rank must do the same steps; processors of different kinds also"
                " round differently"
            )
        weight = float(tree_sum(news[:S].tolist()))
        if weight == 0:
            raise ValueError("DistributedDataParallel: no rank has an example\n  expected a weight above 0 somewhere")
        return news[S + world.size : -1] > 0, weight

    def _fingerprint(self) -> int:
        value = 0
        for p in self._sent.parameters:
            value = zlib.crc32(np.ascontiguousarray(p.numpy()).tobytes(), value)
        return value


class _Trained:
    """The parameters whose gradients are sent. As a list in the module they would also become its own parameters."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters


class _Arrival:
    """The hook of one parameter."""

    retains = True  # after the user's hooks

    def __init__(self, owner: DistributedDataParallel, k: int) -> None:
        self.owner, self.k = owner, k

    def __call__(self, gradient: Tensor) -> None:
        self.owner._arrived(self.k, gradient)
