"""CUDA C++ into C++: the four words that a host compiler does not know, rewritten in preprocessed text.

``__global__ void k(..)``         a function ``cusim_k_k``, exported with its signature and its cluster's size
``__shared__ T a[N], b;``         a struct of the block's own memory, and references ``a`` and ``b`` into it
``extern __shared__ T s[];``      a pointer to the block's dynamic shared memory
``__device__``, ``__constant__``  dropped; variables at file scope are exported

Line numbers stay what they were, so that the compiler and the simulator report the lines of the .cu file. The text is
preprocessed first, so kernels that a macro makes are found, and none in a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minirnn.devices.cuda.driver import CompileError

TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^\#[^\n]*|[{};]|\b__(?:shared|global|constant|device)__\b', re.MULTILINE
)
ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"
KERNEL_NAME = re.compile(rf"(?:{ATTRIBUTE}|[^;{{}}()])*?(?!__attribute__)\b(\w+)\s*\(")
DECLARATION = re.compile(rf"\s*((?:[^;{{}}()=]|{ATTRIBUTE})*)([;=({{])")
CLUSTER = re.compile(r"cusim_cluster\s*\(([^(),]*)(,\s*1\s*){0,2}\)")
FILE_SCOPE = re.compile(r'(\bnamespace\b[^;()]*|extern\s*"C"\s*)$')
DYNAMIC = re.compile(r"(.*?)(\w+)\s*\[\s*\]$", re.DOTALL)
EXPORT = 'extern "C" __attribute__((visibility("default")))'


@dataclass
class Rewritten:
    """C++ text, and what it exports."""

    text: str
    kernels: list[str]
    variables: list[str]


class _Rewriter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.edits: list[tuple[int, int, str]] = []  # from, to, replacement
        self.kernels: list[str] = []
        self.clusters: dict[str, str] = {}  # kernel -> how many blocks make a cluster
        self.variables: list[str] = []
        self.shared_declarations = 0

    def run(self) -> Rewritten:
        at_file_scope: list[bool] = []  # for each open brace: namespace or extern "C"?
        statement = 0  # where the current statement began
        for token in TOKEN.finditer(self.text):
            word = token.group()
            if word[0] == "#":
                statement = max(statement, token.end())
            elif word == "{":
                head = self.text[statement : token.start()].strip()
                at_file_scope.append(bool(FILE_SCOPE.search(head)))
                statement = token.end()
            elif word == "}":
                if at_file_scope:
                    at_file_scope.pop()
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
                if all(at_file_scope):
                    raise CompileError(
                        f"{self.line(token.start())}: __shared__ outside a kernel\n"
                        "  expected inside the kernel that uses it: the simulator gives each block its own"
                    )
                self.shared(token, statement)
        return Rewritten(self.result(), _unique(self.kernels), _unique(self.variables))

    def kernel(self, token: re.Match[str], statement: int) -> None:
        self.edits.append((token.start(), token.end(), ""))
        named = KERNEL_NAME.match(self.text, token.end())
        if named and "template" not in self.text[statement : token.start()]:
            self.kernels.append(named.group(1))
            if "cusim_cluster" in named.group():
                size = CLUSTER.search(named.group())
                if size is None:
                    raise CompileError(
                        f"{self.line(token.start())}: __cluster_dims__ of more than one axis\n"
                        "  expected __cluster_dims__(n, 1, 1): the simulator's clusters lie along x"
                    )
                self.clusters[named.group(1)] = size.group(1)
            # A kernel called div or read must not clash with the C library's.
            self.edits.append((named.start(1), named.start(1), "cusim_k_"))

    def variable(self, token: re.Match[str], statement: int) -> None:
        found = DECLARATION.match(self.text, token.end())
        if found and found.group(2) in ";=" and "template" not in self.text[statement : token.start()]:
            declared = self.text[token.end() : self.text.index(";", token.end())]
            self.variables += [declared_name(d) for d in declarators(declared)]

    def shared(self, token: re.Match[str], statement: int) -> None:
        end = self.text.index(";", token.end())
        declaration = self.text[statement : token.start()] + " " + self.text[token.end() : end]
        declaration = re.sub(r"^#[^\n]*$", "", declaration, flags=re.MULTILINE)
        lines = self.text[statement:end].count("\n")
        space = re.match(r"\s*", self.text[statement:])
        lead = space.group() if space else ""
        replacement = self.dynamic(declaration, token) if "extern" in declaration else self.static(declaration)
        self.edits = [edit for edit in self.edits if edit[0] < statement]
        self.edits.append((statement, end, lead + replacement + "\n" * (lines - lead.count("\n"))))

    def dynamic(self, declaration: str, token: re.Match[str]) -> str:
        plain = re.sub(rf"\bextern\b|{ATTRIBUTE}|alignas\s*\([^()]*\)", " ", declaration).strip()
        found = DYNAMIC.match(plain)
        if found is None:
            raise CompileError(
                f"{self.line(token.start())}: extern __shared__ {plain}\n"
                "  expected an array of unknown size: extern __shared__ float s[];"
            )
        kind, name = found.groups()
        return f"{kind}*{name} = ({kind}*)cusim_dynshared()"

    def static(self, declaration: str) -> str:
        self.shared_declarations += 1
        n = self.shared_declarations
        plain = re.sub(r"\s+", " ", re.sub(r"\bstatic\b", " ", declaration)).strip()
        names = [declared_name(d) for d in declarators(plain)]
        references = "".join(f"; auto &{name} = cusim_r{n}.{name}" for name in names)
        quoted = ", ".join(names)
        return f'struct cusim_s{n} {{ {plain}; }}; auto &cusim_r{n} = cusim::shared<cusim_s{n}>("{quoted}"){references}'

    def line(self, position: int) -> str:
        """``file:line`` of a place in the text, by the markers of the preprocessor."""
        before = self.text[:position]
        markers = list(re.finditer(r'^# (\d+) "([^"]*)"[^\n]*\n', before, re.MULTILINE))
        if not markers:
            return f"line {before.count(chr(10)) + 1}"
        last = markers[-1]
        return f"{last.group(2)}:{int(last.group(1)) + before[last.end() :].count(chr(10))}"

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
            )
        for name, size in self.clusters.items():
            pieces.append(f"{EXPORT} const unsigned cusim_cluster_{name} = {size};\n")
        for name in _unique(self.variables):
            pieces.append(
                f"{EXPORT} void *cusim_var_{name}(size_t *n) {{ *n = sizeof({name}); return (void *)&{name}; }}\n"
            )
        return "".join(pieces)


def rewrite(text: str) -> Rewritten:
    """Preprocessed CUDA C++ as C++. Raises `CompileError` for shared memory outside a kernel."""
    return _Rewriter(text).run()


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
