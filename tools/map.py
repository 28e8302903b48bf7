"""`make map`: the house on one page, read from the sources without running them.

Packages in the order of the layers with what each imports, the widest folders, the files that stand
behind an entry point, the busiest files, and names that only tests use.
"""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.sources import File, Tree

_USERS = ("benchmarks", "examples", "tools")
_COMMANDS = ("run", "simulate", "validate")
_FOR_TESTS = "testing"
"""The package that is shipped for tests: its names are not dead when only tests use them."""
_DOTTED = re.compile(r"penstock(?:\.\w+)+(?::\w+)?")
_NAMED = re.compile(r"(?:measure|each): (\w+)")
"""A function that the data of a paper name."""
_FROM_IMPORT = re.compile(r"from (penstock[\w.]*) import ([\w, ]+)")


def page(project: Path) -> Iterator[str]:
    """The lines of the map of a project."""
    tree = Tree.of(project / "src" / "penstock")
    yield from _packages(tree, _layers(project))
    yield from ("", "widest folders (Python files)")
    for top in ("src", "tests"):
        widest = Counter(widths(project / top)).most_common(6)
        yield "  " + ", ".join(f"{_short(folder, project)} {count}" for folder, count in widest)
    yield from ("", "files behind an entry point (function-level imports and import strings too)")
    yield "  " + ", ".join(f"{name} {len(found)}" for name, found in closures(tree).items())
    yield from _busiest(tree)
    for title, names in unused(project, tree).items():
        yield from ("", f"{title}: {len(names)}", *(f"  {name}" for name in names))


def _layers(project: Path) -> list[str]:
    """The packages from the innermost out, as import-linter checks them."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            layers = reversed(contract["layers"])
            return [name.strip() for layer in layers for name in re.split("[:|]", layer)]
    return []


def _packages(tree: Tree, layers: list[str]) -> Iterator[str]:
    """A table of packages: files, lines, and the packages that they import."""
    files: dict[str, list[File]] = {}
    for file in tree.files.values():
        files.setdefault(_package(file.module), []).append(file)
    order = {name: place for place, name in enumerate(layers)}
    yield f"{'package':<12}{'files':>6}{'lines':>8}  imports"
    for name in sorted(files, key=lambda name: (order.get(name, len(order)), name)):
        targets = {_package(t) for file in files[name] for t in tree.direct[file.module]}
        inner = sorted(targets - {name, tree.root}, key=lambda name: order.get(name, len(order)))
        lines = sum(file.lines for file in files[name])
        yield f"{name:<12}{len(files[name]):>6}{lines:>8}  {' '.join(inner)}"
    total = sum(file.lines for file in tree.files.values())
    yield f"{'in all':<12}{len(tree.files):>6}{total:>8}"


def _package(module: str) -> str:
    """The top package that a module belongs to; the files beside them belong to the root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def widths(folder: Path) -> dict[Path, int]:
    """How many Python files lie in each folder."""
    return Counter(path.parent for path in folder.rglob("*.py"))


def closures(tree: Tree) -> Mapping[str, set[str]]:
    """The files behind `penstock.attach` and behind commands."""
    commands = {name: tree.closure(f"{tree.root}.cli.{name}") for name in _COMMANDS}
    return {"attach": tree.closure(tree.root), **commands}


def _busiest(tree: Tree) -> Iterator[str]:
    """The files that are imported most, and those that import most."""
    fan_in = Counter(target for targets in tree.direct.values() for target in targets)
    fan_out = Counter({name: len(targets) for name, targets in tree.direct.items()})
    for title, counts in (("imported by most files", fan_in), ("importing most files", fan_out)):
        top = (f"{name.partition('.')[2]} {count}" for name, count in counts.most_common(8))
        yield from ("", title, f"  {', '.join(top)}")
    once = sum(count == 1 for count in fan_in.values())
    yield f"  {once} of {len(tree.files)} files are imported by exactly one other"


def unused(project: Path, tree: Tree) -> dict[str, list[str]]:
    """Definitions of the package that tests alone lead to, and those that nothing leads to.

    A definition is in use where a program, the docs or code outside of all definitions uses it, and
    so is what a definition in use uses.
    """
    uses = [use for file in tree.files.values() for use in tree.uses(file)]
    outside = {name for file in _files(project, _USERS) for _, name in tree.uses(file)}
    tested = {name for file in _files(project, ("tests",)) for _, name in tree.uses(file)}
    inside = {name for user, name in uses if not user}
    used = _reached(outside | inside | _documented(project, tree), uses)
    by_tests = _reached(tested, uses)
    defined = {
        f"{file.module}.{name}"
        for file in tree.files.values()
        if _package(file.module) != _FOR_TESTS
        for name in file.defines
        if not name.startswith("__")
    }
    return {
        "names used by tests alone": sorted((defined & by_tests) - used),
        "names used nowhere": sorted(defined - by_tests - used),
    }


def _reached(start: set[str], uses: Iterable[tuple[str, str]]) -> set[str]:
    """The definitions that some lead to, through what each uses."""
    by_user: dict[str, set[str]] = {}
    for user, name in uses:
        by_user.setdefault(user, set()).add(name)
    reached, todo = set[str](), list(start)
    while todo:
        if (name := todo.pop()) not in reached:
            reached.add(name)
            todo.extend(by_user.get(name, ()))
    return reached


def _files(project: Path, folders: Iterable[str]) -> Iterator[File]:
    for folder in folders:
        for path in sorted((project / folder).rglob("*.py")):
            yield File.of(path, project)


def _documented(project: Path, tree: Tree) -> set[str]:
    """Definitions that the docs, the entry points and the data of papers name."""
    names: set[str] = set()
    for path in (project / "pyproject.toml", project / "README.md", *project.rglob("docs/**/*.md")):
        text = path.read_text(encoding="utf-8")
        names.update(dotted.replace(":", ".") for dotted in _DOTTED.findall(text))
        for module, imported in _FROM_IMPORT.findall(text):
            names.update(f"{module}.{name}" for name in re.findall(r"\w+", imported))
    for path in project.glob("src/*/papers/*/paper.yaml"):
        folder = f"{tree.root}.papers.{path.parent.name}"
        found = _NAMED.findall(path.read_text(encoding="utf-8"))
        names.update(f"{folder}.results.{name}" for name in found)
    return {definition for name in names for definition in tree.definitions(name)}


def _short(folder: Path, project: Path) -> str:
    return folder.relative_to(project).as_posix().removeprefix("src/")


if __name__ == "__main__":
    for line in page(Path(sys.argv[1]) if sys.argv[1:] else Path.cwd()):
        print(line)
