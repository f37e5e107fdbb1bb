"""How an op or a cell is proven: cases, ways, tolerances, and a table. minirnn's ops and your own go the same way."""

from minirnn.proof.own import prove
from minirnn.proof.proof import Proof

__all__ = ["Proof", "prove"]
