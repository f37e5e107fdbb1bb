"""The site's page of names of torch, from minirnn/lookup/pointers.txt, and torch's public names for the tests.

The build of the site calls `write`. With torch installed,

    python scripts/torch_names.py

stores the names.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from minirnn.lookup.pointers import OLD, table

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "tests" / "torch_names.txt"
PLACES = {
    "minirnn": "torch",
    "Tensor": "torch.Tensor",
    "nn": "torch.nn",
    "nn.Module": "torch.nn.Module",
    "nn.functional": "torch.nn.functional",
    "nn.init": "torch.nn.init",
    "nn.utils": "torch.nn.utils",
    "nn.utils.rnn": "torch.nn.utils.rnn",
    "optim": "torch.optim",
    "optim.lr_scheduler": "torch.optim.lr_scheduler",
    "autograd": "torch.autograd",
    "data": "torch.utils.data",
    "cuda": "torch.cuda",
}
"""Maps a room of minirnn to the place where torch has its names."""

HEAD = """# Names of torch that are not here

[Coming from torch](../coming_from_torch.md) lists what minirnn has. Any other name of torch raises an error with a line
of this page:

```pycon
>>> mr.addmv
AttributeError: module 'minirnn' has no attribute 'addmv'
  instead of torch's addmv: bias + a @ v
```

Three kinds of names have no rows. If minirnn has the name in another place, the error says where: `torch.clone` is
`t.clone(...)`. For a method `xxx_`, write `t.copy_(value)` with the value of `xxx`. For a function `xxx_copy`, write
`xxx` and then `.clone()`.

In the rows, `*` represents any letters.
"""


def page() -> str:
    """The page, a table for each part."""
    lines = [HEAD]
    for title, rows in table().items():
        if title == OLD:
            continue
        last = "what to write, or why it is not here"
        lines.append(f"## {title}\n\n| torch | {last} |\n|---|---|")
        for row in rows:
            code = row.here and "`" not in row.answer
            answer = f"`{row.answer}`" if code else row.answer
            lines.append(f"| {', '.join(f'`{name}`' for name in row.names)} | {answer} |")
        lines.append("")
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write the page into a folder of the site."""
    (folder / "names_of_torch.md").write_text(page(), encoding="utf-8")


def names(place: str) -> list[str]:
    """torch's public names at the place where minirnn has `place`."""
    return [name for name in dir(_of(PLACES[place])) if name[0] != "_"]


def _of(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last) if last[0].isupper() else importlib.import_module(name)


if __name__ == "__main__":
    NAMES.write_text("".join(f"{place}: {' '.join(names(place))}\n" for place in PLACES), encoding="utf-8")
