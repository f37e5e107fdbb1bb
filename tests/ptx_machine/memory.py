"""Instructions that affect memory, other threads or the machine, as calls of `runtime/ptx.h`.

Source: PTX ISA, chapters "Instruction Set" and "Memory Consistency Model" (orders and scopes).
"""

import re

from tests.ptx_machine.operands import Operands, bits, c_type
from tests.ptx_machine.parse import SIZES, NotUnderstood, split

ORDERS = {
    "weak": "WEAK", "relaxed": "RELAXED", "volatile": "RELAXED", "acquire": "ACQUIRE", "release": "RELEASE",
    "acq_rel": "ACQ_REL",
}  # fmt: skip
SCOPES = {"cta": "BLOCK", "cluster": "BLOCK", "gpu": "DEVICE", "gl": "DEVICE", "sys": "DEVICE"}
"""A block is a separate cluster, and nothing outside the device takes part."""
CHANGES = {
    "add": "ADD", "min": "MIN", "max": "MAX", "and": "AND", "or": "OR", "xor": "XOR", "exch": "EXCHANGE",
    "cas": "COMPARE", "inc": "INCREASE", "dec": "DECREASE",
}  # fmt: skip
SHUFFLES = {"up": "SHUFFLE_UP", "down": "SHUFFLE_DOWN", "bfly": "SHUFFLE_XOR", "idx": "SHUFFLE_INDEX"}
REDUCTIONS = {"add": "SUM", "min": "LEAST", "max": "MOST", "and": "AND_ALL", "or": "OR_ALL", "xor": "XOR_ALL"}
DIRECT = ("param", "local", "const")
"""Spaces whose addresses are the host's own, and which no other thread changes."""


