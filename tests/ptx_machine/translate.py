"""A kernel of a PTX program as a C++ file over `runtime/ptx.h`: registers become variables, labels remain labels."""

import re
from dataclasses import dataclass

from tests.ptx_machine.arithmetic import Arithmetic
from tests.ptx_machine.memory import Memory
from tests.ptx_machine.operands import Operands
from tests.ptx_machine.parse import SIZES, Function, NotUnderstood, Program, Statement, Variable, split

ENDS = ("bra", "ret", "exit", "brx", "call", "trap")
"""Instructions that end a block of straight-line code."""
SYNCHRONIZES = ("fence", "membar", "bar", "barrier", "atom", "red")


@dataclass(frozen=True)
class Translation:
    """A kernel in C++.

    Attributes
    ----------
    code : str
        The file.
    parameters : tuple of int
        Where each parameter begins, and behind the last one how many bytes there are.
    shared : int
        Bytes of shared memory whose size is known, a multiple of 16.
    places : tuple of (str, int)
        File and line of the source, by the number that the code calls ``place``.
    """

    code: str
    parameters: tuple[int, ...]
    shared: int
    places: tuple[tuple[str, int], ...]


@dataclass
class Instruction:
    """A parsed statement: its predicate (with ``!``) or nothing, its operation, and its operands."""

    statement: Statement
    guard: str
    op: str
    args: list[str]

    @property
    def names(self) -> set[str]:
        return set(re.findall(r"%?[\w$.]+", f"{self.guard} {' '.join(self.args)}"))


def translate(program: Program, kernel: str) -> Translation:
    """Raises `NotUnderstood`, with the line, if the machine cannot run the kernel."""
    addresses, shared = _layout(program, kernel)
    places: list[tuple[str, int]] = []
    needed = _called(program, kernel)
    functions = [_Translator(program.functions[name], addresses, places, set(needed)).code() for name in needed]
    entry = program.functions[kernel]
    parameters, at = [], 0
    for p in entry.parameters:
        at += -at % p.alignment
        parameters.append(at)
        at += p.size
    variables = "\n".join(_array(v) for v in program.variables)
    ranges = "".join(f"{{{_c_name(v.name)}, {v.size}}}, " for v in program.variables)
    passed = "".join(f", (u8 *)parameters + {offset}" for offset in parameters)
    code = f"""#include "ptx.h"
{variables}
struct Range {{ u8 *begin; u64 bytes; }};
extern "C" const Range ptx_variables[] = {{{ranges}{{nullptr, 0}}}};
{chr(10).join(f"static void {_signature(program.functions[name])};" for name in needed)}
{chr(10).join(functions)}
extern "C" void ptx_kernel(Thread &t, const u8 *parameters) {{ {_c_name(kernel)}_(t{passed}); }}
"""
    return Translation(code, (*parameters, at), shared, tuple(places))


def _layout(program: Program, kernel: str) -> tuple[dict[str, str], int]:
    """The addresses of the variables of the file and of shared memory, and how much of that has a known size."""
    addresses = {v.name: f"(u64){_c_name(v.name)}" for v in program.variables}
    arrays = list(program.shared)
    for name in _called(program, kernel):
        declared = (s.text for s in program.functions[name].statements if s.text.startswith(".shared"))
        arrays += [_declared(text) for text in declared]
    at = 0
    for array in arrays:
        at += -at % array.alignment
        addresses[array.name] = f"{at}ull"
        at += array.size
    at += -at % 16
    return addresses | dict.fromkeys(program.dynamic_shared, f"{at}ull"), at


def _called(program: Program, kernel: str) -> list[str]:
    """The kernel and the functions that it calls, directly or indirectly. Functions without a body are omitted."""
    found, open_ = [], [kernel]
    while open_:
        name = open_.pop()
        if name in found or name not in program.functions:
            continue
        found.append(name)
        calls = [s.text for s in program.functions[name].statements if re.search(r"\bcall\b", s.text)]
        open_ += [word for text in calls for word in re.findall(r"[\w$]+", text)]
    return found


