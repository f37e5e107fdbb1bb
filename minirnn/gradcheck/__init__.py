"""Checks `backward` against central differences of the function in float64.

``mr.gradcheck(function, inputs)`` calls this package: it is `check.gradcheck`.
"""

from minirnn.gradcheck.check import gradcheck
from minirnn.gradcheck.report import GradcheckError, InputReport, Report
from minirnn.lookup.callable_module import make_callable

__all__ = ["GradcheckError", "InputReport", "Report", "gradcheck"]

make_callable(__name__, gradcheck)
