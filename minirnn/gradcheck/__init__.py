"""gradcheck: does `backward` agree with what the function does? Answered by central differences in float64."""

from minirnn.gradcheck.check import gradcheck
from minirnn.gradcheck.report import GradcheckError, InputReport, Report

__all__ = ["GradcheckError", "InputReport", "Report", "gradcheck"]
