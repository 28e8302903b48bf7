"""Parts built from what people write, and messages about what they wrote wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from penstock.core.errors import SettingError
from penstock.core.schema import Rate, Seconds
from penstock.core.settings import build, choose, near, option_names


@dataclass
class Part:
    """A part with a field of every sort."""

    inner: object
    size: int = 1
    share: float = 0.5
    name: str = "part"
    on: bool = False
    for_: Seconds = 5.0
    pause: Seconds | None = None
    speed: Rate = 100.0
    limit: int | None = None
    degrees: int | Mapping[str, int] = 1
    needs: tuple[str, ...] = ()
    _memory: list[int] = field(default_factory=list)


def made(**given: object) -> Part:
    return build(Part, given, of="the part", inner=None)


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("size", 3, 3),
        ("size", "3", 3),
        ("size", 3.0, 3),
        ("share", "0.25", 0.25),
        ("share", 1, 1.0),
        ("name", "other", "other"),
        ("name", 7, "7"),
        ("on", "yes", True),
        ("on", False, False),
        ("on", "OFF", False),
        ("pause", "2m", 120.0),
        ("pause", None, None),
        ("speed", "2k/s", 2000.0),
        ("limit", None, None),
        ("limit", "4", 4),
        ("degrees", "4", 4),
        ("degrees", {"counter": "4"}, {"counter": 4}),
        ("needs", ["a", "b"], ("a", "b")),
        ("needs", [], ()),
    ],
)
def test_a_value_becomes_what_its_field_holds(key: str, given: object, value: object) -> None:
    assert getattr(made(**{key: given}), key) == value


def test_a_field_named_like_a_word_of_python_is_written_without_its_underscore() -> None:
    assert build(Part, {"for": "1m"}, of="the part", inner=None).for_ == 60.0
    assert option_names(Part)[5] == "for"


def test_dashes_and_underscores_are_the_same() -> None:
    @dataclass
    class Two:
        scale_in: int = 1

    assert build(Two, {"scale-in": 2}, of="two") == build(Two, {"scale_in": 2}, of="two")
    with pytest.raises(SettingError, match="two is given a setting twice"):
        build(Two, {"scale-in": 2, "scale_in": 3}, of="two")


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("size", 2.5, "size of the part must be a whole number, got 2.5"),
        ("size", "many", "size of the part must be a whole number, got 'many'"),
        ("size", True, "size of the part must be a whole number, got True"),
        ("size", None, "size of the part must be a whole number, got nothing"),
        ("size", float("inf"), "size of the part must be a whole number, got inf"),
        ("share", "half", "share of the part must be a number, got 'half'"),
        ("share", True, "share of the part must be a number, got True"),
        ("share", [1], "share of the part must be a number"),
        ("name", ["a"], "name of the part must be a text"),
        ("name", True, "name of the part must be a text, got True"),
        ("on", "perhaps", "on of the part must be true or false, got 'perhaps'"),
        ("on", 1, "on of the part must be true or false, got 1"),
        ("pause", 5, "pause of the part needs a unit, got 5; write 5s"),
        ("speed", 5, "speed of the part needs a unit, got 5; write 5/s"),
        ("limit", "x", "limit of the part must be a whole number, got 'x'"),
        ("degrees", {"a": "x"}, "degrees of the part must be a whole number for a, got 'x'"),
        ("needs", "a", "needs of the part must be a list, got 'a'"),
        ("siz", 3, "the part has no setting 'siz'; did you mean 'size'"),
        ("colour", 3, "the part has no setting 'colour'; there are degrees, for, limit"),
        ("_memory", [1], "the part has no setting '_memory'"),
        ("inner", 1, "the part has no setting 'inner'"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(key: str, given: object, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        made(**{key: given})
    assert "\n" not in str(caught.value)


def test_a_number_in_a_names_place_is_no_setting() -> None:
    with pytest.raises(SettingError, match="the part has no setting 3"):
        build(Part, {3: 4}, of="the part", inner=None)  # type: ignore[dict-item]


def test_what_is_missing_is_listed() -> None:
    @dataclass
    class Needy:
        rate_: Rate
        other: int = 1
        third: int = field(kw_only=True)

    with pytest.raises(SettingError, match="needy needs a value for rate, third"):
        build(Needy, {"other": 2}, of="needy")


def test_a_part_that_checks_itself_is_heard() -> None:
    @dataclass
    class Strict:
        size: int = 1

        def __post_init__(self) -> None:
            raise SettingError(f"size must be odd, got {self.size}")

    with pytest.raises(SettingError, match="size must be odd, got 2"):
        build(Strict, {"size": 2}, of="strict")


def test_a_part_is_chosen_by_either_spelling() -> None:
    kinds = {"dry-run": int, "clamp": str}
    assert choose(kinds, "dry-run", of="guard") is choose(kinds, "dry_run", of="guard") is int


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clmp", "there is no guard 'clmp'; did you mean 'clamp'"),
        ("xyz", "there is no guard 'xyz'; there are clamp, dry-run"),
        (["clamp"], r"there is no guard \['clamp'\]"),
        (None, "there is no guard None"),
    ],
)
def test_a_part_that_is_not_there_is_explained(name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        choose({"dry-run": int, "clamp": str}, name, of="guard")


def test_the_end_of_a_message_names_what_there_is() -> None:
    assert near("xyz", ["b", "a"]) == "; there are a, b"
    assert near("xyz", []) == "; it takes none"
