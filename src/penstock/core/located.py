"""YAML with the place of every value, so that a mistake is shown where it stands.

>>> draft = read("step: 2s\\nmodules:\\n  split: {replicas: 3}\\n", name="job.yaml")
>>> draft.value
{'step': '2s', 'modules': {'split': {'replicas': 3}}}
>>> draft.note(("modules", "split", "replicas"), "three is too many")
>>> print(draft.mistakes[0])
job.yaml, line 3: three is too many

Plain words are read as in YAML 1.2: `on`, `yes` and `1:30` are texts, `1e3` is a number.

`compose` parses YAML into nodes that know their lines, in C where there is such a parser:

>>> compose("step: 2s").value[0][1].value
'2s'
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import yaml

from penstock.core.errors import FileError


def compose(text: str) -> Any:
    """The outermost node of a text; None where there is none.

    The parser in C explains what it cannot read less well than the one in Python, which therefore
    has the last word.
    """
    with suppress(ImportError, yaml.YAMLError, UnicodeEncodeError):
        return yaml.compose(text, Loader=_fast_loader())
    return yaml.compose(text, Loader=yaml.BaseLoader)


@cache
def _fast_loader() -> Any:
    from yaml._yaml import CParser  # not on every machine
    from yaml.composer import Composer
    from yaml.resolver import BaseResolver

    class FastLoader(Composer, CParser, BaseResolver):
        """Events come from C; nodes are made in Python, where deep nesting ends in no crash."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            BaseResolver.__init__(self)

    return FastLoader


Path = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

MOST_VALUES: Final = 100_000
"""Values that the aliases of a file may add to it; a few nested ones can stand for billions."""

_MOST_SHOWN: Final = 500
"""Characters of a mistake that are shown at either end."""
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Any]] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "false": False,
    ".inf": float("inf"),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}
_REMEDIES: Final = {
    "'\\t'": "indent with spaces, not with tabs",
    "cannot start any token": "put the text into quotes",
    "escape character": "use single quotes for a text with backslashes",
    "mapping values are not allowed": "put a text that holds a colon into quotes, or indent less",
    "could not find expected ':'": "write `key: value`, with a space after the colon",
    "expected <block end>": "indent the keys of one section alike, and close every bracket",
    "expected ','": "close the bracket, or put a comma between the items",
    "expected the node content": "close the bracket",
    "end of stream": "close the quotes",
    "another document": "keep one document a file, without `---`",
    "undefined alias": "define it with & before it is used with *",
}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a value was written: a line of a file, or a setting on the command line."""

    line: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """One sentence about one place."""

    place: Place
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}"


@dataclass(slots=True, kw_only=True)
class Draft:
    """What a file says, where it says it, and which mistakes were found in it."""

    name: str
    value: Any
    places: dict[Path, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    wrong: set[Path] = field(default_factory=set, repr=False)
    """Where mistakes were noted, and where values should be that stand under a misspelt key."""
    _noted: set[Mistake] = field(default_factory=set, repr=False)

    def note(self, path: Path, sentence: str) -> None:
        """Write down a mistake at the place of a value, or of the nearest value around it."""
        self.wrong.add(path)
        self.note_at(self.place(path), sentence)

    def note_at(self, place: Place, sentence: str) -> None:
        """Write down a mistake, once, as one line that fits on a screen."""
        shown = sentence if sentence.isprintable() else repr(sentence)[1:-1]
        if len(shown) > 2 * _MOST_SHOWN:
            shown = f"{shown[:_MOST_SHOWN]} ... {shown[-_MOST_SHOWN:]}"
        mistake = Mistake(place, shown)
        if mistake not in self._noted:
            self._noted.add(mistake)
            self.mistakes.append(mistake)

    def doubts(self, path: Path) -> bool:
        """Whether it is unknown what stands at a path, so that nothing more can be said of it.

        >>> draft = read("modules: {split: 3, count: {}}", name="job.yaml")
        >>> draft.note(("modules", "split"), "it must be a mapping")
        >>> draft.doubts(("modules", "split", "price")), draft.doubts(("modules", "count", "price"))
        (True, False)
        """
        around = (path[:end] for end in range(1, len(path)) if path[:end] in self.wrong)
        return path in self.wrong or any(
            outer not in self.places or not isinstance(self.at(outer), dict | None)
            for outer in around
        )

    def place(self, path: Path) -> Place:
        """Where the value at a path stands, or the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(0, self.name))

    def at(self, path: Path) -> Any:
        """The value at a path; None where there is none."""
        value = self.value
        for key in path:
            inside = isinstance(value, dict) and key in value
            if not inside and not (isinstance(value, list) and key in range(len(value))):
                return None
            value = value[key]
        return value


