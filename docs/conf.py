"""The documentation site: `make docs` builds it into `site/`.

The pages are plain Markdown that also reads well in a repository browser, so they hold no
directives. Two things are derived when a page is read:

- The navigation of the site. Every `index.md` lists its pages under headings; each heading becomes
  a group of the navigation.
- Links to files outside `docs/`. The site has no copy of the sources, so only their text is kept;
  `tests/test_docs.py` checks that the files exist.
"""

import re
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx

DOCS: Final = Path(__file__).parent

project = "Penstock"
author = "the Penstock authors"
extensions = ["myst_parser"]
root_doc = "index"
nitpicky = True

myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]

html_theme = "furo"
html_title = "Penstock"
html_static_path = ["_static"]
html_css_files = ["site.css"]
highlight_language = "none"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False

HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
PAGE: Final = re.compile(r"\]\(((?!https?:|\.\./)[\w./-]+)\.md\)")
UPWARDS: Final = re.compile(r"\[([^\[\]]+)\]\(((?:\.\./)+[^()#\s]+)[^()\s]*\)")
TOCTREE: Final = "\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def navigation(text: str) -> str:
    """One hidden table of contents for each section of an index page that links to pages."""
    parts = HEADING.split(text)[1:]
    groups = [
        (caption, dict.fromkeys(PAGE.findall(section)))
        for caption, section in zip(parts[::2], parts[1::2], strict=True)
    ]
    return "".join(
        TOCTREE.format(caption=caption, pages="\n".join(pages))
        for caption, pages in groups
        if pages
    )


def read(_app: Sphinx, page: str, source: list[str]) -> None:
    """Adapt a page of the repository to the site."""
    text = source[0]
    if page == "changelog":
        text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    if page.endswith("index"):
        text += navigation(text)
    folder = (DOCS / page).parent
    source[0] = UPWARDS.sub(lambda link: link[0] if _inside(folder / link[2]) else link[1], text)


def _inside(path: Path) -> bool:
    return path.resolve().is_relative_to(DOCS)


def setup(app: Sphinx) -> None:
    """Let Sphinx call `read` for every page."""
    app.connect("source-read", read)
