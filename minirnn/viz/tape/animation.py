"""The frames of a backward pass as HTML with buttons, for a notebook or a page, without JavaScript."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from itertools import count

from minirnn.engine.html import STYLE

_numbers = count(1)
"""Numbers for the players on a page, so that the buttons of each player only control its own frames."""

BUTTON = "border:1px solid currentColor;border-radius:4px;cursor:pointer;padding:2px 10px;margin-right:6px"


def animation(frames: Sequence[tuple[str, bytes]]) -> str:
    """HTML that shows one of the frames at a time.

    A row of radio buttons selects the frame, so the arrow keys also work. Below each frame there are buttons for the
    previous and the next one.

    Parameters
    ----------
    frames : sequence of (str, bytes)
        For each frame, its description in words and its picture as PNG.

    Returns
    -------
    str
    """
    name = f"tape-player-{next(_numbers)}"
    n = len(frames)
    chosen = ",".join(f"#{name}-{k}:checked~div figure:nth-of-type({k + 1})" for k in range(n))
    radios = "".join(
        f'<input type="radio" name="{name}" id="{name}-{k}" aria-label="Step {k + 1} of {n}"{"" if k else " checked"}>'
        for k in range(n)
    )
    figures = "".join(_figure(name, k, n, *frame) for k, frame in enumerate(frames))
    return (
        f'<div id="{name}" style="{STYLE}"><style>#{name} figure{{display:none;margin:0}}'
        f"{chosen}{{display:block!important}}</style>{radios}<div>{figures}</div></div>"
    )


def _figure(name: str, k: int, n: int, words: str, picture: bytes) -> str:
    to = [(k - 1, "back")] if k else []
    to += [(k + 1, "next")] if k + 1 < n else []
    buttons = "".join(f'<label for="{name}-{j}" style="{BUTTON}">{said}</label>' for j, said in to)
    image = base64.b64encode(picture).decode()
    alt = escape(" ".join(words.split()), quote=True)
    return (
        f'<figure><p style="margin:6px 0">{buttons}step {k + 1} of {n}</p>'
        f'<img alt="{alt}" style="max-width:100%;background:white" src="data:image/png;base64,{image}">'
        f'<figcaption><pre style="text-align:left">{escape(words)}</pre></figcaption></figure>'
    )
