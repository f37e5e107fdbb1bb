"""How minirnn is verified, and how you verify an op of your own."""

from minirnn.verify.own_op import Proof, prove

__all__ = ["Proof", "prove"]
