"""The tests of all primitive ops, made from `tests/ops/table.py`: each body below runs for each row.

Tests `minirnn/ops/primitives/`, `minirnn/engine/operands.py` and the primitives of every device.
"""

import copy
import inspect
import operator
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import OPTIONAL, PRIMITIVES
from minirnn.devices.cpu.device import CPU
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.declare import DECLARED, OPERATORS, OTHERS
from minirnn.proof import tolerance
from tests.compare import assert_close, assert_same, listed
from tests.ops.row import Call, Corner, Op
from tests.ops.table import OPS, ROWS

FLOATS, WHOLE = ("float64", "float32", "float16"), ("int64", "int8", "uint8", "bool")
ids = {"ids": str}
rows = pytest.mark.parametrize("row", ROWS, **ids)
recorded = pytest.mark.parametrize("row", [row for row in ROWS if row.order], **ids)
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of the references


def drawn(call: Call, rng: np.random.Generator, dtype: Any = "float64") -> list[np.ndarray]:
    return [one.draw(rng, dtype) for one in call.ins()]


def on(device: str, arrays: Any, requires_grad: bool = True) -> list[Tensor]:
    return [mr.tensor(a, requires_grad and a.dtype.kind == "f", device) for a in arrays]


def run(row: Op, call: Call, values: Any) -> list[Any]:
    args, kwargs = call.given(values)
    return listed(row.function(*args, **kwargs))


def expected(row: Op, call: Call, arrays: Any) -> list[np.ndarray]:
    """The values of the reference: for floats those of float64."""
    args, kwargs = call.given([a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays])
    with np.errstate(all="ignore"):
        found = row.numpy(*args, **kwargs)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else [found])]


def compare(row: Op, got: list[Any], want: list[np.ndarray], what: str) -> None:
    """Values against exact ones, within the roundings of the row, relative to the largest value."""
    assert len(got) == len(want), what
    for k, (y, e) in enumerate(zip(got, want, strict=True)):
        if y.dtype.kind != "f" or not row.roundings:
            assert_close(y, e.astype(y.dtype), 0.0, "exact", what=f"{what}: {k}")
            continue
        found = tolerance.of(
            y.dtype.name, tolerance.Count(2 * row.roundings, f"2 * {row.roundings}", row.roundings, "R")
        )
        scale = max(1.0, float(np.max(np.abs(e[np.isfinite(e)]), initial=1.0)))
        assert_close(y.numpy().astype("f8") / scale, e / scale, found.value, found.reason, what=f"{what}: {k}")


def weighted(ys: list[Any], seed: int = 0) -> Any:
    """A sum of the outputs that are floats, nonlinear in them, so that second derivatives include those of the op."""
    rng = np.random.default_rng(seed)
    parts = [(y * y + y) * rng.uniform(0.5, 1.5, y.shape).astype(y.dtype) for y in ys if y.requires_grad]
    return sum(p.sum() for p in parts[1:]) + parts[0].sum() if parts else None


def gradients(ys: list[Any], xs: list[Any]) -> list[Any]:
    leaves = [x for x in xs if x.requires_grad]
    total = weighted(ys)
    return list(mr.grad(total, leaves)) if total is not None else [None] * len(leaves)


# ---- values and derivatives


