"""Pictures of training and of gradients. Every drawing function returns a `Picture`, and `show` displays it."""

from minirnn.viz.cell.drawing import CellDrawing, cell_graph
from minirnn.viz.colors import signed_norm, style
from minirnn.viz.display import show
from minirnn.viz.gate_maps import gate_map
from minirnn.viz.gates import gate_activity
from minirnn.viz.gradients import gradient_flow
from minirnn.viz.holders import weight_holders
from minirnn.viz.inside import look_inside
from minirnn.viz.jacobians import jacobian_spectrum, state_jacobians
from minirnn.viz.kernel_access import bank_conflicts, thread_map, warp_accesses
from minirnn.viz.ladder import ladder_counts
from minirnn.viz.ladder_schematic import between_steps
from minirnn.viz.layers import LayerValues, layer_jacobians, layer_paths, layer_values
from minirnn.viz.meeting import grid_barrier, who_reads
from minirnn.viz.parameter_layout import parameter_buffer
from minirnn.viz.paths import cell_paths, path_strengths
from minirnn.viz.picture import Picture, save
from minirnn.viz.precision import precision_over_time
from minirnn.viz.ranks import all_reduce_costs, backward_timeline
from minirnn.viz.ratios import UpdateRatios, update_ratios
from minirnn.viz.rooflines import roofline
from minirnn.viz.shares import gradient_shares, per_step_gradients
from minirnn.viz.tape.graph import tape_graph
from minirnn.viz.tape.player import TapePlayer, tape_player
from minirnn.viz.tape.svg import TapeDrawing, tape_svg
from minirnn.viz.text_colors import ColoredText, colored_text
from minirnn.viz.timing import timings
from minirnn.viz.training import loss_curve

__all__ = [
    "CellDrawing",
    "ColoredText",
    "LayerValues",
    "Picture",
    "TapeDrawing",
    "TapePlayer",
    "UpdateRatios",
    "all_reduce_costs",
    "backward_timeline",
    "bank_conflicts",
    "between_steps",
    "cell_graph",
    "cell_paths",
    "colored_text",
    "gate_activity",
    "gate_map",
    "gradient_flow",
    "gradient_shares",
    "grid_barrier",
    "jacobian_spectrum",
    "ladder_counts",
    "layer_jacobians",
    "layer_paths",
    "layer_values",
    "look_inside",
    "loss_curve",
    "parameter_buffer",
    "path_strengths",
    "per_step_gradients",
    "precision_over_time",
    "roofline",
    "save",
    "show",
    "signed_norm",
    "state_jacobians",
    "style",
    "tape_graph",
    "tape_player",
    "tape_svg",
    "thread_map",
    "timings",
    "update_ratios",
    "warp_accesses",
    "weight_holders",
    "who_reads",
]
