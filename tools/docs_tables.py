"""Write the tables of settings in the docs from the declarations.

    python -m tools.docs_tables            rewrites them
    python -m tools.docs_tables --check    exits with 1 where one is out of date

A table stands between `<!-- settings: NAME -->` and `<!-- end of settings -->`. A name is a section
of the pipeline file, `policy NAME`, `policy NAME of infrastructure`, `guards`, `workloads` or
`attach`.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from penstock.attachment import settings as attach
from penstock.core.graph import Module
from penstock.core.interference import Interference
from penstock.core.plugins import Registry
from penstock.core.regions import Region
from penstock.core.schema import Bounds, Written
from penstock.core.settings import Setting, settings_of
from penstock.guard import GUARDS
from penstock.pipeline.format.model import InfrastructureSection, PipelineSections
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.format.schema import default_of, descriptions, options
from penstock.pipeline.settings import ClusterSettings, Source
from penstock.policy import NODE_POLICIES, POLICIES
from penstock.workload import WORKLOADS

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGES: Final = ("pipeline-file.md", "guards.md", "attach.md")
_TABLE: Final = re.compile(r"(<!-- settings: (.*?) -->\n).*?(<!-- end of settings -->)", re.DOTALL)
_PARTS: Final[Mapping[str, Any]] = {
    "sections": PipelineSections,
    "cluster": ClusterSettings,
    "module": Module,
    "infrastructure": InfrastructureSection,
    "region": Region,
    "query": PreferenceQuery,
    "interference": Interference,
    "source": Source,
}


_FAMILIES: Final[Mapping[str, tuple[str, Registry[Any]]]] = {
    "guards": ("guard", GUARDS),
    "workloads": ("kind", WORKLOADS),
}


def table(name: str) -> str:
    """The table of that name."""
    if name == "attach":
        return _attach()
    if name in _FAMILIES:
        return _family(*_FAMILIES[name])
    kind, beside = _kinds(name)
    known = {setting.name for setting, _ in _settings(beside)} if beside else set()
    rows = [(s, text) for s, text in _settings(kind) if s.name not in known]
    return _lines("setting", ([f"`{s.outer}`", *_cells(s, text)] for s, text in rows))


def _kinds(name: str) -> tuple[Any, Any]:
    """The part, and another whose settings are left out; `policy q-learning beside rl`."""
    if not name.startswith("policy "):
        return _PARTS[name], None
    name, nodes, _ = name.removeprefix("policy ").partition(" of infrastructure")
    policy, _, beside = name.partition(" beside ")
    policies = NODE_POLICIES if nodes else POLICIES
    return policies[policy], policies[beside] if beside else None


def _settings(kind: Any) -> list[tuple[Setting, str]]:
    if kind in (PipelineSections, InfrastructureSection):
        return [(s, descriptions(kind).get(s.name, "")) for s in settings_of(kind)]
    return options(kind)


def _family(first: str, kinds: Registry[Any]) -> str:
    """The settings of all parts of a registry."""
    rows = (
        [f"`{name}`", f"`{setting.outer}`", *_cells(setting, text)]
        for name in sorted(kinds.built_in)
        for setting, text in options(kinds[name])
    )
    return _lines(f"{first} | setting", rows)


def _attach() -> str:
    named = {"policy": attach.Named("policy")}
    named |= {name: names for name, (_, names) in attach.declared().items()}
    text = descriptions(attach.Settings)
    rows = (
        [f"`{s.outer}`", *_cells(s, text[s.name], off=named[s.name].off)]
        for s in settings_of(attach.Settings)
        if s.name in named
    )
    return _lines("setting", rows)


def _cells(setting: Setting, text: str, *, off: bool = False) -> list[str]:
    default = default_of(setting)
    shown = "required" if setting.required else "" if default in (None, []) else _written(default)
    bounds = "".join(f"; {words}" for words in dict.fromkeys(_bounds(setting.hint)))
    return [f"{text.rstrip('.')}{bounds}{'; `off`' if off else ''}", shown]


def _written(value: object) -> str:
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, float):
        return f"`{value:.4g}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _bounds(hint: Any) -> Iterator[str]:
    extras = getattr(hint, "__metadata__", ())
    unit = next((extra.unit for extra in extras if isinstance(extra, Written)), "")
    for extra in extras:
        if isinstance(extra, Bounds):
            yield extra.words(unit)
    for inner in get_args(hint):
        yield from _bounds(inner)


def _lines(first: str, rows: Iterable[list[str]]) -> str:
    head = f"| {first} | meaning | default |"
    rule = "|---" * (head.count("|") - 1) + "|"
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def rewritten(page: str) -> str:
    """A page with its tables as they should be."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[3]}", page)


def main(words: list[str]) -> int:
    """Rewrite the pages, or tell which are out of date."""
    old = 0
    for path in (DOCS / name for name in PAGES):
        text = path.read_text(encoding="utf-8")
        if rewritten(text) != text:
            old += 1
            print(path.name)
            if "--check" not in words:
                path.write_text(rewritten(text), encoding="utf-8")
    return 1 if old and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
