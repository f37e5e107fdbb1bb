"""How minirnn is verified, and how you verify your own op."""

from minirnn.proving.proof import Proof
from minirnn.verify.own_op import prove

__all__ = ["Proof", "prove"]
