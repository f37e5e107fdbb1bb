"""A backward pass with buttons.

Tests `minirnn/viz/tape/player.py`.
"""

import base64
import re

import numpy as np

import minirnn as mr
from minirnn.viz import TapePlayer
from minirnn.viz.tape.player import animation


def player(n: int = 1) -> TapePlayer:
    x = mr.tensor(np.array([2.0]), requires_grad=True)
    h = x
    for _ in range(n):
        h = mr.tanh(h * 0.9)
    return TapePlayer((h * h).sum(), {"x": x})


def test_a_player_in_a_notebook_has_a_picture_and_words_for_each_frame() -> None:
    shown = player()
    html = shown._repr_html_()
    images = re.findall(r'<img alt="([^"]+)"[^>]+base64,([^"]+)"', html)
    assert len(images) == len(shown.frames) and "tanh" in html.lower()
    for (alt, data), frame in zip(images, shown.frames, strict=True):
        assert alt == " ".join(str(frame).split()) and base64.b64decode(data).startswith(b"\x89PNG")


def test_the_buttons_lead_to_the_frame_before_and_the_next_one() -> None:
    html = animation([("one & <two>", b"1"), ("two", b"2"), ("three", b"3")])
    (name,) = set(re.findall(r'name="([^"]+)"', html))
    assert html.count('type="radio"') == 3 and html.count(" checked>") == 1
    figures = html.split("<figure>")[1:]
    leads = [re.findall(rf'<label for="{name}-(\d)"[^>]*>(\w+)<', figure) for figure in figures]
    assert leads == [[("1", "next")], [("0", "back"), ("2", "next")], [("1", "back")]]
    assert "one &amp; &lt;two&gt;" in html and f"#{name}-2:checked~div figure:nth-of-type(3)" in html


def test_two_players_on_a_page_turn_their_own_frames() -> None:
    first, second = (re.findall(r'<div id="([^"]+)"', animation([("a", b"")]))[0] for _ in range(2))
    assert first != second


def test_a_tape_too_long_to_draw_is_told_in_words() -> None:
    html = player(40)._repr_html_()
    assert "<img" not in html and "arrives" in html
