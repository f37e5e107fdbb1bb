"""Operands of PTX instructions as C++: registers, constants, names of variables, special registers."""

import re
from dataclasses import dataclass, field

from tests.ptx_machine.parse import SIZES, NotUnderstood, Statement

SPECIAL = {
    "%laneid": "t.lane",
    "%warpid": "t.warp",
    "%envreg1": "(u32)(t.workspace >> 32)",
    "%envreg2": "(u32)t.workspace",
    "%lanemask_eq": "(1u << t.lane)",
    "%lanemask_lt": "((1u << t.lane) - 1)",
    "%lanemask_le": "(2u << t.lane) - 1",
    "%lanemask_gt": "~((2u << t.lane) - 1)",
    "%lanemask_ge": "~((1u << t.lane) - 1)",
    "WARP_SZ": "32u",
} | {f"%{name}.{axis}": f"t.{name}[{k}]" for name in ("tid", "ntid", "ctaid", "nctaid") for k, axis in enumerate("xyz")}


def c_type(kind: str) -> str:
    """The C++ type of a PTX type: ``s32`` is ``i32``, and plain bits are unsigned."""
    if kind == "pred":
        return "bool"
    return {"b": "u", "s": "i"}.get(kind[0], kind[0]) + kind[1:]


def bits(kind: str) -> int:
    """The bits of a type, 1 of a predicate."""
    return 1 if kind == "pred" else 8 * SIZES[kind]


@dataclass
class Operands:
    """The names that a function knows.

    Attributes
    ----------
    registers : dict
        (scope, name) -> the variable in C++ and its PTX type.
    addresses : dict
        Name of a variable -> its address in C++.
    """

    registers: dict[tuple[tuple[int, ...], str], tuple[str, str]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    scope: tuple[int, ...] = (0,)

    def declare(self, statement: Statement) -> None:
        """``.reg .b32 %r<7>`` or ``.reg .pred p, q``."""
        found = re.match(r"\.reg\s+\.(\w+)\s+(.*)$", statement.text)
        if not found:
            raise NotUnderstood(statement.text)
        kind = found.group(1)
        for word in found.group(2).split(","):
            name, _, count = word.strip().partition("<")
            names = [f"{name}{k}" for k in range(int(count.rstrip(">")))] if count else [name]
            for n in names:
                unique = re.sub(r"\W", "_", n) + "".join(f"_{k}" for k in statement.scope[1:])
                self.registers[statement.scope, n] = f"r{unique}", kind

    def register(self, name: str) -> tuple[str, str] | None:
        """The variable of the innermost scope, and its type; None if that is no register."""
        for k in range(len(self.scope), 0, -1):
            if (found := self.registers.get((self.scope[:k], name))) is not None:
                return found
        return None

    def value(self, operand: str, kind: str) -> str:
        """An operand that is read as a `kind`, as a C++ expression. Raises `NotUnderstood`."""
        operand = operand.strip()
        if operand.startswith("!"):
            return f"!{self.value(operand[1:], kind)}"
        found = self.register(operand)
        text = found[0] if found else SPECIAL.get(operand) or self.addresses.get(operand) or _number(operand)
        if text is None:
            raise NotUnderstood(f"the operand {operand}")
        if kind == "pred":
            return text
        if kind[0] == "f":
            return f"to_{kind}({text})"
        return f"({c_type(kind)})({text})"

    def set(self, operand: str, kind: str, value: str) -> str:
        """The C++ statement that gives a register a value of type `kind`, widened to the register as `kind` is."""
        operand = operand.strip()
        if operand == "_":
            return f"(void)({value});"
        found = self.register(operand)
        if found is None:
            raise NotUnderstood(f"the register {operand}")
        name, own = found
        if kind == "pred":
            return f"{name} = {value};"
        if kind[0] == "f":
            return f"{name} = bits_of(({kind})({value}));"
        return f"{name} = (u{bits(own)})({c_type(kind)})({value});"

    def address(self, operand: str) -> str:
        """``[base+offset]`` as an integer of 64 bits; a register of 32 bits is an address in shared memory."""
        found = re.match(r"\[\s*(.+?)\s*(?:\+\s*(-?\w+))?\s*\]$", operand)
        if not found:
            raise NotUnderstood(f"the address {operand}")
        base, offset = found.group(1), int(found.group(2) or "0", 0)
        known = self.register(base)
        wide = known is None or bits(known[1]) == 64
        sum_ = f"{self.value(base, 'u64' if wide else 'u32')} + ({offset}{'ll' if wide else ''})"
        return f"(u64)({sum_})" if wide else f"(u64)(u32)({sum_})"

    def declarations(self, statements: str) -> str:
        """The registers that these C++ statements use, as variables."""
        used = set(re.findall(r"\br\w+", statements))
        by_type: dict[str, list[str]] = {}
        for name, kind in sorted(set(self.registers.values())):
            if name in used:
                by_type.setdefault("bool" if kind == "pred" else f"u{bits(kind)}", []).append(f"{name} = 0")
        return "\n".join(f"    {kind} {', '.join(names)};" for kind, names in by_type.items())


def _number(text: str) -> str | None:
    if found := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", text):
        return f"0x{found.group(1)}u"
    if found := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", text):
        return f"0x{found.group(1)}ull"
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", text):
        return f"{int(text.rstrip('U'), 0) % (1 << 64)}ull"
    return None
