"""Python sources as data, by `ast` alone: what each file imports, defines and uses.

`File.of` reads one file; `Tree` answers questions about all of them: which file a dotted name leads
to, which files stand behind an entry point, which definitions a file uses.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import filter as filter_
from functools import cached_property
from pathlib import Path

_IMPORT_STRING = re.compile(r"[a-z_]\w*(\.\w+)+(:\w+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A Python file; whatever it imports is a dotted name, such as `penstock.core.units.parse`."""

    path: Path
    module: str
    lines: int
    defines: frozenset[str]
    """Functions, classes and constants at the top level."""
    loads: frozenset[str]
    """Imports that run when the file is loaded."""
    imports: frozenset[str]
    """All imports, those inside functions too, but none that only a type checker sees."""
    strings: frozenset[str]
    """String constants that may be import strings, such as `penstock.policy.mpc:Mpc`."""
    on_spark: frozenset[str]
    """Import strings of what an application runs on Spark (`AppSpec(spark=...)`), which only the
    deployment of a pipeline loads."""
    bindings: Mapping[str, frozenset[str]]
    """What the names that are imported here stand for."""
    names: frozenset[tuple[str, str]]
    """Names that the code reads, each behind the definition at the top level that reads it, or
    behind an empty text; a definition's own name inside it is left out."""
    attributes: frozenset[tuple[str, str]]
    """Attributes that the code reads, likewise."""
    quoted: frozenset[tuple[str, str]]
    """`strings` and `on_spark`, likewise."""

    @classmethod
    def of(cls, path: Path, root: Path) -> "File":
        """The file at `path`, whose module name counts from the folder `root`."""
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(root).with_suffix("").parts
        reader = _Reader()
        reader.visit(ast.parse(text))
        return cls(
            path=path,
            module=".".join(parts[:-1] if parts[-1] == "__init__" else parts),
            lines=len(text.splitlines()),
            defines=frozenset(reader.defines),
            loads=frozenset(reader.loads),
            imports=frozenset(reader.imports),
            strings=frozenset(reader.strings - reader.on_spark),
            on_spark=frozenset(reader.on_spark),
            bindings={name: frozenset(targets) for name, targets in reader.bindings.items()},
            names=frozenset(reader.names),
            attributes=frozenset(reader.attributes),
            quoted=frozenset(reader.quoted),
        )


