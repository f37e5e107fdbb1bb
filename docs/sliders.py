"""The directive ``sliders``: a playground inside a page, whose numbers the reader's browser computes.

The options are those of ``<div class="playground">`` in `_static/playground/page.js`. The content is for readers
without JavaScript. Notebooks and slides leave the directive out.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives

SCRIPTS = ("weights", "cells", "pictures", "formulas", "page")


class Sliders(Directive):
    """``sliders`` with the pictures to show."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = dict.fromkeys(("controls", "cells", "settings"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        up = "../" * env.docname.count("/")
        data = {"pictures": self.arguments[0], **self.options}
        attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in data.items())
        page = [f'<div class="playground" {attributes}>', *self.content, "</div>"]
        if not env.temp_data.get("sliders"):  # the first ones on this page bring the scripts
            env.temp_data["sliders"] = True
            page += [f'<script defer src="{up}_static/playground/{name}.js"></script>' for name in SCRIPTS]
        return [nodes.raw("", "\n".join(page), format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("sliders", Sliders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
