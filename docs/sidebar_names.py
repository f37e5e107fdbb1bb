"""Short names of the tutorials for the sidebar, which names things; a tutorial's own title may be a sentence."""

from __future__ import annotations

import re
from typing import Any

NAMES = {
    "01_the_tape": "The tape",
    "02_trust_but_difference": "Checking gradients",
    "03_one_step_then_many": "Through time",
    "04_vanish_and_explode": "Vanishing, exploding",
    "05_the_lstms_highway": "The LSTM",
    "06_two_grus": "Two GRUs",
    "07_one_node_or_many": "Fused ops",
    "08_real_batches": "Batches and lengths",
    "09_the_opaque_buffer": "The parameter buffer",
    "10_a_kernel_without_a_gpu": "A CUDA kernel",
    "11_one_launch_for_all_steps": "Persistent kernels",
    "12_gradients_of_gradients": "Second derivatives",
    "13_from_beginning_to_end": "A whole model",
    "14_attention": "Attention",
    "15_what_dropout_may_touch": "Dropout, zoneout",
    "16_whose_gates": "Orders of gates",
    "17_many_hands": "Many ranks",
    "18_addition_is_not_associative": "Sums and their order",
    "21_what_a_cut_loses": "Truncation",
}


def name_of(stem: str) -> str:
    """The name of a tutorial: of one that is not in the table, the words of its file."""
    number, _, words = stem.partition("_")
    return f"{int(number)} {NAMES.get(stem, words.replace('_', ' ').capitalize())}"


def named(app: Any, docname: str, source: list[str]) -> None:
    """Put the names into the list of tutorials, which Sphinx-Gallery writes without."""
    if docname == "tutorials/index":
        source[0] = re.sub(
            r"^   (/tutorials/(\d\d_\w+))$", lambda m: f"   {name_of(m[2])} <{m[1]}>", source[0], flags=re.MULTILINE
        )


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", named)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
