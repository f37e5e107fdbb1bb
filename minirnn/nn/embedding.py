"""Embedding: a learned vector for each id."""

from __future__ import annotations

from typing import Any, Self

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn import functional
from minirnn.nn.functional.layers import only_defaults, padding_row
from minirnn.nn.initial import Factory, size
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter


class Embedding(Module):
    """``y = weight[ids]``, which equals the product of one-hot vectors and a matrix.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        V and I.
    padding_idx : int, optional
        The id of padding. Its row is zero at first and gets no gradient. A negative id counts from the end.
    max_norm, norm_type, scale_grad_by_freq, sparse
        Only torch's defaults are supported: see `minirnn.nn.functional.embedding`.
    _weight : (V, I), optional
        The table, which is copied, instead of random numbers. The row `padding_idx` is not changed.
    _freeze : bool
        Whether the table gets no gradient.
    device, dtype
        Device and dtype (default float32, or that of `_weight`) of the table.

    Attributes
    ----------
    weight : Parameter, (V, I)
        Standard normal, as in torch.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        V = self.num_embeddings = size("Embedding", "num_embeddings", num_embeddings)
        I = self.embedding_dim = size("Embedding", "embedding_dim", embedding_dim)
        only_defaults("Embedding", max_norm, scale_grad_by_freq, sparse)
        self.padding_idx = None if padding_idx is None else padding_row("Embedding", padding_idx, V)
        trained = not check.flag("Embedding", "_freeze", _freeze)
        if _weight is None:
            self.weight = Factory(device, dtype).normal((V, I))
            self._zero_padding()
            self.weight.requires_grad_(trained)
            return
        given = as_tensor(_weight)
        if given.shape != (V, I):
            raise ValueError(
                f"Embedding: _weight has shape {given.shape}\n"
                f"  expected {(V, I)}, from num_embeddings = {V} and embedding_dim = {I}"
            )
        place = device if device is not None or not isinstance(_weight, Tensor) else given.device
        self.weight = Parameter(given.numpy(), trained, place, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding with a copy of a given table (V, I). By default it is frozen, so it gets no gradient.

        torch shares the memory of the table. Here it is a copy, because minirnn never writes into arrays. Raises
        ValueError if `embeddings` is not a matrix.
        """
        if not isinstance(embeddings, Tensor):
            embeddings = as_tensor(embeddings)
        if embeddings.ndim != 2:
            raise ValueError(f"from_pretrained: embeddings has shape {shown(embeddings.shape)}\n  expected (V, I)")
        V, I = embeddings.shape
        return cls(
            V,
            I,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=check.flag("from_pretrained", "freeze", freeze),
        )

    def reset_parameters(self) -> None:
        """Draw new values for the table, and set the row of padding to zero."""
        self.weight.assign(Factory(self.weight.device, self.weight.dtype).normal(self.weight.shape))
        self._zero_padding()

    def _zero_padding(self) -> None:
        if self.padding_idx is not None:
            table = self.weight.numpy().copy()
            table[self.padding_idx] = 0
            self.weight.assign(table)

    def forward(self, input: Any) -> Tensor:
        """Integers (...) -> rows (..., I). Raises TypeError for other dtypes, ValueError for ids outside 0 .. V-1."""
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
