"""The loops of machine code, found by their jumps: the instructions of each iteration.

A loop is code that can be reached again. Every path into it passes its head, and a jump leads from its end back to the
head. A jump for warps whose lanes are apart (``BRA.DIV``) is not followed: it leads to a slow copy of the same
instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.devices.cuda.machine_code.sass import Function, Instruction

ENDS = ("EXIT", "RET", "BRX", "JMX", "KILL")
"""After these (without a predicate), execution does not continue."""
JUMPS = ("BRA", "JMP")


@dataclass(frozen=True)
class Loop:
    """Instructions that a thread may execute in each iteration, including those of inner loops; `jump` is the last jump
    back to the head.
    """

    jump: Instruction
    instructions: tuple[Instruction, ...]

    def count(self, *names: str) -> int:
        """The number of instructions with one of these names (``"LDS"``) or opcodes (``"LDS.128"``)."""
        return sum(i.name in names or i.opcode in names for i in self.instructions)


def loops(function: Function) -> list[Loop]:
    """The outermost loops of a kernel, in the order of their positions."""
    follow = _successors(function)
    reached = _reached(follow)
    before: dict[int, list[int]] = {k: [] for k in reached}
    for k in reached:
        for after in follow[k]:
            before[after].append(k)
    dominators = _dominators(before, reached)
    bodies: dict[int, set[int]] = {}
    ends: dict[int, int] = {}
    for k in reached:
        for head in follow[k]:
            if _is_on_every_way(head, k, dominators):
                bodies.setdefault(head, set()).update(_body(head, k, before))
                ends[head] = max(k, ends.get(head, 0))
    outermost = {head: body for head, body in bodies.items() if not any(body < other for other in bodies.values())}
    code = function.instructions
    return [
        Loop(code[ends[head]], tuple(code[k] for k in sorted(body)))
        for head, body in sorted(outermost.items(), key=lambda one: min(one[1]))
    ]


def _successors(function: Function) -> list[tuple[int, ...]]:
    """For each instruction, the possible next instructions."""
    code, found = function.instructions, []
    for k, instruction in enumerate(code):
        following = (k + 1,) if k + 1 < len(code) else ()
        name, target = instruction.name, function.labels.get(instruction.target)
        if name in JUMPS and instruction.opcode != "BRA.DIV" and target is not None and target < len(code):
            # A uniform predicate may be among the operands: BRA.U UP0, `(.L_x_1)
            conditional = instruction.predicate or not instruction.operands.startswith("`")
            found.append((*following, target) if conditional else (target,))
        else:
            found.append(() if name in ENDS and not instruction.predicate else following)
    return found


def _reached(follow: list[tuple[int, ...]]) -> list[int]:
    """All instructions that can be reached from the first one, in reverse postorder."""
    seen, order = {0}, []
    stack = [(0, iter(follow[0]))]
    while stack:
        node, rest = stack[-1]
        for k in rest:
            if k not in seen:
                seen.add(k)
                stack.append((k, iter(follow[k])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]


def _dominators(before: dict[int, list[int]], reached: list[int]) -> dict[int, int]:
    """Instruction -> its immediate dominator (Cooper, Harvey and Kennedy, 2001)."""
    number = {k: n for n, k in enumerate(reached)}
    found = {0: 0}
    changed = True
    while changed:
        changed = False
        for k in reached[1:]:
            known = [b for b in before[k] if b in found]
            last = known[0]
            for other in known[1:]:
                while last != other:
                    if number[last] > number[other]:
                        last = found[last]
                    else:
                        other = found[other]
            if found.get(k) != last:
                found[k], changed = last, True
    return found


def _is_on_every_way(head: int, k: int, dominators: dict[int, int]) -> bool:
    while k != head and k != 0:
        k = dominators[k]
    return k == head


def _body(head: int, end: int, before: dict[int, list[int]]) -> set[int]:
    """All instructions from which `end` can be reached without passing `head`, and the head."""
    body, open_ = {head}, [end]
    while open_:
        k = open_.pop()
        if k not in body:
            body.add(k)
            open_ += before[k]
    return body
