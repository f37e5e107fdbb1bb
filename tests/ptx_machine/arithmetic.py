"""Instructions that work only on registers, as C++ statements.

Source: PTX ISA, chapter "Instruction Set". ``approx`` instructions are computed as exactly as the host can: their last
bits differ from a GPU's.
"""

from collections.abc import Callable

from tests.ptx_machine.operands import Operands, bits, c_type
from tests.ptx_machine.parse import SIZES, NotUnderstood, split

SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
COMPARISONS = {
    name: sign
    for sign, names in {
        "==": "eq equ", "!=": "ne neu", "<": "lt ltu lo", "<=": "le leu ls", ">": "gt gtu hi", ">=": "ge geu hs",
    }.items()
    for name in names.split()
}  # fmt: skip
FUNCTIONS = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh", "sqrt": "sqrt"}
TO_WHOLE = {"rni": "nearest_even", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


class Arithmetic:
    """Translates one instruction after the other.

    Parameters
    ----------
    operands : Operands
        The operands of the function.
    """

    def __init__(self, operands: Operands) -> None:
        self.operands = operands
        self.value, self.set = operands.value, operands.set

    def knows(self, name: str) -> bool:
        return self._method(name) is not None

    def translate(self, op: str, args: list[str]) -> str:
        """``op`` such as ``add.rn.f32``. Raises `NotUnderstood`."""
        parts = op.split(".")
        method = self._method(parts[0])
        assert method is not None
        return method(parts, args)

    def _method(self, name: str) -> Callable[[list[str], list[str]], str] | None:
        if name in SIGNS:
            return self._sign
        if name in FUNCTIONS:
            return self._function
        found: Callable[[list[str], list[str]], str] | None = getattr(self, f"_{name}", None)
        return found if name.isalnum() and name not in ("sign", "function", "method") else None

    # ---- sums, products

    def _sign(self, parts: list[str], a: list[str]) -> str:
        name, kind = parts[0], parts[-1]
        if kind == "f16x2":
            return self._pair(parts, a)
        if name == "mul" and kind[0] != "f":
            return self._product(parts, a)
        if "cc" in parts:
            return self._carry(name, kind, a, with_carry=False)
        if kind[0] == "f":
            return self._float_sum(parts, a)
        kind = kind if kind == "pred" else f"u{bits(kind)}"
        return self.set(a[0], kind, f"{self.value(a[1], kind)} {SIGNS[name]} {self.value(a[2], kind)}")

    def _float_sum(self, parts: list[str], a: list[str]) -> str:
        kind, (x, y) = parts[-1], (self.value(o, parts[-1]) for o in a[1:3])
        if "rm" in parts or "rz" in parts:
            if parts[0] == "mul" or kind != "f32":
                raise NotUnderstood(".".join(parts))
            return self.set(a[0], kind, f"{'sum_down' if 'rm' in parts else 'sum_to_zero'}({x}, {y})")
        if "rp" in parts:
            raise NotUnderstood(".".join(parts))
        return self.set(a[0], kind, self._after(parts, f"{x} {SIGNS[parts[0]]} {y}"))

    def _after(self, parts: list[str], value: str) -> str:
        kind = parts[-1]
        if "sat" in parts:
            value = f"saturated<{kind}>({value})"
        return f"flushed<{kind}>({value})" if "ftz" in parts else value

    def _product(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        if parts[1] == "wide":
            wide = f"{kind[0]}{2 * bits(kind)}"
            return self.set(a[0], wide, f"({c_type(wide)}){self.value(a[1], kind)} * {self.value(a[2], kind)}")
        if parts[1] == "hi":
            return self.set(a[0], kind, f"high_product({self.value(a[1], kind)}, {self.value(a[2], kind)})")
        same = f"u{bits(kind)}"
        return self.set(a[0], same, f"(u64){self.value(a[1], same)} * (u64){self.value(a[2], same)}")

    def _fma(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        if kind == "f16x2":
            return self._pair(parts, a)
        x, y, z = (self.value(o, kind) for o in a[1:4])
        if "rz" in parts or "rp" in parts or ("rm" in parts and kind != "f32"):
            raise NotUnderstood(".".join(parts))
        return self.set(a[0], kind, self._after(parts, f"{'fused_down' if 'rm' in parts else 'fused'}({x}, {y}, {z})"))

    def _mad(self, parts: list[str], a: list[str]) -> str:
        if "cc" in parts:
            return self._carry_product(parts, a, with_carry=False)
        kind = parts[-1]
        if kind[0] == "f":
            return self._fma(parts, a)
        if parts[1] == "wide":
            wide = f"{kind[0]}{2 * bits(kind)}"
            product = f"({c_type(wide)}){self.value(a[1], kind)} * {self.value(a[2], kind)}"
            return self.set(a[0], wide, f"{product} + {self.value(a[3], wide)}")
        same = f"u{bits(kind)}"
        if parts[1] == "hi":
            product = f"({same})high_product({self.value(a[1], kind)}, {self.value(a[2], kind)})"
        else:
            product = f"(u64){self.value(a[1], same)} * (u64){self.value(a[2], same)}"
        return self.set(a[0], same, f"{product} + {self.value(a[3], same)}")

    # ---- sums that set and add a carry, of 32 bits

    def _addc(self, parts: list[str], a: list[str]) -> str:
        return self._carry("add", parts[-1], a, with_carry=True)

    def _subc(self, parts: list[str], a: list[str]) -> str:
        return self._carry("sub", parts[-1], a, with_carry=True)

    def _carry(self, name: str, kind: str, a: list[str], with_carry: bool) -> str:
        if bits(kind) != 32:
            raise NotUnderstood(f"{name} with carry of {kind}")
        x, y = (f"(u64){self.value(o, 'u32')}" for o in a[1:3])
        sum_ = f"{x} {SIGNS[name]} {y} {SIGNS[name]} {'carry' if with_carry else 0}"
        return f"{{ const u64 sum_ = {sum_}; {self.set(a[0], 'u32', 'sum_')} carry = sum_ >> 32 & 1; }}"

    def _madc(self, parts: list[str], a: list[str]) -> str:
        return self._carry_product(parts, a, with_carry=True)

    def _carry_product(self, parts: list[str], a: list[str], with_carry: bool) -> str:
        if parts[-1] != "u32":
            raise NotUnderstood(".".join(parts))
        product = f"(u64){self.value(a[1], 'u32')} * {self.value(a[2], 'u32')}"
        part = f"(u32)(({product}){' >> 32' if parts[1] == 'hi' else ''})"
        sum_ = f"(u64){part} + {self.value(a[3], 'u32')} + {'carry' if with_carry else 0}"
        keeps = "carry = sum_ >> 32 & 1; " if "cc" in parts else ""
        return f"{{ const u64 sum_ = {sum_}; {self.set(a[0], 'u32', 'sum_')} {keeps}}}"

    # ---- one operand, quotients, extremes

    def _neg(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        if kind == "f16x2":
            return self.set(a[0], "u32", f"{self.value(a[1], 'u32')} ^ 0x80008000u")
        if kind[0] == "f":
            top = f"u{bits(kind)}"
            return self.set(a[0], top, f"{self.value(a[1], top)} ^ ({top})1 << {bits(kind) - 1}")
        return self.set(a[0], kind, f"0 - (u64){self.value(a[1], kind)}")

    def _abs(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        if kind == "f16x2":
            return self.set(a[0], "u32", f"{self.value(a[1], 'u32')} & 0x7fff7fffu")
        if kind[0] == "f":
            top = f"u{bits(kind)}"
            return self.set(a[0], top, f"{self.value(a[1], top)} & ~(({top})1 << {bits(kind) - 1})")
        x = self.value(a[1], kind)
        return self.set(a[0], kind, f"{x} < 0 ? 0 - (u64){x} : (u64){x}")

    def _not(self, parts: list[str], a: list[str]) -> str:
        sign = "!" if parts[-1] == "pred" else "~"
        return self.set(a[0], parts[-1], f"{sign}{self.value(a[1], parts[-1])}")

    def _cnot(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], parts[-1], f"{self.value(a[1], parts[-1])} == 0")

    def _div(self, parts: list[str], a: list[str]) -> str:
        kind, (x, y) = parts[-1], (self.value(o, parts[-1]) for o in a[1:3])
        return self.set(a[0], kind, self._after(parts, f"{x} / {y}") if kind[0] == "f" else f"quotient({x}, {y})")

    def _rem(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        return self.set(a[0], kind, f"remainder_of({self.value(a[1], kind)}, {self.value(a[2], kind)})")

    def _min(self, parts: list[str], a: list[str]) -> str:
        return self._extreme(parts, a, "smaller")

    def _max(self, parts: list[str], a: list[str]) -> str:
        return self._extreme(parts, a, "larger")

    def _extreme(self, parts: list[str], a: list[str], which: str) -> str:
        kind, (x, y) = parts[-1], (self.value(o, parts[-1]) for o in a[1:3])
        if kind[0] != "f":
            return self.set(a[0], kind, f"{x} {'<' if which == 'smaller' else '>'} {y} ? {x} : {y}")
        if kind == "f16x2":
            return self._pair(parts, a)
        return self.set(a[0], kind, f"{which}{'_or_nan' if 'NaN' in parts else ''}<{kind}>({x}, {y})")

    def _function(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        x = f"flushed<{kind}>({self.value(a[1], kind)})" if "ftz" in parts else self.value(a[1], kind)
        return self.set(a[0], kind, self._after(parts, f"({kind}){FUNCTIONS[parts[0]]}((f64){x})"))

    def _rcp(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        x = f"flushed<{kind}>({self.value(a[1], kind)})" if "ftz" in parts else self.value(a[1], kind)
        if parts[1:] == ["approx", "ftz", "f64"]:  # only of the upper half of the bits
            x = f"to_f64(bits_of({x}) & 0xffffffff00000000ull)"
            return self.set(a[0], kind, f"to_f64(bits_of(({kind})1 / {x}) & 0xffffffff00000000ull)")
        return self.set(a[0], kind, self._after(parts, f"({kind})1 / {x}"))

    def _rsqrt(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1]
        return self.set(a[0], kind, self._after(parts, f"({kind})(1 / sqrt((f64){self.value(a[1], kind)}))"))

    def _copysign(self, parts: list[str], a: list[str]) -> str:
        sign, size = (self.value(o, f"u{bits(parts[-1])}") for o in a[1:3])
        top = f"((u{bits(parts[-1])})1 << {bits(parts[-1]) - 1})"
        return self.set(a[0], f"u{bits(parts[-1])}", f"({size} & ~{top}) | ({sign} & {top})")

    def _pair(self, parts: list[str], a: list[str]) -> str:
        """Two float16 in a register: the instruction on each."""
        halves = []
        for shift in (0, 16):
            x = [f"to_f16({self.value(o, 'u32')} >> {shift})" for o in a[1:]]
            result = {
                "fma": "fused({0}, {1}, {2})", "min": "smaller<f16>({0}, {1})", "max": "larger<f16>({0}, {1})",
            }.get(parts[0]) or f"(f16)({{0}} {SIGNS[parts[0]]} {{1}})"  # fmt: skip
            halves.append(f"(u32)bits_of({result.format(*x)}) << {shift}")
        return self.set(a[0], "u32", " | ".join(halves))

    # ---- bits

    def _shl(self, parts: list[str], a: list[str]) -> str:
        kind = f"u{bits(parts[-1])}"
        return self.set(a[0], kind, f"shifted_left<{kind}>({self.value(a[1], kind)}, {self.value(a[2], 'u32')})")

    def _shr(self, parts: list[str], a: list[str]) -> str:
        kind = c_type(parts[-1])
        return self.set(
            a[0], parts[-1], f"shifted_right<{kind}>({self.value(a[1], parts[-1])}, {self.value(a[2], 'u32')})"
        )

    def _shf(self, parts: list[str], a: list[str]) -> str:
        low, high, n = (self.value(o, "u32") for o in a[1:4])
        n = f"({n} & 31)" if parts[2] == "wrap" else f"({n} < 32 ? {n} : 32)"
        return self.set(a[0], "u32", f"funnel_{'left' if parts[1] == 'l' else 'right'}({low}, {high}, {n})")

    def _bfi(self, parts: list[str], a: list[str]) -> str:
        kind = f"u{bits(parts[-1])}"
        x, y = (self.value(o, kind) for o in a[1:3])
        at, count = (self.value(o, "u32") for o in a[3:5])
        return self.set(a[0], kind, f"inserted({x}, {y}, {at}, {count}, {bits(kind)})")

    def _bfe(self, parts: list[str], a: list[str]) -> str:
        at, count = (self.value(o, "u32") for o in a[2:4])
        return self.set(
            a[0], parts[-1], f"extracted<{c_type(parts[-1])}>({self.value(a[1], parts[-1])}, {at}, {count})"
        )

    def _popc(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], "u32", f"__builtin_popcountll({self.value(a[1], f'u{bits(parts[-1])}')})")

    def _clz(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], "u32", f"zeros_before({self.value(a[1], f'u{bits(parts[-1])}')})")

    def _brev(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], "u32", f"reversed({self.value(a[1], 'u32')})")

    def _bfind(self, parts: list[str], a: list[str]) -> str:
        if parts[-1] not in ("u32", "b32"):
            raise NotUnderstood(".".join(parts))
        shift = str("shiftamt" in parts).lower()
        return self.set(a[0], "u32", f"highest_bit({self.value(a[1], 'u32')}, {shift})")

    def _prmt(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], "u32", "permuted({}, {}, {})".format(*(self.value(o, "u32") for o in a[1:4])))

    def _lop3(self, parts: list[str], a: list[str]) -> str:
        return self.set(a[0], "u32", "looked_up({}, {}, {}, {})".format(*(self.value(o, "u32") for o in a[1:5])))

    # ---- moves, choices, conversions

    def _mov(self, parts: list[str], a: list[str]) -> str:
        kind = parts[-1] if parts[-1] == "pred" else f"u{bits(parts[-1])}"
        for side in (0, 1):
            if a[side].startswith("{"):
                pieces = split(a[side][1:-1])
                part = f"u{bits(kind) // len(pieces)}"
                if side:
                    values = [f"({kind}){self.value(o, part)} << {k * bits(part)}" for k, o in enumerate(pieces)]
                    return self.set(a[0], kind, " | ".join(values))
                whole = f"const {kind} whole = {self.value(a[1], kind)};"
                return f"{{ {whole} " + " ".join(
                    self.set(o, part, f"whole >> {k * bits(part)}") for k, o in enumerate(pieces)
                ) + " }"  # fmt: skip
        return self.set(a[0], kind, self.value(a[1], kind))

    def _selp(self, parts: list[str], a: list[str]) -> str:
        kind = f"u{bits(parts[-1])}"
        return self.set(a[0], kind, f"{self.value(a[3], 'pred')} ? {self.value(a[1], kind)} : {self.value(a[2], kind)}")

    def _setp(self, parts: list[str], a: list[str]) -> str:
        how, kind = parts[1], parts[-1]
        result = self.compared(how, kind, *a[1:3])
        joined = {"and": "&&", "or": "||", "xor": "!="}.get(parts[2])
        targets = a[0].split("|")
        also = f" {joined} {self.value(a[3], 'pred')}" if joined else ""
        set_ = self.set(targets[0], "pred", f"({result}){also}")
        if len(targets) == 1:
            return set_
        return f"{{ const bool holds = {result}; {self.set(targets[0], 'pred', 'holds' + also)}" + (
            f" {self.set(targets[1], 'pred', '!holds' + also)} }}"
        )

    def compared(self, how: str, kind: str, a: str, b: str) -> str:
        """``a how b`` as C++."""
        x, y = self.value(a, kind), self.value(b, kind)
        if how in ("num", "nan"):
            both = f"{x} == {x} && {y} == {y}"
            return both if how == "num" else f"!({both})"
        result = f"{x} {COMPARISONS[how]} {y}"
        if kind[0] != "f":
            return result
        if how == "ne":
            return f"{x} < {y} || {x} > {y}"
        if how.endswith("u") and how != "neu":
            return f"{result} || {x} != {x} || {y} != {y}"
        return result

    def _cvt(self, parts: list[str], a: list[str]) -> str:
        to, of = parts[-2:]
        if of == "f16x2" or to not in SIZES or of not in SIZES:
            raise NotUnderstood(".".join(parts))
        x = self.value(a[1], of)
        whole = next((TO_WHOLE[p] for p in parts if p in TO_WHOLE), None)
        if to[0] == "f":
            if whole:
                x = f"({of}){whole}((f64){x})"
            elif {"rm", "rp", "rz"} & set(parts) and bits(to) < bits(of):
                raise NotUnderstood(".".join(parts))
            return self.set(a[0], to, self._after([*parts[:-2], to], f"({to})({x})"))
        if of[0] == "f":
            return self.set(a[0], to, f"to_integer<{c_type(to)}>({whole or 'trunc'}((f64){x}))")
        if "sat" in parts:
            raise NotUnderstood(".".join(parts))
        return self.set(a[0], to, x)

    def _cvta(self, parts: list[str], a: list[str]) -> str:
        """Addresses of shared memory have a separate window among the generic ones; all others are the host's."""
        window = "" if "shared" not in parts else " - SHARED_WINDOW" if "to" in parts else " + SHARED_WINDOW"
        return self.set(a[0], "u64", self.value(a[1], "u64") + window)

    def _isspacep(self, parts: list[str], a: list[str]) -> str:
        in_shared = f"{self.value(a[1], 'u64')} >= SHARED_WINDOW"
        return self.set(a[0], "pred", in_shared if parts[1] == "shared" else f"!({in_shared})")
