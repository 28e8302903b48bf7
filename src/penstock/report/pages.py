"""Pages from templates: one file each, with the style and the scripts inside.

Jinja2 fills the templates of `web/` and escapes all text. Figures stand in a page as JSON, and the
scripts of `web/`, which the live page uses too, draw them.

>>> page = render("experiment.html", title="A & B", subtitle="", lead="", sections=(), remarks=())
>>> "<h1>A &amp; B</h1>" in page
True
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment

    from penstock.experiment.results import Table

HERE: Final = "penstock.report"
LIVE: Final = "penstock.dashboard"
DRAWING: Final = ("words", "scales", "plot", "flow")
"""Scripts that draw figures and flow graphs, on every page."""
SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    HERE: ("page",),
    LIVE: ("store", "plots", "live-flow", "decisions", "tiles", "main"),
}
"""What follows them: on pages that do not change, and on the live page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page of an experiment: tables, figures as data, and notes under them."""

    title: str
    tables: "tuple[Table, ...]" = ()
    figures: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim, and what was found of it."""

    text: str
    found: str
    mark: str = ""
    """`missed` or `tied`; nothing where it holds."""


def experiment_page(
    *,
    title: str,
    subtitle: str,
    lead: str,
    findings: Sequence[Finding],
    sections: Sequence[Section],
    remarks: Sequence[str],
) -> str:
    """Findings, then tables and figures in sections, and how it was done."""
    return render(
        "experiment.html",
        title=title,
        subtitle=subtitle,
        lead=lead,
        findings=findings,
        sections=sections,
        remarks=remarks,
    )


def render(template: str, *, package: str = HERE, **values: Any) -> str:
    """A page that needs nothing but itself, from a template of a package's `web` folder."""
    from markupsafe import Markup

    inside = {
        "style": Markup(style(package)),  # noqa: S704  # our own file
        "script": Markup(script(package)),  # noqa: S704  # our own files
    }
    return _environment(package).get_template(template).render(**inside, **values)


@cache
def style(package: str = HERE) -> str:
    """The style of all pages, and what a package has beside it."""
    sheets = dict.fromkeys((HERE, package))
    return "".join(resource("page.css", sheet) for sheet in sheets)


@cache
def script(package: str = HERE) -> str:
    """The scripts that draw, and those of a package, as one that leaves no names behind."""
    parts = [resource(f"{name}.js", HERE) for name in DRAWING]
    parts += [resource(f"{name}.js", package) for name in SCRIPTS[package]]
    return f'"use strict";\n(() => {{\n{"".join(parts)}}})();\n'


def resource(name: str, package: str = HERE) -> str:
    """A file of a package's `web` folder."""
    return files(package).joinpath("web", name).read_text(encoding="utf-8")


@cache
def _environment(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader  # slow to load

    loaders = [PackageLoader(name, "web") for name in dict.fromkeys((package, HERE))]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made
