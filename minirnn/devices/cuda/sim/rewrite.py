"""CUDA C++ to C++: rewriting the four words that a host compiler does not know in preprocessed text.

``__global__ void k(..)``         a function ``cusim_k_k``, exported with its signature
``__shared__ T a[N], b;``         a struct of the block's own memory, and references ``a`` and ``b`` into it
``extern __shared__ T s[];``      a pointer to the block's dynamic shared memory; at file scope that of the running one
``__device__``, ``__constant__``  dropped; variables at file scope are exported
``__launch_bounds__(n)``          dropped; n is exported, and the launch compares the size of a block with it

Line numbers do not change, so that the compiler and the simulator report the lines of the .cu file. The text is
preprocessed first, so that kernels in macros are found and kernels in comments are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim.markers import Markers
from minirnn.devices.cuda.sim.refused import refuse

TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^\#[^\n]*|[{};]|\b__(?:shared|global|constant|device)__\b', re.MULTILINE
)
ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)"
KERNEL_NAME = re.compile(rf"(?:{ATTRIBUTE}|[^;{{}}()])*?(?!__attribute__)\b(\w+)\s*\(")
BOUND = re.compile(r"__attribute__\(\(cusim_most_threads\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\)\)")
DECLARATION = re.compile(rf"\s*((?:[^;{{}}()=]|{ATTRIBUTE})*)([;=({{])")
FILE_SCOPE = re.compile(r'(\bnamespace\b[^;()]*|extern\s*"C"\s*)$')
DYNAMIC = re.compile(r"(.*?)(\w+)\s*\[\s*\]((?:\s*\[[^\[\]]+\])*)$", re.DOTALL)
EXPORT = 'extern "C" __attribute__((visibility("default")))'


@dataclass
class Rewritten:
    """C++ text, and its exports."""

    text: str
    kernels: list[str]
    variables: list[str]


class _Rewriter:
    def __init__(self, text: str, headers: str) -> None:
        self.text = text
        self.markers = Markers(text, headers)
        self.edits: list[tuple[int, int, str]] = []  # from, to, replacement
        self.kernels: list[str] = []
        self.bounds: dict[str, str] = {}  # of a kernel: an expression, the most threads of a block
        self.variables: list[str] = []
        self.shared_declarations = 0
        self.dynamic_names: set[str] = set()  # declared at file scope
        self.functions: list[tuple[int, int]] = []  # from, to: the bodies of functions of the device
        self.names: dict[bool, set[str]] = {True: set(), False: set()}  # the user's functions: of the device, others

    def run(self) -> Rewritten:
        at_file_scope: list[bool] = []  # for each open brace: namespace or extern "C"?
        statement = self.markers.begin  # the start of the current statement
        body, depth = -1, 0  # the start of the current device function, and the open braces around it
        for token in TOKEN.finditer(self.text, statement):
            word = token.group()
            if word[0] == "#":
                statement = max(statement, token.end())
            elif word == "{":
                head = self.text[statement : token.start()].strip()
                if body < 0 and self.markers.is_users(token.start()):
                    of_device = re.search(r"__(global|device)__", head) is not None
                    if of_device:
                        body, depth = token.start(), len(at_file_scope)
                    if all(at_file_scope) or of_device:
                        self.named(head, of_device)
                at_file_scope.append(bool(FILE_SCOPE.search(head)))
                statement = token.end()
            elif word == "}":
                if at_file_scope:
                    at_file_scope.pop()
                if body >= 0 and len(at_file_scope) == depth:
                    self.functions.append((body, token.end()))
                    body = -1
                statement = token.end()
            elif word == ";":
                statement = token.end()
            elif word == "__global__":
                self.kernel(token, statement)
            elif word in ("__device__", "__constant__"):
                self.edits.append((token.start(), token.end(), ""))
                if all(at_file_scope):
                    self.variable(token, statement)
            elif word == "__shared__":
                self.shared(token, statement, all(at_file_scope))
        refuse(self.text, self.markers, self.functions, self.names[True], self.names[False] - self.names[True])
        return Rewritten(self.result(), _unique(self.kernels), _unique(self.variables))

    def named(self, head: str, of_device: bool) -> None:
        """Note the name of a function, given the text before its body."""
        plain = re.sub(rf"^#[^\n]*$|{ATTRIBUTE}|__(global|device)__|\bconstexpr\b", " ", head, flags=re.MULTILINE)
        found = re.match(r"[^()=]*?\b(\w+)\s*\(", plain)
        if found and not re.match(r"\s*(struct|class|union|enum|namespace)\b", plain):
            self.names[of_device].add(found.group(1))

    def kernel(self, token: re.Match[str], statement: int) -> None:
        self.edits.append((token.start(), token.end(), ""))
        named = KERNEL_NAME.match(self.text, token.end())
        bound = BOUND.search(self.text, token.end(), named.end() if named else token.end())
        if named and bound:
            self.edits.append((bound.start(), bound.end(), ""))
            self.bounds[named.group(1)] = bound.group(1)
        if named and "template" not in self.text[statement : token.start()]:
            self.kernels.append(named.group(1))
            # A kernel called div or read must not clash with the C library's.
            self.edits.append((named.start(1), named.start(1), "cusim_k_"))

    def variable(self, token: re.Match[str], statement: int) -> None:
        found = DECLARATION.match(self.text, token.end())
        if found and found.group(2) in ";=" and "template" not in self.text[statement : token.start()]:
            declared = self.text[token.end() : self.text.index(";", token.end())]
            self.variables += [declared_name(d) for d in declarators(declared)]

    def shared(self, token: re.Match[str], statement: int, at_file_scope: bool) -> None:
        end = self.text.index(";", token.end())
        declaration = self.text[statement : token.start()] + " " + self.text[token.end() : end]
        declaration = re.sub(r"^#[^\n]*$", "", declaration, flags=re.MULTILINE)
        lines = self.text[statement:end].count("\n")
        space = re.match(r"\s*", self.text[statement:])
        lead = space.group() if space else ""
        if "extern" in declaration:
            replacement = self.dynamic(declaration, token, at_file_scope)
        elif at_file_scope:
            raise CompileError(
                f"{self.markers.line(token.start())}: __shared__ outside a kernel\n"
                "  expected inside the kernel that uses it: the simulator gives each block its own"
            )
        else:
            replacement = self.static(declaration)
        self.edits = [edit for edit in self.edits if edit[0] < statement]
        self.edits.append((statement, end, lead + replacement + "\n" * (lines - lead.count("\n"))))

    def dynamic(self, declaration: str, token: re.Match[str], at_file_scope: bool) -> str:
        plain = re.sub(rf"\bextern\b|{ATTRIBUTE}|alignas\s*\([^()]*\)", " ", declaration)
        plain = re.sub(r"\s+", " ", re.sub(r'"C(?:\+\+)?"', " ", plain)).strip()
        found = DYNAMIC.match(plain)
        if found is None:
            raise CompileError(
                f"{self.markers.line(token.start())}: extern __shared__ {plain}\n"
                "  expected an array of unknown size: extern __shared__ float s[];"
            )
        kind, name, rest = found.groups()
        if at_file_scope:  # the memory of the running block; the runtime sets the pointer
            if name in self.dynamic_names:
                return ""
            self.dynamic_names.add(name)
            return (
                f"typedef {kind.strip()} cusim_{name}_t{rest}; "
                f"static cusim_{name}_t *const &{name} = (cusim_{name}_t *const &)cusim_dynamic_shared"
            )
        if rest:
            return f"{kind}(*{name}){rest} = ({kind}(*){rest})cusim_dynshared()"
        return f"{kind}*{name} = ({kind}*)cusim_dynshared()"

    def static(self, declaration: str) -> str:
        self.shared_declarations += 1
        n = self.shared_declarations
        plain = re.sub(r"\s+", " ", re.sub(r"\bstatic\b", " ", declaration)).strip()
        names = [declared_name(d) for d in declarators(plain)]
        references = "".join(f"; auto &{name} = cusim_r{n}.{name}" for name in names)
        quoted = ", ".join(names)
        return f'struct cusim_s{n} {{ {plain}; }}; auto &cusim_r{n} = cusim::shared<cusim_s{n}>("{quoted}"){references}'

    def result(self) -> str:
        pieces, position = [], 0
        for start, end, replacement in self.edits:
            pieces += [self.text[position:start], replacement]
            position = end
        pieces.append(self.text[position:] + "\n")
        for name in _unique(self.kernels):
            pieces.append(
                f"{EXPORT} void cusim_call_{name}(void **a) {{ cusim::call(cusim_k_{name}, a); }}\n"
                f"{EXPORT} const char *cusim_sig_{name}(const unsigned **n)"
                f" {{ return cusim::signature(cusim_k_{name}, n); }}\n"
                f"{EXPORT} unsigned cusim_most_{name}() {{ return {self.bounds.get(name, '1024')}; }}\n"
            )
        for name in _unique(self.variables):
            pieces.append(
                f"{EXPORT} void *cusim_var_{name}(size_t *n) {{ *n = sizeof({name}); return (void *)&{name}; }}\n"
            )
        return "".join(pieces)


def rewrite(text: str, headers: str = "") -> Rewritten:
    """Preprocessed CUDA C++ as C++.

    Raises `CompileError` for code that the simulator does not accept. `headers` is the folder of its own headers.
    """
    return _Rewriter(text, headers).run()


def declarators(text: str) -> list[str]:
    """``"float a[4][5], *b"`` -> ``["float a[4][5]", " *b"]``: cut at the commas outside all brackets."""
    parts, depth, angles = [""], 0, 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if not depth:  # inside other brackets < is a comparison or half a shift
            angles += (letter == "<") - (letter == ">")
        if letter == "," and not depth and not angles:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def declared_name(declarator: str) -> str:
    """``"float a[4][5] = {1}"`` -> ``"a"``"""
    plain = re.sub(r"[={].*", "", declarator, flags=re.DOTALL).strip()
    found = re.search(r"(\w+)\s*(?:\[.*)?$", plain, re.DOTALL)
    if found is None:
        raise CompileError(f"cannot tell which name this declares: {declarator.strip()}")
    return found.group(1)


def _unique(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))
