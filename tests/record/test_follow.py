"""A run folder is followed while it is written, whatever happens to it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.core.errors import FileError
from penstock.record import RunFolder
from penstock.record.folder import is_going_on
from penstock.record.load import Follower
from tests.support.dashboard_runs import finished, line, settings, tick, ticks

Follow = Callable[..., Follower]


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Makes followers, and closes them."""
    with ExitStack() as made:
        yield lambda path, **more: made.enter_context(Follower(path, **more))


def test_ticks_come_as_they_are_written_and_the_summary_ends_it(
    tmp_path: Path, follow: Follow
) -> None:
    follower = follow(tmp_path / "run")
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        first = follower.poll()
        assert first.settings is not None
        assert (first.settings.pipeline, first.ticks, first.summary) == ("wordcount", (), None)
        folder.write(tick(0))
        folder.write(tick(1))
        assert follower.poll().ticks == (tick(0), tick(1))
        assert follower.poll().ticks == ()
    finished_at = tmp_path / "other"
    follower = follow(finished(finished_at, ticks(5)))
    news = follower.poll()
    assert (len(news.ticks), news.summary is not None) == (5, True)
    assert follower.poll().summary is None


def test_a_torn_line_waits_for_the_rest(tmp_path: Path, follow: Follow) -> None:
    with RunFolder.create(tmp_path, settings()):
        pass
    follower, text = follow(tmp_path), line(tick(0)) + line(tick(1))
    with (tmp_path / "ticks.jsonl").open("a") as file:
        for start in range(0, len(text), 1000):
            file.write(text[start : start + 1000])
            file.flush()
            if start == 0:
                assert follower.poll().ticks == ()
    assert follower.poll().ticks == (tick(0), tick(1))


def test_a_last_line_without_its_end_counts_once_the_run_has_finished(
    tmp_path: Path, follow: Follow
) -> None:
    finished(tmp_path, ticks(3))
    path = tmp_path / "ticks.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    assert len(follow(tmp_path).poll().ticks) == 3
    path.write_text(path.read_text()[:-30])
    news = follow(tmp_path).poll()
    assert (len(news.ticks), news.trouble) == (2, None)


def test_another_run_in_the_same_folder_takes_over(tmp_path: Path, follow: Follow) -> None:
    finished(tmp_path, ticks(4))
    follower = follow(tmp_path)
    old = follower.poll()
    with RunFolder.create(tmp_path, settings(policy="static")) as folder:
        assert follower.poll().settings is None
        folder.write(tick(9))
        new = follower.poll()
    assert new.settings is not None
    assert new.settings.policy == "static"
    assert new.ticks == (tick(9),)
    assert new.key != old.key


def test_a_fresh_follower_passes_over_the_run_that_is_to_be_replaced(
    tmp_path: Path, follow: Follow
) -> None:
    finished(tmp_path, ticks(4))
    follower = follow(tmp_path, fresh=True)
    assert follower.poll().settings is None
    with RunFolder.create(tmp_path, settings()) as folder:
        folder.write(tick(9))
        assert follower.poll().ticks == (tick(9),)


def test_a_line_that_is_wrong_is_reported_and_passed_over(tmp_path: Path, follow: Follow) -> None:
    with RunFolder.create(tmp_path, settings()):
        pass
    with (tmp_path / "ticks.jsonl").open("a") as file:
        file.write(line(tick(0)) + "nonsense\n" + line(tick(1)))
    news = follow(tmp_path).poll()
    assert len(news.ticks) == 2
    assert news.trouble is not None
    assert news.trouble.startswith(f"line 2 of {tmp_path / 'ticks.jsonl'} is not JSON")


def test_a_newer_format_is_refused_with_both_numbers_and_the_remedy(
    tmp_path: Path, follow: Follow
) -> None:
    finished(tmp_path, ticks(1))
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 7, "penstock": "9.0"}))
    with pytest.raises(FileError, match=r"9\.0 in format 7.*up to format 1; upgrade penstock"):
        follow(tmp_path).check()
    assert "format 7" in (follow(tmp_path).poll().trouble or "")


def test_a_folder_with_a_writer_is_distinguished_from_one_without(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, settings()):
        assert is_going_on(tmp_path)
    assert not is_going_on(tmp_path)
    assert not is_going_on(tmp_path / "nowhere")
