"""Old addresses of pages, and where their text is now. `sphinx_reredirects` writes a page for each."""

from __future__ import annotations

import os

MOVED = {
    "locks": "appendix/locks",
    "more": "use",
    "appendix/names_of_torch": "api/names_of_torch",
    "names_of_torch": "api/names_of_torch",
    "puzzles": "appendix/puzzles",
    "tutorials/07_one_node_or_many": "tutorials/14_one_node_or_many",
    "tutorials/08_real_batches": "tutorials/09_real_batches",
    "tutorials/09_the_opaque_buffer": "tutorials/16_the_opaque_buffer",
    "tutorials/10_a_kernel_without_a_gpu": "tutorials/18_a_kernel_without_a_gpu",
    "tutorials/11_one_launch_for_all_steps": "tutorials/19_one_launch_for_all_steps",
    "tutorials/12_gradients_of_gradients": "tutorials/13_gradients_of_gradients",
    "tutorials/13_from_beginning_to_end": "tutorials/10_from_beginning_to_end",
    "tutorials/14_attention": "tutorials/11_attention",
    "tutorials/15_what_dropout_may_touch": "tutorials/12_what_dropout_may_touch",
    "tutorials/16_whose_gates": "tutorials/15_whose_gates",
    "tutorials/17_many_hands": "tutorials/20_many_hands",
    "tutorials/18_addition_is_not_associative": "tutorials/21_addition_is_not_associative",
    "tutorials/19_your_own_cell": "tutorials/17_your_own_cell",
    "tutorials/20_long_lags": "tutorials/07_long_lags",
    "tutorials/21_what_a_cut_loses": "tutorials/08_what_a_cut_loses",
}
"""Old address, new address."""

REDIRECTS = {old: os.path.relpath(f"{new}.html", os.path.dirname(old) or ".") for old, new in MOVED.items()}
