"""The parts of the op pages: formulas, and next to them the NumPy, C++ and CUDA that computes them.

A cell has two parts, for its step and for its backward pass. Their formulas are those of the cell's page, and the code
is what devices make of it. Other parts are cut from the sources by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from docs.columns import cuts, statements
from docs.columns.cuts import Cut
from docs.columns.statements import Aliases, Statement
from minirnn.cells.cell import Formulas
from minirnn.cells.formulas import Writer, as_text
from minirnn.devices.cells.header import functions
from minirnn.devices.cpu.sequence.calls import WORD
from minirnn.devices.cpu.sequence.step import text_of
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.explain.ops import PAGES
from minirnn.explain.sources import location
from minirnn.ops.cudnn_rnn.cells import lstm, lstm_zoned_c
from minirnn.ops.lstm_block.cells import lstm_block

SEQUENCE, LOSSES = "ops/lstm_block/sequence.py", "ops/losses.py"
CPU, CUDA = "devices/cpu", "devices/cuda"
BOTH = "C++, CUDA"
"""The column of the code that C++ and CUDA share."""


class Box(NamedTuple):
    """A text that computes the formulas of a part."""

    name: str
    cut: Cut
    aliases: Aliases = MappingProxyType({})
    """Names in the text that differ from those in the formulas."""

    def statements(self) -> list[Statement]:
        return statements.of(self.cut, self.aliases)

    def names(self) -> set[str]:
        """All names that it sets, as the formulas call them."""
        return {name for s in self.statements() for name in s.names}


class Part(NamedTuple):
    """Formulas, and for each language the texts that compute them."""

    title: str
    formulas: Cut
    columns: Mapping[str, tuple[Box, ...]]


def of_cell(cell: Formulas, backward: bool, sequence: bool = True) -> Part:
    """The step of a cell, or its backward pass, as its page has it and as devices compute it."""
    plan = cell.plan(cell is lstm_zoned_c)
    path, line = location(cell.by_hand[0] if backward and cell.by_hand else cell.function)
    text = cell.backward_formulas() if backward else cell.forward_formulas()
    numpy = [Box("cell_step_grad" if backward else "cell_step", Cut(path, line, text_of(plan, backward), "python"))]
    if sequence:
        numpy.append(all_steps(cell, backward))
    cpp = Box("grad" if backward else "step", Cut(path, line, "\n".join(functions(plan, backward)), "cuda"))
    columns = {"NumPy": tuple(numpy), BOTH: (cpp,)}
    return Part(f"{cell.__name__}, {'backward' if backward else 'forward'}", Cut(path, line, text), columns)


def all_steps(cell: Formulas, backward: bool, **aliases: str) -> Box:
    """The loop over a sequence. Its rows of several values have joined names, `dz_o_dc`, and factors `dc_by_dh`."""
    plan = cell.plan(cell is lstm_zoned_c)
    text, formulas = loop_of(plan).run.__doc__ or "", cell.forward_formulas()
    if backward:
        back, formulas = back_of(plan), cell.backward_formulas()
        text = f"{back.factors.__doc__}\n{back.runs[False, False].__doc__}"
    names = {*aliases, *(name for s in statements.of_formula(formulas) for name in s.names)}
    found = {word: apart(word, names) for word in re.findall(WORD, text)}
    name = "cell_sequence_grad" if backward else "cell_sequence"
    called = {word: " ".join(aliases.get(n, n) for n in own) for word, own in found.items() if own}
    return Box(name, Cut(*location(cell.function), text, "python"), called)


def apart(word: str, names: set[str]) -> list[str]:
    """The names that a name of several rows, or of a factor, consists of; [] if it does not."""
    word = word.partition("_by_")[0]
    if word in names:
        return [word]
    pairs = ((n, apart(word[len(n) + 1 :], names)) for n in names if word.startswith(f"{n}_"))
    return next(([n, *rest] for n, rest in pairs if rest), [])


def source(path: str, name: str, **aliases: str) -> Box:
    """A function that was written by hand."""
    return Box(name, cuts.function(path, name), aliases)


def through_weights(**aliases: str) -> tuple[Box, ...]:
    """The gradients of x and of the weights, from those of the gates of all steps."""
    names = "Backward.weight_gradients", "input_gradients", "recurrent_gradient"
    return tuple([source(f"{CPU}/sequence/backward.py", name, **aliases) for name in names])


def written() -> Iterator[tuple[str, Part]]:
    """The parts that are not cells."""
    loops = (cuts.formulas(SEQUENCE, 0), cuts.formulas(SEQUENCE, 1), cuts.formulas(SEQUENCE, 2))
    backward = all_steps(lstm_block, True, dh="dh_prev", **dict.fromkeys(("dz_i", "dz_ci", "dz_f", "dz_o"), "dicfo"))
    sums = through_weights(dx="x_grad", dW="w_grad", dR="w_grad", sums="b_grad")
    yield "block_lstm", Part("all steps forward", loops[0], {"NumPy": (all_steps(lstm_block, False),)})
    yield "block_lstm_grad", Part("all steps backward", loops[1], {"NumPy": (backward, *sums)})
    exchanged = (
        source(SEQUENCE, "_in_gate_order", **{"return": "w b"}),
        source(SEQUENCE, "_sequence_grad", grads="w_grad b_grad"), source(SEQUENCE, "exchange_f_and_ci"),
    )  # fmt: skip
    yield "block_lstm_v2", Part("the order of the gates", loops[2], {"Python": exchanged})
    text = as_text(Writer(lstm.derivation).products())
    columns = {"NumPy": (*through_weights(sums="db"), all_steps(lstm, True, dh="dh_prev"))}
    yield "products", Part("all cells, through the weights", Cut(*location(lstm.function), text), columns)
    for name, block, title, aliases in (
        ("cross_entropy", 0, "forward", {"a": "m"}), ("cross_entropy_grad", 1, "backward", {})
    ):  # fmt: skip
        more = [source(f"{CPU}/losses.py", "_shifted", **{"return": "m"})] * (not block)
        rows = [source(f"{CUDA}/kernels/row_sums.cuh", "row_sums")] * (not block)
        columns = {
            "NumPy": (source(f"{CPU}/losses.py", name, **aliases), *more),
            "CUDA": (source(f"{CUDA}/kernels/losses.cu", name), *rows, source(f"{CUDA}/launch/losses.py", name)),
        }
        yield name, Part(title, cuts.formulas(LOSSES, block), columns)


@cache
def parts() -> dict[str, Part]:
    """All parts by their keys: the name of a cell, and NAME_grad for its backward pass."""
    found = dict(written())
    for family, cells in PAGES.items():
        for cell in cells:
            sequence = family != "gru_block"
            found[cell.__name__] = of_cell(cell, False, sequence)
            found[f"{cell.__name__}_grad"] = of_cell(cell, True, sequence)
    return found
