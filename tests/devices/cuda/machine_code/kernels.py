"""One kernel of a compiled file: its resources, its instructions, and its loops."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from minirnn.cells.plan import Plan
from minirnn.devices.cuda.gpu.compiler import KERNELS
from minirnn.devices.cuda.launch import sources
from tests.devices.cuda.machine_code.compiled import Resources, compiled
from tests.devices.cuda.machine_code.loops import Loop, loops
from tests.devices.cuda.machine_code.sass import Function, functions


@dataclass(frozen=True)
class MachineCode:
    """The machine code of one kernel.

    `name` and `text` are the file that it is in, `loops` the outermost ones.
    """

    name: str
    text: str
    resources: Resources
    function: Function
    loops: list[Loop]

    @property
    def main_loop(self) -> Loop:
        """The largest loop: in a kernel that computes a whole sequence, the one over the steps."""
        return max(self.loops, key=lambda loop: len(loop.instructions))

    def statement(self, loop: Loop) -> tuple[str, str]:
        """The file and the text of the ``for``, ``while`` or ``do`` behind a loop; empty if none is found.

        It is on the line of the jump back, or encloses this line, or encloses the call of the function that has this
        line.
        """
        for path, line in loop.jump.lines:
            name, text = self._source(path)
            lines = text.splitlines()
            if not 0 < line <= len(lines):
                continue
            indentation = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
            for above in reversed(lines[:line]):
                margin = len(above) - len(above.lstrip())
                if above.strip() and margin < indentation and not above.startswith("#"):
                    indentation = margin
                    if re.match(r"\s*(for|while|do)\b", above):
                        return name, above.partition("//")[0].strip().removesuffix("{").strip()
        return "", ""

    def _source(self, path: str) -> tuple[str, str]:
        """The name and text of a file that the disassembler names: this one, or a header next to it."""
        if path.endswith(f"/{self.name}"):
            return self.name, self.text
        header = path.rpartition("/cuda/kernels/")[2]  # another checkout may have compiled and cached it
        if header != path and (KERNELS / header).is_file():
            return header, (KERNELS / header).read_text(encoding="utf-8")
        return "", ""


def machine_code(
    name: str, options: Sequence[str], arch: str, text: str | None = None, plan: Plan | None = None
) -> dict[str, MachineCode]:
    """Kernel -> its machine code, for the file ``kernels/<name>`` (or a `text`) with these options, for a cell.

    A test of a promise, for instance that no step of a sequence has a fence::

        code = machine_code("sequence/persistent.cu", VARIANTS["sequence/persistent.cu"][0], "sm_90", plan=lstm.plan())
        assert code["cell_persistent"].main_loop.count("MEMBAR") == 0

    Raises `CompileError` if nvcc does not take the file, and FileNotFoundError if there is no nvdisasm.
    """
    text = sources.text(name, plan) if text is None else text
    name = name if plan is None else f"{plan.name}.cu"
    made = compiled(name, options, arch, text)
    found = functions(made.cubin)
    return {
        kernel: MachineCode(name, text, needs, found[kernel], loops(found[kernel]))
        for kernel, needs in made.resources.items()
    }
