"""Pictures of training and of gradients. Every drawing function returns a `Picture`, and `show` displays it.

For an argument of another type, shape or range, a function raises TypeError or ValueError. The message says what it got
and what it expected. A tape that a backward pass has freed is a RuntimeError. Charts can be drawn into your own axes
(`ax`). Other pictures need a figure of a certain size.
"""

from minirnn.lookup.later import imported_later
from minirnn.viz.cell.drawing import CellDrawing, cell_graph
from minirnn.viz.colors import style
from minirnn.viz.display import show
from minirnn.viz.gate_maps import gate_map
from minirnn.viz.gradients import gradient_flow
from minirnn.viz.inside import look_inside
from minirnn.viz.kernel_access import bank_conflicts, thread_map, warp_accesses
from minirnn.viz.ladder_schematic import between_steps
from minirnn.viz.layers import LayerValues, layer_jacobians, layer_paths, layer_values
from minirnn.viz.parameter_layout import parameter_buffer
from minirnn.viz.paths import cell_paths, path_strengths
from minirnn.viz.picture import Picture, save
from minirnn.viz.ranks import all_reduce_costs, backward_timeline
from minirnn.viz.rooflines import roofline
from minirnn.viz.steps import gradient_shares, per_step_gradients, state_jacobians
from minirnn.viz.tape.graph import tape_graph
from minirnn.viz.tape.player import TapePlayer
from minirnn.viz.text_colors import ColoredText, colored_text
from minirnn.viz.training import loss_curve

__getattr__, __dir__ = imported_later(__name__, {})  # these answer for names of earlier versions

__all__ = ["CellDrawing", "ColoredText", "LayerValues", "Picture", "TapePlayer", "all_reduce_costs"]
__all__ += ["backward_timeline", "bank_conflicts", "between_steps", "cell_graph", "cell_paths", "colored_text"]
__all__ += ["gate_map", "gradient_flow", "gradient_shares", "layer_jacobians", "layer_paths", "layer_values"]
__all__ += ["look_inside", "loss_curve", "parameter_buffer", "path_strengths", "per_step_gradients", "roofline", "save"]
__all__ += ["show", "state_jacobians", "style", "tape_graph", "thread_map", "warp_accesses"]
