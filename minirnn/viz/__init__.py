"""Pictures of training and of gradients. Every function returns a `Picture`; none shows a window."""

from minirnn.viz.colors import signed_norm, style
from minirnn.viz.gates import gate_activity
from minirnn.viz.gradients import gradient_flow
from minirnn.viz.picture import Picture, save
from minirnn.viz.training import loss_curve

__all__ = ["Picture", "gate_activity", "gradient_flow", "loss_curve", "save", "signed_norm", "style"]
