"""What gradcheck reports: for each input the worst entry and both values."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import inf, isfinite

from minirnn.engine.html import STYLE


class GradcheckError(AssertionError):
    """Raised if a gradient is wrong or the function cannot be checked. The message names the input, the entry and the
    values.
    """


@dataclass(frozen=True)
class InputReport:
    """The findings about the gradient with respect to one input.

    Attributes
    ----------
    name, shape : str, tuple of int
        The input; ``"x, order 2"`` for gradients of gradients.
    checked, wrong : int
        How many entries (or directions) were compared, and how many of them are off.
    directions : bool
        Whether random directions were compared instead of entries.
    index : tuple of int or None
        The worst entry; None where only directions were compared, or nothing.
    analytic, numeric : float
        The gradient there, computed by `backward` and by central differences.
    difference, tolerance : float
        How far apart they are, and how far apart they may be.
    doubt : str
        Why the differences may be wrong rather than the gradient, such as a kink; "" if nothing speaks for it.
    influence : bool
        Whether the input changes any output, or has a gradient that is not 0.
    """

    name: str
    shape: tuple[int, ...]
    checked: int
    wrong: int
    directions: bool
    index: tuple[int, ...] | None
    analytic: float
    numeric: float
    difference: float
    tolerance: float
    doubt: str = ""
    influence: bool = True

    def __str__(self) -> str:
        what = "random directions" if self.directions else "entries"
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return (
            f"gradient of {self.name}, shape {self.shape}: {self.wrong} of {self.checked} {what} are off\n"
            f"  worst {self.name.partition(',')[0]}{at}: backward gives {self.analytic:.12g},"
            f" central differences give {self.numeric:.12g}\n"
            f"  difference {self.difference:.2e}, tolerance {self.tolerance:.2e} (atol + rtol * the larger one)"
            + (f"\n  {self.doubt}" if self.doubt else "")
        )


@dataclass(frozen=True)
class Report:
    """The result of `gradcheck`: true if it passed; ``str(report)`` is a table, a line for each input.

    Attributes
    ----------
    inputs : tuple of InputReport
        One report for each input checked and each order.
    problems : tuple of str
        What makes the function unfit for the check: random draws, changed inputs, inputs without influence, values that
        are not finite.
    """

    inputs: tuple[InputReport, ...]
    problems: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.problems and all(r.wrong == 0 for r in self.inputs)

    @property
    def errors(self) -> dict[str, float]:
        """Input name -> difference of the two gradients where it is worst."""
        return {r.name: r.difference for r in self.inputs}

    @property
    def worst(self) -> InputReport | None:
        """The input whose difference is largest, measured by its tolerance."""
        return max(self.inputs, key=lambda r: ratio(r.difference, r.tolerance), default=None)

    def __str__(self) -> str:
        width = max([5, *(len(r.name) for r in self.inputs)])
        lines = [f"{'input':{width}}  {'shape':14}{'checked':>8}{'off':>6}{'difference':>12}{'tolerance':>11}"]
        for r in self.inputs:
            checked = f"{r.checked} dir" if r.directions else r.checked
            numbers = f"{r.difference:>12.1e}{r.tolerance:>11.1e}"
            lines.append(f"{r.name:{width}}  {r.shape!s:14}{checked:>8}{r.wrong:>6}{numbers}")
        return "\n".join([*lines, *self.problems, "passed" if self else "FAILED"])

    def _repr_html_(self) -> str:
        """A table with a row per input; what is off is red and has its worst entry next to it."""
        titles = ("input", "shape", "checked", "off", "difference", "tolerance", "")
        rows = ["".join(f'<th style="text-align:left">{title}</th>' for title in titles)]
        for r in self.inputs:
            worst = "; ".join([str(r).splitlines()[1].strip(), r.doubt][: 1 + bool(r.doubt)]) if r.wrong else ""
            checked = f"{r.checked} directions" if r.directions else f"{r.checked}"
            cells = (r.name, f"{r.shape}", checked, f"{r.wrong}", f"{r.difference:.1e}", f"{r.tolerance:.1e}", worst)
            color = "color:#c0392b;font-weight:bold;" if r.wrong else ""
            rows.append("".join(f'<td style="{color}text-align:left">{escape(cell)}</td>' for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        said = "".join(f"<p>{escape(problem)}</p>" for problem in self.problems)
        verdict = "passed" if self else "FAILED"
        return f'<div style="{STYLE}"><table>{table}</table>{said}<b>{verdict}</b></div>'


def ratio(difference: float, tolerance: float) -> float:
    """How bad a difference is, to find the worst one; NaN is worst of all."""
    if difference <= tolerance:
        return difference / tolerance if tolerance else 0.0
    return difference / tolerance if tolerance and isfinite(difference) else inf