def read(text: str, *, name: str) -> Draft:
    """Read YAML; a key that stands twice becomes a mistake, bad syntax an error."""
    draft = Draft(name=name, value=None)
    try:
        root = compose(text)
        draft.value = None if root is None else _Values(draft, len(text)).read(root, ())
    except yaml.YAMLError as error:
        raise FileError(_explain(error, text, name)) from None
    except RecursionError:
        raise FileError(f"{name} nests its values too deeply; keep to a few levels") from None
    return draft


def scalar(text: str) -> Any:
    """The value of a plain word, by YAML 1.2.

    >>> [scalar(word) for word in ("2s", "7", "1e3", "on", "1:30", "True", "~")]
    ['2s', 7, 1000.0, 'on', '1:30', True, None]
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


class _Values:
    """Plain values from the nodes of YAML, with their places written into a draft."""

    def __init__(self, draft: Draft, own: int) -> None:
        self.draft = draft
        self.open: list[yaml.Node] = []
        self.left = MOST_VALUES + own

    def read(self, node: yaml.Node, path: Path) -> Any:
        self.left -= 1
        if self.left < 0:
            raise FileError(
                f"{self.draft.name} unfolds to more than {MOST_VALUES} values beyond its own; "
                "use fewer aliases inside aliases"
            )
        if any(node is outer for outer in self.open):
            raise FileError(f"{self._place(node)}: an alias stands inside itself")
        self.draft.places.setdefault(path, self._place(node))
        self.open.append(node)
        try:
            return self._inside(node, path)
        finally:
            self.open.pop()

    def _inside(self, node: yaml.Node, path: Path) -> Any:
        if not node.tag.startswith("tag:yaml.org,2002:"):
            self.draft.note(path, f"there is no tag {node.tag}; leave it out")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
        return node.value if getattr(node, "style", None) else scalar(node.value)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            if _is_merge(key):
                continue
            place = self._place(key)
            if not isinstance(key, yaml.ScalarNode):
                self.draft.note_at(place, "a key must be a word, not a list or a mapping")
                continue
            here = (*path, key.value)
            if key.value in values:
                first = self.draft.places[here].line
                twice = f"{key.value} already stands on line {first}; remove one of them"
                self.draft.note_at(place, twice)
                continue
            self.draft.places.setdefault(here, place)
            values[key.value] = self.read(value, here)
        for inherited in self._merged(node):
            for name, value in self.read(inherited, path).items():
                values.setdefault(name, value)
        return values

    def _merged(self, node: yaml.MappingNode) -> Iterator[yaml.Node]:
        """Mappings that `<<` takes over, of which the first to name a key wins."""
        for key, value in node.value:
            if not _is_merge(key):
                continue
            for one in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(one, yaml.MappingNode):
                    yield one
                else:
                    given = "a list" if isinstance(one, yaml.SequenceNode) else one.value
                    why = f"<< takes over a mapping such as *base, got {given or 'nothing'}"
                    self.draft.note_at(self._place(one), why)

    def _place(self, node: yaml.Node) -> Place:
        line = node.start_mark.line + 1
        return Place(line, f"{self.draft.name}, line {line}")


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == "<<" and not key.style


def _explain(error: yaml.YAMLError, text: str, name: str) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"{name}, line {line}: this is not text; a pipeline file is YAML in UTF-8"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return f"{name} is not YAML: {error}"
    mark = error.problem_mark or error.context_mark
    place = f"{name}, line {mark.line + 1}" if mark else name
    remedy = next((r for sign, r in _REMEDIES.items() if sign in error.problem), "")
    return f"{place}: YAML breaks off here ({error.problem}){'; ' if remedy else ''}{remedy}"