@dataclass(slots=True)
class _Reader(ast.NodeVisitor):
    """Collects what `File` holds in one walk over the syntax tree."""

    defines: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    on_spark: set[str] = field(default_factory=set)
    bindings: dict[str, set[str]] = field(default_factory=dict)
    names: set[tuple[str, str]] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    quoted: set[tuple[str, str]] = field(default_factory=set)
    inside: list[str] = field(default_factory=list)
    """The definitions around the node, the outermost first."""
    for_types: bool = False
    """Whether the node runs for a type checker alone."""

    @property
    def owner(self) -> str:
        """The definition at the top level around the node; empty outside of all, and inside those
        that Python itself calls, such as `__getattr__`."""
        return self.inside[0] if self.inside and not self.inside[0].startswith("__") else ""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._quoted(node.returns)
        self._definition(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if not self.inside:
            self.defines.add(node.name)
        self.inside.append(node.name)
        self.generic_visit(node)
        self.inside.pop()

    def visit_If(self, node: ast.If) -> None:
        before = self.for_types
        self.for_types |= "TYPE_CHECKING" in ast.unparse(node.test)
        self.generic_visit(node)
        self.for_types = before

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(alias.asname or alias.name.partition(".")[0], alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._imported(alias.asname or alias.name, f"{node.module}.{alias.name}")

    def _imported(self, name: str, target: str) -> None:
        self.bindings.setdefault(name, set()).add(target)
        if not self.for_types:
            self.imports.add(target)
            if not self.inside:
                self.loads.add(target)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id != self.owner:
                self.names.add((self.owner, node.id))
        elif not self.inside:
            self.defines.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.attributes.add((self.owner, node.attr))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _IMPORT_STRING.fullmatch(node.value):
            self.strings.add(node.value.replace(":", "."))
            self.quoted.add((self.owner, node.value.replace(":", ".")))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A module by a computed name: `f"penstock.papers.{name}.reproduce"`."""
        parts = [str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values]
        if _IMPORT_STRING.fullmatch("".join(parts).replace("*", "x")):
            self.quoted.add((self.owner, "".join(parts)))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg == "spark" and isinstance(node.value, ast.Constant):
            self.on_spark.add(str(node.value.value).replace(":", "."))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        self._constant(target.id if isinstance(target, ast.Name) else "", node)

    def _constant(self, name: str, node: ast.AST) -> None:
        """A constant at the top level reads what its value names."""
        if self.inside or not name:
            self.generic_visit(node)
            return
        self.defines.add(name)
        self.inside.append(name)
        self.generic_visit(node)
        self.inside.pop()

    def visit_arg(self, node: ast.arg) -> None:
        self._quoted(node.annotation)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._quoted(node.annotation)
        self._constant(node.target.id if isinstance(node.target, ast.Name) else "", node)

    def _quoted(self, annotation: ast.expr | None) -> None:
        """Names inside the quotes of an annotation such as `"SparkSession"`."""
        for node in ast.walk(annotation) if annotation else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.names.update((self.owner, n) for n in re.findall(r"\w+", node.value))


@dataclass(frozen=True)
class Tree:
    """All files of a package, by module."""

    files: Mapping[str, File]

    @classmethod
    def of(cls, folder: Path) -> "Tree":
        """Every Python file below the folder of a package."""
        found = (File.of(path, folder.parent) for path in sorted(folder.rglob("*.py")))
        return cls({file.module: file for file in found})

    @property
    def root(self) -> str:
        """The package's own name."""
        return min(self.files, key=len)

    def module(self, dotted: str) -> str | None:
        """The file that a dotted name leads to: the longest part of it that is a module."""
        while dotted and dotted not in self.files:
            dotted = dotted.rpartition(".")[0]
        return dotted or None

    def modules(self, dotted: Iterable[str]) -> set[str]:
        """The files that dotted names lead to."""
        return {module for name in dotted if (module := self.module(name))}

    @cached_property
    def direct(self) -> Mapping[str, set[str]]:
        """For each file, the files that its import statements name."""
        return {name: self.modules(file.imports) - {name} for name, file in self.files.items()}

    def closure(self, entry: str) -> set[str]:
        """Every file that an entry point may import.

        A file that is *used* counts with all its imports and import strings. The packages around it
        are *loaded*: they count with the imports that run as they load. So does the root package,
        around every file, unless it is the entry itself. What applications run on Spark counts
        where pipelines are deployed.
        """
        reached: set[tuple[str, bool]] = set()
        todo = [(entry, True)]
        while todo:
            if (step := todo.pop()) in reached:
                continue
            reached.add(step)
            name, used = step
            file = self.files[name]
            targets = self.modules(file.imports | file.strings if used else file.loads)
            if name == f"{self.root}.pipeline.deploy.pipeline":
                targets |= self.modules(t for f in self.files.values() for t in f.on_spark)
            todo.extend((target, used and target != self.root) for target in targets)
            todo.extend((parent, False) for parent in _parents(name))
        return {name for name, _ in reached}

    def definitions(self, dotted: str) -> Iterator[str]:
        """Where the thing with a dotted name is defined, whatever package exports it."""
        package, _, name = dotted.rpartition(".")  # it may export a name that a module has too
        if (file := self.files.get(package)) is None:
            return
        if name in file.defines:
            yield dotted
        for target in file.bindings.get(name, frozenset()) - {dotted}:
            yield from self.definitions(target)

    def uses(self, file: File) -> Iterator[tuple[str, str]]:
        """The definitions of this package that a file uses, each behind the definition in that file
        which uses it, or behind an empty text. To export a name is not to use it."""
        ours = file is self.files.get(file.module)
        modules = {t for targets in file.bindings.values() for t in targets if t in self.files}
        modules |= {m for _, name in file.quoted if "*" in name for m in filter_(self.files, name)}
        read = {(by, t) for by, name in file.names for t in file.bindings.get(name, ())}
        read |= file.quoted
        if ours:
            read |= {(by, f"{file.module}.{n}") for by, n in file.names if n in file.defines}
        # a module as an object: commands, registries
        read |= {(by, f"{module}.{name}") for module in modules for by, name in file.attributes}
        for by, name in read:
            user = f"{file.module}.{by}" if ours and by else ""
            for definition in self.definitions(name):
                yield user, definition


def _parents(module: str) -> Iterator[str]:
    """The packages around a module."""
    while module := module.rpartition(".")[0]:
        yield module