class Memory:
    """Translates one instruction after the other; `arrays` are the names of parameters and of local arrays."""

    def __init__(self, operands: Operands) -> None:
        self.operands = operands
        self.value, self.set, self.address = operands.value, operands.set, operands.address

    def translate(self, op: str, args: list[str]) -> str | None:
        """The C++ statement, or None if this is a different kind of instruction. Raises `NotUnderstood`."""
        parts = op.split(".")
        if parts[0] in ("ld", "ldu"):
            return self.load(parts, args)
        if parts[0] == "st":
            return self._store(parts, args)
        if parts[0] in ("atom", "red"):
            return self._change(parts, args)
        if parts[0] in ("fence", "membar"):
            return self._fence(parts)
        if parts[0] in ("bar", "barrier"):
            return self._barrier(parts, args)
        if parts[0] in ("shfl", "vote", "redux", "activemask"):
            return self._warp(parts, args)
        return self._other(parts, args)

    # ---- loads and stores

    def access(self, parts: list[str]) -> tuple[str, int, str, str]:
        """Space, bytes of an element, order and scope of a load, store or atomic."""
        space = next((p.split("::")[0] for p in parts if p.split("::")[0] in ("global", "shared", *DIRECT)), "")
        order = next((ORDERS[p] for p in parts if p in ORDERS), "RELAXED" if parts[0] in ("atom", "red") else "WEAK")
        wide = "volatile" in parts or parts[0] in ("atom", "red")
        return (
            space,
            SIZES[parts[-1]],
            order,
            next((SCOPES[p] for p in parts if p in SCOPES), "DEVICE" if wide else "BLOCK"),
        )

    def load(self, parts: list[str], args: list[str], late: list[str] | None = None) -> str:
        """A load; with the names of `Late` variables one whose values are found later."""
        space, size, order, scope = self.access(parts)
        kind, targets = parts[-1], split(args[0][1:-1]) if args[0].startswith("{") else [args[0]]
        wide = f"u{8 * size}"
        lines = [f"const u64 at = {self.address(args[1])};"]
        if space == "shared":
            lines.append(f"const u8 *from = shared_at(t, at, {size * len(targets)});")
        elif len(targets) > 1 and space not in DIRECT:
            lines.append(_aligned(size * len(targets)))
        reads = []
        for k, target in enumerate(targets):
            if space == "shared":
                found = f"read<{wide}>(from + {k * size})"
            elif space in DIRECT:
                found = f"read<{wide}>((const u8 *)at + {k * size})"
            elif "nc" in parts:
                found = f"ptx_load_constant(t, at + {k * size}, {size})"
            elif late:
                reads.append(f"ptx_load_late(t, {late[k]}, at + {k * size}, {size}, {order}, {scope});")
                continue
            else:
                found = f"ptx_load(t, at + {k * size}, {size}, {order}, {scope})"
            reads.append(self.set(target, kind if kind[0] != "f" else wide, f"({wide}){found}"))
        return f"{{ {' '.join(lines)} {_in_any_order(reads, space)} }}"

    def found_late(self, parts: list[str], targets: list[str], late: list[str]) -> str:
        """The end of a load that `late` began."""
        kind = parts[-1] if parts[-1][0] != "f" else f"u{bits(parts[-1])}"
        return " ".join(
            self.set(target, kind, f"(u{bits(kind)})ptx_value_of(t, {name})")
            for target, name in zip(targets, late, strict=True)
        )

    def _store(self, parts: list[str], args: list[str]) -> str:
        space, size, order, scope = self.access(parts)
        values, wide = split(args[1][1:-1]) if args[1].startswith("{") else [args[1]], f"u{8 * size}"
        lines = [f"const u64 at = {self.address(args[0])};"]
        if space == "shared":
            lines.append(f"u8 *to = shared_at(t, at, {size * len(values)});")
        elif len(values) > 1 and space not in DIRECT:
            lines.append(_aligned(size * len(values)))
        writes = []
        for k, value in enumerate(values):
            v = self.value(value, wide)
            if space == "shared":
                writes.append(f"write<{wide}>(to + {k * size}, {v});")
            elif space in DIRECT:
                writes.append(f"write<{wide}>((u8 *)at + {k * size}, {v});")
            else:
                writes.append(f"ptx_store(t, at + {k * size}, {size}, {v}, {order}, {scope});")
        return f"{{ {' '.join(lines)} {_in_any_order(writes, space)} }}"

    def _change(self, parts: list[str], args: list[str]) -> str:
        space, size, order, scope = self.access(parts)
        name, kind = next(p for p in parts[1:] if p in CHANGES), parts[-1]
        if parts[0] == "red":
            args = ["_", *args]
        wide = f"u{bits(kind)}"
        a, b = self.value(args[2], wide), self.value(args[3], wide) if len(args) > 3 else "0"
        of = {"s": "SIGNED", "f": "FLOAT"}.get(kind[0], "UNSIGNED")
        at = self.address(args[1]) + (" + SHARED_WINDOW" if space == "shared" else "")
        call = f"ptx_change(t, {at}, {size}, {CHANGES[name]}, {of}, {a}, {b}, {order}, {scope})"
        return self.set(args[0], wide, f"({wide}){call}")

    # ---- fences, barriers, warps

    def _fence(self, parts: list[str]) -> str:
        if any(p.startswith(("proxy", "mbarrier_init")) for p in parts):
            return ";"
        scope = next((SCOPES[p] for p in parts if p in SCOPES), None)
        if scope is None or parts[1] in ("acquire", "release"):
            raise NotUnderstood(".".join(parts))
        sequential = parts[0] == "membar" or "sc" in parts
        return f"ptx_fence(t, {str(sequential).lower()}, {scope});"

    def _barrier(self, parts: list[str], args: list[str]) -> str:
        words = [p for p in parts[1:] if p not in ("cta", "aligned")]
        if words == ["warp", "sync"]:
            return f"ptx_exchange(t, SYNC, {self.value(args[0], 'u32')}, 0, 0, 0);"
        if words == ["sync"]:
            threads = self.value(args[1], "u32") if len(args) > 1 else "0"
            return f"ptx_barrier(t, {self.value(args[0], 'u32')}, {threads});"
        if words[0] == "red":
            if len(args) > 3:
                raise NotUnderstood("bar.red of some threads")
            call = f"ptx_barrier_vote(t, {self.value(args[1], 'u32')}, {self.value(args[2], 'pred')})"
            if words[1] == "popc":
                return self.set(args[0], "u32", f"{call} >> 16")
            test = "votes >> 16 == (votes & 65535)" if words[1] == "and" else "votes >> 16 != 0"
            return f"{{ const u32 votes = {call}; {self.set(args[0], 'pred', test)} }}"
        raise NotUnderstood(".".join(parts))

    def _warp(self, parts: list[str], args: list[str]) -> str:
        if parts[0] == "activemask":
            return self.set(args[0], "u32", "ptx_active(t)")
        if parts[0] == "shfl":
            target, _, found = args[0].partition("|")
            value, by, limits, mask = (self.value(o, "u32") for o in args[1:5])
            call = f"const u64 got = ptx_exchange(t, {SHUFFLES[parts[2]]}, {mask}, {value}, {by}, {limits});"
            flag = f" {self.set(found, 'pred', 'got >> 32 != 0')}" if found else ""
            return f"{{ {call} {self.set(target, 'u32', '(u32)got')}{flag} }}"
        mask = self.value(args[2], "u32")
        if parts[0] == "redux":
            kind = "s" if parts[-1] == "s32" else ""
            value = f"(u64)(i64){self.value(args[1], 's32')}" if kind else self.value(args[1], "u32")
            return self.set(args[0], "u32", f"(u32)ptx_exchange(t, {REDUCTIONS[parts[2]]}, {mask}, {value}, 0, 0)")
        call = f"const u64 votes = ptx_exchange(t, VOTE, {mask}, {self.value(args[1], 'pred')}, 0, 0);"
        result = {
            "ballot": self.set(args[0], "u32", "(u32)votes") if parts[2] == "ballot" else "",
            "any": self.set(args[0], "pred", "(u32)votes != 0") if parts[2] == "any" else "",
            "all": self.set(args[0], "pred", "(u32)votes == votes >> 32") if parts[2] == "all" else "",
        }.get(parts[2])
        if not result:
            raise NotUnderstood(".".join(parts))
        return f"{{ {call} {result} }}"

    def _other(self, parts: list[str], args: list[str]) -> str | None:
        if parts[0] == "trap":
            return 'ptx_fail(t, "trap");'
        if parts[0] == "nanosleep":
            return "ptx_give_way(t);"
        if parts[0] in ("prefetch", "prefetchu", "discard", "applypriority"):
            return ";"
        if parts[0] == "mov" and re.match(r"%(clock|globaltimer|smid|nsmid)", args[1]):
            return f"{self.set(args[0], c_type(parts[-1]), '0')} ptx_give_way(t);"
        return None


def _aligned(nbytes: int) -> str:
    return f'if (at % {nbytes}) ptx_fail(t, "the address of a vector is no multiple of its {nbytes} bytes");'


def _in_any_order(statements: list[str], space: str) -> str:
    """PTX gives the accesses of a vector's elements no order."""
    if len(statements) == 1 or space == "shared" or space in DIRECT:
        return " ".join(statements)
    return f"if (ptx_backwards(t)) {{ {' '.join(reversed(statements))} }} else {{ {' '.join(statements)} }}"
