"""What gradcheck reports, to the letter: the worst input, the ratio that decides it, the texts."""

from math import inf, nan

from minirnn.gradcheck.report import InputReport, Report, ratio
from tests.each import each


@each(
    ("difference", "tolerance", "expected"),
    [(1.0, 4.0, 0.25), (6.0, 4.0, 1.5), (4.0, 4.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, inf), (nan, 1.0, inf),
     (inf, 1.0, inf)],
)  # fmt: skip
def test_the_ratio_is_the_difference_measured_by_the_tolerance(
    difference: float, tolerance: float, expected: float
) -> None:
    assert ratio(difference, tolerance) == expected


def entry(name: str, difference: float, tolerance: float, wrong: int = 0, directions: bool = False) -> InputReport:
    index = None if directions else (1, 2)
    return InputReport(name, (2, 3), 6, wrong, directions, index, 1.5, 1.25, difference, tolerance)


X, Y = entry("x", 0.5, 1.0), entry("y", 2.0, 1.0, 1)


def test_the_worst_input_is_worst_by_its_tolerance_and_a_report_is_true_without_errors_and_problems() -> None:
    small, large, nothing = entry("small", 0.5, 0.25, 1), entry("large", 3.0, 2.0, 2), entry("nothing", 0.0, 0.0)
    for reports in ((small, large, nothing), (nothing, large, small)):
        assert Report(reports, ()).worst is small
    nans = Report((nothing, entry("nan", nan, 1.0, 1), small), ()).worst
    assert nans is not None and nans.name == "nan" and Report((), ("a problem",)).worst is None
    reports = [Report((X,), ()), Report((X, Y), ()), Report((X,), ("a problem",)), Report((), ("a problem",))]
    assert [bool(r) for r in reports] == [True, False, False, False]
    assert reports[1].errors == {"x": 0.5, "y": 2.0}


LAST = "  difference 2.50e-01, tolerance 1.25e-01 (atol + rtol * the larger one)"
VALUES = "backward gives 1.5, central differences give 1.25"


def test_the_texts() -> None:
    assert str(entry("x, order 2", 0.25, 0.125, 1)) == (
        f"gradient of x, order 2, shape (2, 3): 1 of 6 entries are off\n  worst x[1, 2]: {VALUES}\n{LAST}"
    )
    assert str(entry("x", 0.25, 0.125, 3, directions=True)) == (
        f"gradient of x, shape (2, 3): 3 of 6 random directions are off\n  worst x: {VALUES}\n{LAST}"
    )
    assert "worst n: backward" in str(InputReport("n", (), 1, 1, False, (), 1.5, 1.25, 0.25, 0.125))
    table = Report((entry("x", 0.25, 0.125, 1), entry("weights", 2e-12, 1e-9, 0, True)), ("it draws",))
    assert str(table).splitlines() == [
        "input    shape          checked   off  difference  tolerance",
        "x        (2, 3)               6     1     2.5e-01    1.2e-01",
        "weights  (2, 3)           6 dir     0     2.0e-12    1.0e-09",
        "it draws",
        "FAILED",
    ]
    assert str(Report((X,), ())).splitlines()[-1] == "passed"
    html = Report((entry("x<0>", 0.5, 1.0), Y), ("draws <numbers>",))._repr_html_()
    rows = html.split("<tr>")[2:]
    assert len(rows) == 2 and "x&lt;0&gt;" in rows[0] and "color" not in rows[0]
    assert rows[1].count("color:#c0392b") == 7 and "worst y[1, 2]: backward gives 1.5" in rows[1]
    assert "draws &lt;numbers&gt;" in html and "<b>FAILED</b>" in html
    assert "<b>passed</b>" in Report((X,), ())._repr_html_()
