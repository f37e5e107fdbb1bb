"""How minirnn is verified, and how you verify an op of your own."""

from minirnn.proving.proof import Proof
from minirnn.verify.own_op import prove

__all__ = ["Proof", "prove"]