class _Translator:
    """One function."""

    def __init__(
        self, function: Function, addresses: dict[str, str], places: list[tuple[str, int]], known: set[str]
    ) -> None:
        self.function, self.places, self.known = function, places, known
        self.operands = Operands(addresses=dict(addresses))
        self.arithmetic, self.memory = Arithmetic(self.operands), Memory(self.operands)
        self.arrays: list[str] = []  # parameters of calls, and local arrays, as C++
        self.passed: set[str] = set()  # labels
        self.late = 0  # the number of loads whose values may be determined late
        for p in (*function.parameters, *function.results):
            self.operands.addresses[p.name] = f"(u64){_c_name(p.name)}"

    def code(self) -> str:
        lines: list[str] = []
        stretch: list[Instruction] = []
        for statement in self.function.statements:
            text = statement.text
            if text.startswith("."):
                if text.startswith(".param"):  # whose name may have been another array's
                    lines += self._stretch(stretch)
                    stretch = []
                self._declare(statement)
            elif text.endswith(":"):
                lines += [*self._stretch(stretch), f"{_label(text[:-1])}:;"]
                self.passed.add(text[:-1])
                stretch = []
            else:
                stretch.append(_taken_apart(statement))
                if stretch[-1].op.split(".")[0] in ENDS:
                    lines += self._stretch(stretch)
                    stretch = []
        lines += self._stretch(stretch)
        body = "\n".join(lines)
        late = f"    Late {', '.join(f'late_{k} = {{}}' for k in range(self.late))};" if self.late else ""
        carry = "    u32 carry = 0; (void)carry;"
        return "\n".join([
            f"static void {_signature(self.function)} {{", self.operands.declarations(body), *self.arrays, late, carry,
            body, "}",
        ])  # fmt: skip

    def _declare(self, statement: Statement) -> None:
        kind = statement.text.split()[0]
        if kind == ".reg":
            self.operands.declare(statement)
        elif kind in (".local", ".param"):
            array = _declared(statement.text)
            name = _c_name(array.name) + "".join(f"_{k}" for k in statement.scope[1:])
            self.operands.addresses[array.name] = f"(u64){name}"
            self.arrays.append(f"    alignas(16) u8 {name}[{max(array.size, 1)}];")

    def _stretch(self, instructions: list[Instruction]) -> list[str]:
        """Straight-line code. Loads begin where they are written and may end later."""
        lines, ends = [], dict[int, list[str]]()
        for k, instruction in enumerate(instructions):
            self.operands.scope = instruction.statement.scope
            try:
                ended = ends.pop(k, [])
                if (until := self._first_use(instructions, k)) > k + 1:
                    parts = instruction.op.split(".")
                    targets = split(instruction.args[0].strip("{}"))
                    names = [f"late_{self.late + n}" for n in range(len(targets))]
                    self.late += len(targets)
                    line = f"{self._place(instruction)}{self.memory.load(parts, instruction.args, names)}"
                    ends.setdefault(until, []).append(self.memory.found_late(parts, targets, names))
                else:
                    line = self._line(instruction)
            except (NotUnderstood, KeyError, IndexError, ValueError) as error:
                file, number = instruction.statement.place
                raise NotUnderstood(
                    f"{self.function.name}, {file}:{number}: {instruction.statement.text}: {error}"
                ) from error
            lines += [*ended, line]
        return lines + [text for ended in ends.values() for text in ended]

    def _first_use(self, instructions: list[Instruction], k: int) -> int:
        """The last instruction up to which load k may be delayed; 0 if it is not such a load."""
        load = instructions[k]
        parts = load.op.split(".")
        space, _, order, _ = self.memory.access(parts) if parts[0] == "ld" else ("none", 0, "", "")
        if load.guard or space not in ("", "global") or order not in ("WEAK", "RELAXED") or "nc" in parts:
            return 0
        targets = set(split(load.args[0].strip("{}")))
        for later in range(k + 1, len(instructions)):
            other = instructions[later]
            ends = other.op.split(".")[0] in (*ENDS, *SYNCHRONIZES) or other.statement.scope != load.statement.scope
            if ends or targets & other.names:
                return later
        return len(instructions)

    def _line(self, instruction: Instruction) -> str:
        code = self._instruction(instruction)
        if instruction.guard:
            code = f"if ({self.operands.value(instruction.guard, 'pred')}) {{ {code} }}"
        return self._place(instruction) + code

    def _place(self, instruction: Instruction) -> str:
        """Code that records the position of the machine before an instruction that can fail or wait."""
        if instruction.op.split(".")[0] not in ("ld", "st", "shfl", "vote", "trap", *SYNCHRONIZES):
            return "    "
        if not self.places or self.places[-1] != instruction.statement.place:
            self.places.append(instruction.statement.place)
        return f"    t.place = {len(self.places) - 1}; "

    def _instruction(self, instruction: Instruction) -> str:
        op, args = instruction.op, instruction.args
        name = op.split(".")[0]
        if name == "bra":
            back = "jump_back(t); " if args[0] in self.passed else ""
            return f"{back}goto {_label(args[0])};"
        if name in ("ret", "exit"):
            if name == "exit" and not self.function.is_kernel:
                raise NotUnderstood("exit in a function")
            return "return;"
        if name == "call":
            return self._call(args)
        if (code := self.memory.translate(op, args)) is not None:
            return code
        if self.arithmetic.knows(name):
            return self.arithmetic.translate(op, args)
        raise NotUnderstood(op)

    def _call(self, args: list[str]) -> str:
        results = args.pop(0) if args[0].startswith("(") else "()"
        name, given = args[0], args[1] if len(args) > 1 else "()"
        if name not in self.known:
            return f'ptx_fail(t, "a call of {name}");'
        passed = [f"(u8 *){self.operands.addresses[a]}" for a in (*split(given[1:-1]), *split(results[1:-1]))]
        return f"{_c_name(name)}_({', '.join(['t', *passed])});"


def _taken_apart(statement: Statement) -> Instruction:
    found = re.match(r"(?:@(!?[%\w$.]+)\s+)?([\w.:]+)\s*(.*)$", statement.text)
    if not found:
        raise NotUnderstood(statement.text)
    return Instruction(statement, found.group(1) or "", found.group(2), split(found.group(3)))


def _declared(text: str) -> Variable:
    """A declaration in a function."""
    found = re.search(rf"\.({'|'.join(SIZES)})\s+([\w$%]+)\s*(?:\[(\d+)\])?", text)
    if not found:
        raise NotUnderstood(text)
    size = SIZES[found.group(1)]
    alignment = re.search(r"\.align\s+(\d+)", text)
    return Variable(found.group(2), size * int(found.group(3) or 1), int(alignment.group(1)) if alignment else size)


def _signature(function: Function) -> str:
    names = [_c_name(p.name) for p in (*function.parameters, *function.results)]
    return f"{_c_name(function.name)}_({', '.join(['Thread &t', *(f'u8 *{name}' for name in names)])})"


def _array(variable: Variable) -> str:
    values = ", ".join(map(str, variable.values)) if variable.values else "0"
    return f"alignas(16) static u8 {_c_name(variable.name)}[{max(variable.size, 1)}] = {{{values}}};"


def _label(name: str) -> str:
    return f"at_{_c_name(name)}"


def _c_name(name: str) -> str:
    return "v_" + re.sub(r"\W", "_", name)
