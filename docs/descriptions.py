"""Each page is described, for search engines and for those who share a link to it, by its title and first words.

The picture of a link (`scripts/social_card.py`) needs the address of the site, because Open Graph has no relative
addresses. Builders who know the address set `MINIRNN_SITE`.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes

USUAL = "How gradients flow through recurrent networks: chapters, ops with formula, NumPy and CUDA, and exercises."
LONGEST = 200
CARD = "The gradient that arrives at each earlier time step: a plain network loses it, and an LSTM keeps it."


def first_words(doctree: Any) -> str:
    """The first paragraph of a page, cut after a word; a chapter begins with its question."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        text = " ".join(paragraph.astext().split())
        in_text = not isinstance(paragraph.parent, (nodes.entry, nodes.list_item, nodes.admonition))
        if in_text and len(text) > 20 and not text.startswith("Go to the end"):
            return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + " ..."
    return USUAL


def described(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    words = escape(first_words(doctree), quote=True)
    title = escape(nodes.unescape(context.get("title", "minirnn")), quote=True)
    context["metatags"] = (context.get("metatags") or "") + (
        f'<meta name="description" content="{words}">\n<meta property="og:description" content="{words}">\n'
        f'<meta property="og:title" content="{title}">\n<meta property="og:type" content="article">\n'
        + picture(app.config.html_baseurl, pagename)
    )


def picture(address: str, page: str) -> str:
    """The tags of the page's address and of its picture, or nothing when the site has no address."""
    if not address:
        return ""
    site = escape(address.rstrip("/"), quote=True)
    return (
        f'<meta property="og:url" content="{site}/{page}.html">\n'
        f'<meta property="og:image" content="{site}/_static/social_card.png">\n'
        '<meta property="og:image:width" content="1200">\n<meta property="og:image:height" content="630">\n'
        f'<meta property="og:image:alt" content="{CARD}">\n<meta name="twitter:card" content="summary_large_image">\n'
    )


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", described)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