@quiet
@rows
def test_values_are_numpys(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        for dtype in FLOATS if "f" in row.dtypes else ():
            arrays = drawn(call, rng, dtype)
            floats = any(a.dtype.kind == "f" for a in arrays)
            want = expected(row, call, arrays)
            got = run(row, call, on("cpu", arrays))
            for y, e in zip(got, want, strict=True):
                kind = (call.asked() or np.dtype(dtype)) if e.dtype.kind == "f" else e.dtype
                assert y.dtype == kind, f"{row} of {dtype}, {call}: dtype {y.dtype}, expected {kind}"
                assert y.requires_grad == bool(row.order and y.dtype.kind == "f" and floats)
            compare(row, got, want, f"{row}({call}) of {dtype}")
            if floats and not call.asked():
                with mr.no_grad():
                    assert not any(y.requires_grad for y in run(row, call, on("cpu", arrays)))


@quiet
@rows
def test_integers_and_bools_have_their_values_and_dtype_or_are_refused(row: Op, rng: np.random.Generator) -> None:
    for dtype in WHOLE:
        kind = np.dtype(dtype).kind.replace("u", "i")
        for call in row.calls:
            arrays = drawn(call, rng, dtype)
            if kind not in row.dtypes:
                if "?" not in row.dtypes:
                    with pytest.raises(TypeError, match=f"{dtype}.*\n  expected"):
                        run(row, call, on("cpu", arrays))
                break
            if not any(a.dtype == dtype for a in arrays) or any(isinstance(v, float) for v in call.args):
                continue
            whole = row.whole if call.asked() is None else "float64"
            want = expected(
                row, call, arrays if whole == "numpy" else [a.astype(whole.replace("32", "64")) for a in arrays]
            )
            for y, e in zip(run(row, call, on("cpu", arrays)), want, strict=True):
                assert y.dtype == (e.dtype if whole == "numpy" else call.asked() or whole), (row.name, dtype, str(call))
                if y.dtype.kind == "f":
                    assert_close(y, e.astype(y.dtype), 1e-5, "float32", what=f"{row}({call}) of {dtype}")
                else:
                    assert_close(y, e, what=f"{row}({call}) of {dtype}")


@quiet
@recorded
def test_derivatives_are_those_of_differences(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        arrays = drawn(call, rng)
        floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]
        if (
            not floats
            or not 0 < max(a.size for a in arrays) <= 200  # larger ones are for the threads of a GPU
            or call.asked()
            or not any(e.size for e in expected(row, call, arrays))
        ):
            continue

        def function(*xs: Any, call: Call = call, arrays: Any = arrays, floats: Any = floats) -> Any:
            values = list(arrays)
            for k, x in zip(floats, xs, strict=True):
                values[k] = x
            ys = [y for y in run(row, call, values) if y.dtype.kind == "f"]
            return [y * y + y for y in ys]

        try:
            mr.gradcheck(function, [arrays[k] for k in floats], order=max(row.order, 1), max_entries=12, directions=3)
        except AssertionError as error:
            error.add_note(f"{row}({call})")
            raise


@quiet
@recorded
def test_float32_and_float16_have_the_gradients_of_float64(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        for dtype in ("float32", "float16"):
            arrays = drawn(call, rng, dtype)
            xs, wide = on("cpu", arrays), on("cpu", [a.astype("f8") if a.dtype.kind == "f" else a for a in arrays])
            want, got = (mr.grad(ones(run(row, call, ts)), [t for t in ts if t.requires_grad]) for ts in (wide, xs))
            for k, (g, e) in enumerate(zip(got, want, strict=True)):
                assert g.dtype == dtype and g.shape == e.shape
                scale = max(1.0, float(np.max(np.abs(e.numpy()), initial=0)))
                count = tolerance.Count(8 * max(row.roundings, 2) + 8 * e.size, "8 R + 8 V", 16, "16")
                found = tolerance.of(dtype, count)
                assert_close(
                    g.numpy() / g.dtype.type(scale),
                    e.numpy() / scale,
                    found.value,
                    found.reason,
                    what=f"{row}({call}) of {dtype}: {k}",
                )


def ones(ys: list[Any]) -> Any:
    return sum((y.sum(dtype=np.float64) for y in ys if y.requires_grad), mr.tensor(0.0, dtype="f8"))


@quiet
@recorded
def test_each_input_alone_has_the_gradient_that_it_has_among_all(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        arrays = drawn(call, rng)
        xs = on("cpu", arrays)
        if not any(x.requires_grad for x in xs):
            continue
        every = gradients(run(row, call, xs), xs)
        xs = on("cpu", arrays)
        leaves = [x for x in xs if x.requires_grad]
        for g, e in zip(mr.grad(weighted(run(row, call, xs)), leaves, create_graph=True), every, strict=True):
            assert_close(g, e, 1e-13, "the same products in another order", what=f"{row}({call}), recorded")
        for k in range(len(xs)) if len(leaves) > 1 else ():
            one = [mr.tensor(a, j == k and a.dtype.kind == "f") for j, a in enumerate(arrays)]
            ys = run(row, call, one)
            for g in gradients(ys, one):
                assert_close(
                    g, every[[x is xs[k] for x in leaves].index(True)], 1e-13, what=f"{row}({call}), input {k}"
                )
            if row.name == "matmul":  # computes only the gradient that is needed
                (y,) = run(row, call, one)
                parts = y.op.backward(mr.tensor(np.ones(y.shape)), y, *y.parents)
                assert [part is not None for part in parts] == [p.requires_grad for p in y.parents]


@quiet
@rows
def test_inputs_of_size_0(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        for size in sorted({n for one in call.ins() for n in one.shape} - {1}):
            empty = call.without(size)
            arrays = drawn(empty, rng)
            try:
                want = expected(row, empty, arrays)
            except (ValueError, IndexError, ZeroDivisionError, TypeError):
                continue
            xs = on("cpu", arrays)
            try:
                ys = run(row, empty, xs)
            except ValueError as error:
                assert "expected" in str(error)
                continue
            assert [y.shape for y in ys] == [e.shape for e in want], f"{row}({empty})"
            compare(row, ys, want, f"{row}({empty})")
            for g, x in zip(gradients(ys, xs), [x for x in xs if x.requires_grad], strict=True):
                assert g is None or g.shape == x.shape


def is_input(a: Any) -> bool:
    """Whether an argument of a corner is an input: an array, or a list of floats."""
    return isinstance(a, np.ndarray) or isinstance(a, list) and np.asarray(a).dtype.kind == "f"


@quiet
@pytest.mark.parametrize(("row", "k"), [(row, k) for row in ROWS for k in range(len(row.corners))], **ids)
def test_corners(device: str, row: Op, k: int) -> None:
    one: Corner = row.corners[k]
    xs = [
        mr.tensor(a, np.asarray(a).dtype.kind == "f", device, dtype=np.asarray(a).dtype) if is_input(a) else a
        for a in one.args
    ]
    ys = listed(row.function(*xs))
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    for y, e in zip(ys, values, strict=True):
        assert_close(y, np.asarray(e), 1e-12, "by hand", what=f"{row} of {one.args}")
        assert y.dtype == e.dtype if isinstance(e, np.ndarray) and e.dtype.kind in "fi" else True
        minus = np.signbit(e) & (np.asarray(e) == 0)
        assert np.signbit(y.numpy())[minus].all()
    if one.gradients:
        leaves = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        for g, e in zip(mr.grad(ys[0], leaves[: len(one.gradients)], np.ones(ys[0].shape)), one.gradients, strict=True):
            assert_close(g, np.asarray(e), 1e-12, "by hand", what=f"gradient of {row} of {one.args}")


# ---- layouts and devices


def laid_out(a: np.ndarray, device: str, how: str) -> tuple[Tensor, Tensor]:
    """(a leaf, the same values as `a` as a view of it)."""
    if how == "reversed axes":
        base = mr.tensor(np.ascontiguousarray(a.T), a.dtype.kind == "f", device)
        return base, base.transpose()
    if how == "every second, backwards":
        wide = np.repeat(a[::-1], 2, 0)
        base = mr.tensor(wide, a.dtype.kind == "f", device)
        return base, base[::-2]
    base = mr.tensor(np.stack([a, a], -1), a.dtype.kind == "f", device)
    return base, base[..., 1]


LAYOUTS = ("reversed axes", "every second, backwards", "a column")


@quiet
@rows
def test_any_layout_gives_the_values_and_gradients_of_contiguous_inputs(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls:
        arrays = drawn(call, rng, row.plain)
        if any(not a.ndim or not a.size for a in arrays):
            continue
        check_layouts(row, call, arrays, "cpu", LAYOUTS)
        fortran = run(row, call, [np.asfortranarray(a) for a in arrays])
        for y, e in zip(fortran, run(row, call, arrays), strict=True):
            assert_close(y, e, 1e-13, "the same sums in another order")


def check_layouts(row: Op, call: Call, arrays: list[np.ndarray], device: str, layouts: Any) -> None:
    xs = on(device, arrays)
    ys = run(row, call, xs)
    want = gradients(ys, xs)
    for how in layouts:
        made = [laid_out(a, device, how) for a in arrays]
        got = run(row, call, [view for _, view in made])
        for y, e in zip(got, ys, strict=True):
            assert_close(y, e, 1e-13, "the same sums in another order", what=f"{row}({call}), {how}")
        bases = [base for base, _ in made]
        for g, e, k in zip(gradients(got, bases), want, [k for k, x in enumerate(xs) if x.requires_grad], strict=True):
            if g is None:
                continue
            total = {"reversed axes": lambda g: g.T, "a column": lambda g: g[..., 1]}.get(how, lambda g: g[::-2])(
                g.numpy()
            )
            assert_close(total, e, 1e-13, what=f"{row}({call}), {how}, gradient {k}")


@quiet
@rows
def test_every_device_computes_what_the_cpu_computes(device: str, row: Op, rng: np.random.Generator) -> None:
    if device == "cpu":
        return
    for number, call in enumerate(row.calls):
        for dtype in ("float64", "float32", "float16", "int64", "uint8", "bool") if not number else ("float64",):
            if np.dtype(dtype).kind.replace("u", "i") not in row.dtypes:
                continue
            arrays = drawn(call, rng, dtype)
            there, here = on(device, arrays), on("cpu", arrays)
            got, want = run(row, call, there), run(row, call, here)
            for y, e in zip(got, want, strict=True):
                assert y.device == device and y.dtype == e.dtype, f"{row} of {dtype}, {call}"
            if dtype == "float64":
                for k, (g, e) in enumerate(zip(gradients(got, there), gradients(want, here), strict=True)):
                    assert g is None or g.device == device
                    if g is not None:
                        assert_close(g, e, 1e-10, "float64", what=f"{row}({call}): gradient {k} on {device}")
            compare(row, got, [e.numpy() for e in want], f"{row}({call}) of {dtype} on {device}")
            if not number and dtype == "float64" and all(a.ndim and a.size for a in arrays):
                check_layouts(row, call, arrays, device, LAYOUTS[:2])


# ---- the ways to call an op


def code_of(function: Any) -> Any:
    """The code of an op, which its synonyms have as well."""
    return getattr(inspect.unwrap(function), "__code__", None)


@quiet
@rows
def test_the_op_has_its_names_methods_operator_and_arguments(row: Op, rng: np.random.Generator) -> None:
    function, first = row.function, row.calls[0]
    for name in row.names.split():
        assert code_of(getattr(ops, name, None)) is code_of(function) or name in vars(Tensor)
    for call in row.calls:
        arrays = drawn(call, rng, row.plain)
        args, kwargs = call.given(on("cpu", arrays))
        want = listed(function(*args, **kwargs))

        def same(found: Any, how: str, want: Any = want, call: Call = call) -> None:
            for y, e in zip(listed(found), want, strict=True):
                assert_same(y, e.numpy(), f"{row}({call}), {how}")

        for name in [f for f, g in vars(Tensor).items() if g is function or f in row.names.split()]:
            if isinstance(args[0], Tensor):
                same(getattr(args[0], name)(*args[1:], **kwargs), f"method {name}")
        parameters = inspect.signature(function).parameters
        plain = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if len(args) <= len(plain):
            named = {p.name: a for p, a in zip(plain, args, strict=False)} | kwargs
            same(function(**named), "by names")
            theirs = {"axis": "dim", "keepdims": "keepdim"}
            renamed = {theirs[n] if theirs.get(n) in parameters else n: a for n, a in named.items()}
            if row.name not in ("max", "min") and named.get("axis") != ():  # torch's dim=() means all axes
                same(function(**renamed), "by torch's names")
        if row.sign in OPERATORS and len(args) == 2:
            f = getattr(operator, {"and": "and_", "or": "or_"}.get(OPERATORS[row.sign], OPERATORS[row.sign]))
            a, b = args
            same(f(a, b), row.sign)
            raw = b.numpy() if isinstance(b, Tensor) else b
            if isinstance(b, Tensor) and a.shape and b.shape:
                same(f(a, raw), f"{row.sign} an array")
                same(f(a.numpy(), b), f"an array {row.sign}")
        elif row.sign:
            same(getattr(args[0], f"__{OTHERS[row.sign]}__")(*args[1:]), row.sign)
    assert first is not None


@quiet
@rows
def test_results_are_copied_and_inputs_are_left_alone(row: Op, rng: np.random.Generator) -> None:
    for call in row.calls[:4]:
        arrays = drawn(call, rng, row.plain)
        before = [a.copy() for a in arrays]
        for a in arrays:
            a.flags.writeable = False
        xs = on("cpu", arrays)
        found = row.function(*call.given(xs)[0], **call.given(xs)[1])
        back = pickle.loads(pickle.dumps(found))
        assert type(back) is type(found)
        for y, z in zip(listed(found), listed(back), strict=True):
            assert_same(z, y.numpy())
            assert z.is_leaf and z.requires_grad == y.requires_grad
        plain = copy.deepcopy(run(row, call, on("cpu", arrays, False)))
        for y, z in zip(listed(found), plain, strict=True):
            assert_same(z, y.numpy())
        gradients(listed(found), xs)
        for x, a, b in zip(xs, arrays, before, strict=True):
            assert_same(x, b)
            assert_same(a, b)


@quiet
@pytest.mark.parametrize("row", [row for row in ROWS if hasattr(Tensor, f"{row.name}_")], **ids)
def test_in_place_writes_what_the_op_computes(row: Op, rng: np.random.Generator) -> None:
    done = 0
    for call in row.calls:
        arrays = drawn(call, rng, row.plain)
        xs, us = on("cpu", arrays), on("cpu", arrays)
        ys = run(row, call, xs)
        args, kwargs = call.given([u * 1 if k == 0 else u for k, u in enumerate(us)])
        target = args[0]
        if len(ys) > 1 or ys[0].shape != target.shape:
            if row.name not in TURNED:
                with pytest.raises((ValueError, TypeError), match=f"{row.name}_"):
                    getattr(target, f"{row.name}_")(*args[1:], **kwargs)
            continue
        out = getattr(target, f"{row.name}_")(*args[1:], **kwargs)
        assert out is target
        assert_same(target, ys[0].numpy().astype(target.dtype), f"{row}_({call})")
        if ys[0].requires_grad:
            for g, e in zip(gradients([target], us), gradients(ys, xs), strict=True):
                assert_close(g, e, 1e-13, what=f"gradient of {row}_({call})")
        done += 1
    assert done or row.name in TURNED


TURNED = {"squeeze", "unsqueeze", "t", "transpose", "swapaxes"}


# ---- the declarations


class Watched(CPU):
    """A device that records which of its primitives are used."""

    name = "watched"
    asked: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in PRIMITIVES or name in OPTIONAL:
            Watched.asked.add(name)
        return super().__getattribute__(name)


def declared(function: Any) -> tuple[set[Any], set[str]]:
    """The nodes and the primitives of an op and of those that it calls."""
    nodes, uses, calls = DECLARED[function]
    found = [declared(getattr(ops, name)) for name in calls]
    return set(nodes).union(*(n for n, _ in found)), set(uses).union(*(u for _, u in found))


@quiet
@rows
def test_a_declaration_is_true(row: Op, rng: np.random.Generator) -> None:
    nodes, known = declared(row.function)
    device = Watched()
    call = row.calls[0]
    arrays = drawn(call, rng, "float32" if "f" in row.dtypes else "bool")
    xs = [leaf(device, a if a.ndim else a[()], requires_grad=a.dtype.kind == "f") for a in arrays]
    Watched.asked.clear()
    y = run(row, call, xs)[0]
    asked = Watched.asked - {"full"}
    assert asked <= {*known, "cast", "reshape", "transpose", "to_numpy", "asarray"}
    assert asked & known or not known
    made_by = y.op
    if made_by is not None and made_by.name not in ("Output", "Reshape") and DECLARED[row.function].nodes:
        assert type(made_by) in nodes
    assert (made_by is not None) == bool(row.order and any(x.requires_grad for x in xs))


def test_every_primitive_op_has_a_row() -> None:
    declared = {f for f in DECLARED if f.__module__.startswith("minirnn.ops.primitives")}
    declared = {f.__name__ for f in declared if code_of(f).co_name == f.__name__}  # without synonyms
    assert declared == set(OPS) and len(OPS) == len(ROWS)
