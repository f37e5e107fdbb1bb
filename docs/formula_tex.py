"""The formulas of cells and docstrings as mathematics: ``dz_i = dc * n * i * (1 - i)`` becomes pieces of TeX.

A formula comes back as a list of pieces, so that a browser can break the line between them.
"""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"(?P<words>sum of|over B|one step of|the backward step of|for t|and)(?!\w)"
    r"|(?P<name>[A-Za-z]\w*)"
    r"|(?P<transpose>\^T|(?<=\))')"
    r"|(?P<prime>')"
    r"|(?P<number>\d+)"
    r"|(?P<range>\.\.)"
    r"|(?P<sign>\+=|\^\d|[-+*@=|\[\]():,<>/.])"
    r"|(?P<space>\s+)"
)
SIGNS = {"*": r"\odot", "@": r"\,", "|": r"\;|\;", "+=": r"\mathrel{+}="}
FUNCTIONS = {
    "sigmoid": r"\sigma",
    "s": r"\sigma",
    "tanh": r"\tanh",
    "max": r"\max",
    "min": r"\min",
    "exp": r"\exp",
    "log": r"\log",
}
SPECIAL = {
    "softmax": r"\mathrm{softmax}",
    "onehot": r"\mathrm{onehot}",
    "exchange_f_and_ci": r"\mathrm{exchange}_{f,ci}",
}
WORDS = {"prev", "grad", "new"}  # upright indices
BREAKS = {"=", "+", "-", "*", "@", "+="}  # a line may break before these, outside of brackets


def pieces(formula: str) -> list[str]:
    """The TeX of a formula, in pieces between which a line may break."""
    formula = formula.replace(", straight_through=True", "")  # the page says in words how gradients pass a clip
    found: list[list[str]] = [[]]
    depth = 0
    tokens = list(TOKEN.finditer(formula))
    assert "".join(t[0] for t in tokens) == formula, f"{formula!r} has a sign that formulas do not have"
    for at, token in enumerate(tokens):
        kind, text = str(token.lastgroup), token[0]
        depth += (text in "([") - (text in ")]") if kind == "sign" else 0
        if (kind == "words" and found[-1]) or (depth == 0 and text in BREAKS and found[-1]):
            found.append([])
        following = formula[token.end() : token.end() + 1]
        before = tokens[at - 1] if at else None
        found[-1].append(_tex(kind, text, following, before[0] if before else ""))
        if kind == "words":
            found.append([])
    joined = ["".join(piece).strip() for piece in found if "".join(piece).strip()]
    return [("{}" if re.match(r"[=+-]|\\odot|\\mathrel", piece) else "") + piece for piece in joined]


def _tex(kind: str, text: str, following: str, before: str) -> str:
    if kind == "words":
        return rf"\;\text{{{text}}}".replace("_", r"\_") + r"\;"
    if kind == "name":
        return name(text, called=following == "(")
    if kind == "transpose":
        return r"^\top"
    if kind == "prime":
        return r"^\top" if before[:1].isupper() else "'"
    if kind == "range":
        return r"\ldots"
    if kind == "space":
        return r"\;" if re.match(r"[\w')\]]", before[-1:]) and re.match(r"[\w(]", following) else " "
    if text.startswith("^"):
        return f"^{{{text[1:]}}}"
    return f" {SIGNS.get(text, text)} " if text in SIGNS or text in "=<>+-" else text


def name(text: str, called: bool = False) -> str:
    """The TeX of a name: `dzi` is dz with the index i, `h_prev` an h with the index prev."""
    if called and text in FUNCTIONS:
        return FUNCTIONS[text]
    if text in SPECIAL:
        return SPECIAL[text]
    base, *indices = text.split("_")
    if any(len(index) > 2 and index not in WORDS for index in indices):  # forget_bias
        return rf"\mathit{{{text}}}".replace("_", r"\_")
    if match := re.fullmatch(r"(d?[zwbW])([a-zA-Z]{1,2})", base):  # dzi, wci, bW
        base, indices = match[1], [match[2], *indices]
    index = ",".join(rf"\mathrm{{{i}}}" if i in WORDS else i for i in indices)
    return (base if len(base) == 1 else rf"\mathit{{{base}}}") + (f"_{{{index}}}" if index else "")
