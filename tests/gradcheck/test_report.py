"""What gradcheck reports, to the letter: the worst input, the ratio that decides it, the texts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import inf, nan

import pytest

from minirnn.gradcheck.report import InputReport, Report, ratio


@pytest.mark.parametrize(
    ("difference", "tolerance", "expected"),
    [(1.0, 4.0, 0.25), (6.0, 4.0, 1.5), (4.0, 4.0, 1.0), (0.0, 0.0, 0.0),
     (1.0, 0.0, inf), (nan, 1.0, inf), (inf, 1.0, inf)],
)  # fmt: skip
def test_the_ratio_is_the_difference_measured_by_the_tolerance(
    difference: float, tolerance: float, expected: float
) -> None:
    assert ratio(difference, tolerance) == expected


def entry(name: str, difference: float, tolerance: float, wrong: int = 0, directions: bool = False) -> InputReport:
    return InputReport(
        name, (2, 3), 6, wrong, directions, None if directions else (1, 2), 1.5, 1.25, difference, tolerance
    )


def test_the_worst_input_is_worst_by_its_tolerance_not_by_its_difference() -> None:
    small, large, nothing = entry("small", 0.5, 0.25, 1), entry("large", 3.0, 2.0, 2), entry("nothing", 0.0, 0.0)
    for reports in ((small, large, nothing), (nothing, large, small)):
        assert Report(reports, ()).worst is small
    assert Report((nothing, entry("nan", nan, 1.0, 1), small), ()).worst.name == "nan"  # type: ignore[union-attr]
    assert Report((), ("a problem",)).worst is None


def test_a_report_is_true_if_there_are_no_errors_and_no_problems() -> None:
    assert Report((entry("x", 0.5, 1.0),), ())
    assert not Report((entry("x", 0.5, 1.0), entry("y", 2.0, 1.0, 1)), ())
    assert not Report((entry("x", 0.5, 1.0),), ("a problem",))
    assert not Report((), ("a problem",))
    assert Report((entry("x", 0.5, 1.0), entry("y", 0.25, 1.0)), ()).errors == {"x": 0.5, "y": 0.25}


def test_the_text_of_an_input() -> None:
    assert str(entry("x, order 2", 0.25, 0.125, 1)) == (
        "gradient of x, order 2, shape (2, 3): 1 of 6 entries are off\n"
        "  worst x[1, 2]: backward gives 1.5, central differences give 1.25\n"
        "  difference 2.50e-01, tolerance 1.25e-01 (atol + rtol * the larger one)"
    )
    assert str(entry("x", 0.25, 0.125, 3, directions=True)) == (
        "gradient of x, shape (2, 3): 3 of 6 random directions are off\n"
        "  worst x: backward gives 1.5, central differences give 1.25\n"
        "  difference 2.50e-01, tolerance 1.25e-01 (atol + rtol * the larger one)"
    )
    number = InputReport("n", (), 1, 1, False, (), 1.5, 1.25, 0.25, 0.125)
    assert "worst n: backward" in str(number)


def test_the_table() -> None:
    table = Report((entry("x", 0.25, 0.125, 1), entry("weights", 2e-12, 1e-9, 0, True)), ("it draws",))
    assert str(table).splitlines() == [
        "input    shape          checked   off  difference  tolerance",
        "x        (2, 3)               6     1     2.5e-01    1.2e-01",
        "weights  (2, 3)           6 dir     0     2.0e-12    1.0e-09",
        "it draws",
        "FAILED",
    ]
    assert str(Report((entry("x", 0.25, 0.5),), ())).splitlines() == [
        "input  shape          checked   off  difference  tolerance",
        "x      (2, 3)               6     0     2.5e-01    5.0e-01",
        "passed",
    ]


def test_a_report_cannot_be_changed() -> None:
    report = Report((entry("x", 0.25, 0.5),), ())
    with pytest.raises(FrozenInstanceError):
        report.problems = ("one",)  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        report.inputs[0].wrong = 1  # type: ignore[misc]


def test_a_notebook_shows_a_table_in_which_what_is_off_is_red() -> None:
    html = Report((entry("x<0>", 0.5, 1.0), entry("y", 2.0, 1.0, 1)), ("draws <numbers>",))._repr_html_()
    rows = html.split("<tr>")[2:]
    assert len(rows) == 2 and "x&lt;0&gt;" in rows[0] and "color" not in rows[0]
    assert rows[1].count("color:#c0392b") == 7 and "worst y[1, 2]: backward gives 1.5" in rows[1]
    assert "draws &lt;numbers&gt;" in html and "<b>FAILED</b>" in html
    assert "<b>passed</b>" in Report((entry("x", 0.5, 1.0),), ())._repr_html_()
