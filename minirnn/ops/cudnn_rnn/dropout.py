"""The dropout masks of the CudnnRNN ops: a pure function of the two seeds, equal on every device.

Element k of the mask between layers l and l + 1, counted in C order over (T, B, D*P), is made from 32 random bits u_k:
it is 0 if ``u_k < dropout * 2**32``, else ``1 / (1 - dropout)``. The bits come from the counter-based generator
Philox4x64-10 (Salmon et al. 2011) with the key ``(seed & 0xffffffff) << 32 | (seed2 & 0xffffffff)``: u_k is half
``k % 2`` (low half first) of word ``k // 2 % 4`` of the block at counter ``(1 + k // 8, 0, 0, l)``. Each element can
therefore be computed separately, in any order, by any thread.

cuDNN's own bits cannot be reproduced, but the distribution is the same. TensorFlow advances its random state with each
call. Here the same seeds give the same masks, so that finite differences work. The modules of `minirnn.nn` draw new
seeds for every training step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minirnn.engine.tensor import Tensor, tensor


def philox_key(seed: int, seed2: int) -> int:
    """The key made of the two seed attributes."""
    return (seed & 0xFFFFFFFF) << 32 | (seed2 & 0xFFFFFFFF)


def dropout_mask(shape: tuple[int, ...], dropout: float, layer: int, seed: int, seed2: int) -> np.ndarray:
    """The mask (T, B, D*P), float64, that multiplies the output of `layer` on its way to the next one.

    Masks of other shapes are made in the same way. `layer` is then the number of a separate stream.
    """
    if dropout >= 1:  # the scale 1 / (1 - dropout) is not defined, and there is nothing to scale
        return np.zeros(shape)
    return np.where(dropped(shape, dropout, layer, seed, seed2), 0.0, 1 / (1 - dropout))


def dropout_masks(
    L: int, shape: tuple[int, ...], dropout: float, seeds: tuple[int, int], like: Tensor
) -> Sequence[Tensor] | None:
    """The masks between L layers, in the dtype and on the device of `like`; None if nothing is dropped."""
    if not dropout or L == 1:
        return None
    return [mask_like(like, shape, dropout, layer, *seeds) for layer in range(L - 1)]


def mask_like(like: Tensor, shape: tuple[int, ...], dropout: float, layer: int, seed: int, seed2: int) -> Tensor:
    """`dropout_mask` in the dtype and on the device of `like`."""
    return tensor(dropout_mask(shape, dropout, layer, seed, seed2), device=like.device, dtype=like.dtype)


def random_bits(shape: tuple[int, ...], stream: int, seed: int, seed2: int) -> np.ndarray:
    """u_k, 32 bits for each element."""
    n = int(np.prod(shape))
    bits = np.random.Philox(key=philox_key(seed, seed2), counter=[0, 0, 0, stream]).random_raw((n + 1) // 2)
    return bits.astype("<u8").view("<u4")[:n].reshape(shape)


def dropped(shape: tuple[int, ...], p: float, stream: int, seed: int, seed2: int) -> np.ndarray:
    """Where ``u_k < p * 2**32``: true with probability p."""
    return random_bits(shape, stream, seed, seed2) < np.uint64(round(p * 2**32))
