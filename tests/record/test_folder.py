"""A run folder is written as the run goes and read back, on disks that are full or not ours."""

import json
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.record import RunFolder, RunSettings, load, run_path, summarise
from tests.support.paths import ROOT

SETTINGS = RunSettings(
    pipeline="wordcount",
    plant="twin",
    started=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    graph=FlowGraph(source="count", modules=(Module(name="count"),)),
)


def a_tick(at: float) -> Tick:
    return Tick(
        seen=Observation(at=at, step=1.0, modules={"count": ModuleReading(running=1)}),
        decided=Decision(configuration=Configuration(degrees={"count": 1}), why="enough"),
        asked=None,
    )


def a_finished_run(path: Path, length: int = 3) -> tuple[Tick, ...]:
    ticks = tuple(a_tick(float(at)) for at in range(1, length + 1))
    with RunFolder.create(path, SETTINGS) as folder:
        for tick in ticks:
            folder.write(tick)
        folder.finish(summarise(ticks, None))
    return ticks


def contents(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def test_a_finished_run_is_read_back_whole(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path / "deep" / "run")
    run = load(tmp_path / "deep" / "run")
    assert (run.settings, run.ticks, run.incomplete) == (SETTINGS, ticks, None)
    assert run.summary == summarise(ticks, None)
    assert contents(run.path) == ["settings.json", "summary.json", "ticks.jsonl"]


def test_the_default_folder_has_the_name_of_the_pipeline_and_the_time() -> None:
    at = datetime(2026, 3, 1, 9, 5, 7, tzinfo=UTC)
    assert run_path("../my pipe.yaml", at, root=Path("out")) == Path(
        "out/my-pipe.yaml-20260301-090507"
    )


def test_every_tick_is_there_before_the_next_one_is_seen(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", SETTINGS)
    for count in range(3):
        assert len(load(folder.path).ticks) == count
        folder.write(a_tick(count + 1.0))
    folder.close()


def test_a_killed_run_keeps_what_it_had(tmp_path: Path) -> None:
    died = _python(
        f"""
        import os, signal
        folder = RunFolder.create(Path({str(tmp_path / "run")!r}), SETTINGS)
        folder.write(a_tick(1.0))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert died.returncode == -9
    run = load(tmp_path / "run")
    assert run.ticks == (a_tick(1.0),)
    assert run.summary is None
    assert run.incomplete == "the run did not finish"


def test_a_last_line_that_was_cut_short_is_left_out_and_reported(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path)
    whole = (tmp_path / "ticks.jsonl").read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for end in range(start + 1, len(whole) - 1):
        (tmp_path / "ticks.jsonl").write_bytes(whole[:end])
        run = load(tmp_path)
        assert run.ticks == ticks[:-1]
        assert run.incomplete == "the last line of ticks.jsonl was cut short and is left out"


def test_steps_that_the_summary_has_and_the_ticks_lack_are_reported(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path)
    (tmp_path / "ticks.jsonl").write_text("")
    missing = f"ticks.jsonl has 0 of the {len(ticks)} steps of summary.json"
    assert load(tmp_path).incomplete == missing


def test_a_last_line_without_a_line_end_is_whole(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path)
    path = tmp_path / "ticks.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert load(tmp_path).ticks == ticks
    assert load(tmp_path).incomplete is None


def test_progress_is_one_object_a_line_and_absent_without_events(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", SETTINGS)
    assert not (folder.path / "progress.jsonl").exists()
    folder.write_progress('{\n  "batchId" : 1,\r\n  "name" : "a\u2028b"\n}\n')
    folder.write_progress('{"batchId": 2}')
    folder.close()
    folder.write_progress('{"batchId": 3}')
    lines = (folder.path / "progress.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["batchId"] for line in lines[:-1]] == [1, 2]


def test_events_from_many_threads_stay_whole_lines(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", SETTINGS)
    event = json.dumps({"text": "x" * 5000})

    def write() -> None:
        for _ in range(50):
            folder.write_progress(event)

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder.close()
    assert (folder.path / "progress.jsonl").read_text().splitlines() == [event] * 400


def test_a_finished_run_is_replaced_and_other_files_beside_it_are_kept(tmp_path: Path) -> None:
    a_finished_run(tmp_path, length=3)
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    a_finished_run(tmp_path, length=1)
    assert len(load(tmp_path).ticks) == 1
    assert contents(tmp_path) == ["notes.txt", "settings.json", "summary.json", "ticks.jsonl"]


def test_a_run_that_did_not_finish_is_not_replaced(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, SETTINGS).close()
    with pytest.raises(FileError, match=r"did not finish; remove it or give --out another folder"):
        RunFolder.create(tmp_path, SETTINGS)
    assert load(tmp_path).ticks == ()


@pytest.mark.parametrize("name", ["thesis.doc", "settings.json", "summary.json"])
def test_a_folder_of_something_else_is_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(FileError, match="holds something that is not a run; remove it or give"):
        RunFolder.create(tmp_path, SETTINGS)
    assert contents(tmp_path) == [name]


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(FileError, match="is a file; give --out another folder"):
        RunFolder.create(tmp_path / "run", SETTINGS)
    with pytest.raises(FileError, match="cannot write in the run folder"):
        RunFolder.create(tmp_path / "run" / "below", SETTINGS)


def test_too_little_space_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"only \d+ MB are free .* a run needs 1000000000 MB; free"):
        RunFolder.create(tmp_path / "a" / "b", SETTINGS, least_free=10**15)
    assert contents(tmp_path) == []


def test_too_little_space_keeps_the_finished_run_that_was_there(tmp_path: Path) -> None:
    ticks = a_finished_run(tmp_path)
    with pytest.raises(FileError, match="are free"):
        RunFolder.create(tmp_path, SETTINGS, least_free=10**15)
    assert load(tmp_path).ticks == ticks


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("rm -r .", "does not exist; give the folder that a run left"),
        ("rm -r . && touch $PWD", "is a file; give the folder that a run left"),
        ("rm settings.json", "is not a run: it has no settings.json"),
        ("rm ticks.jsonl", "is not a run: it has no ticks.jsonl"),
        ("echo '{' > settings.json", "settings.json is not JSON: .* at line 2, column 1"),
        ("echo '[]' > settings.json", "cannot read .*settings.json: it must hold an object"),
        ("echo '{}' > settings.json", "format must be a whole number from 1, got None"),
        (
            """echo '{"format": 2, "penstock": "9.1"}' > settings.json""",
            "it was written by penstock 9.1 in format 2, and penstock .* upgrade penstock",
        ),
        (
            "sed -i 's/twin/moon/' settings.json",
            "cannot read .*settings.json: plant must be one of",
        ),
        ("echo '{}' > summary.json", "cannot read .*summary.json: .* is missing"),
        ("echo oops >> ticks.jsonl", "line 4 of .*ticks.jsonl is not JSON"),
        ('sed -i \'2s/"at": 2.0/"at": "x"/\' ticks.jsonl', "line 2 of .*seen.at must be a fin"),
        (r"printf '\377' >> ticks.jsonl", "cannot read .*ticks.jsonl: .*decode"),
    ],
)
def test_what_is_wrong_with_a_folder_is_reported(tmp_path: Path, damage: str, message: str) -> None:
    folder = tmp_path / "run"
    a_finished_run(folder)
    script = damage.replace("rm -r .", "cd .. && rm -r run").replace("$PWD", str(folder))
    subprocess.run(["sh", "-c", script], cwd=folder, check=True)
    with pytest.raises(FileError, match=message):
        load(folder)


def test_a_file_that_may_not_grow_is_reported_and_keeps_whole_lines(tmp_path: Path) -> None:
    limited = _python(
        f"""
        import resource
        folder = RunFolder.create(Path({str(tmp_path / "run")!r}), SETTINGS)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
        for at in range(1, 100):
            folder.write(a_tick(float(at)))
        """
    )
    assert "FileError: cannot write in the run folder" in limited.stderr
    assert "(File too large); give --out a folder elsewhere" in limited.stderr
    run = load(tmp_path / "run")
    assert len(run.ticks) >= 2
    assert run.incomplete == "the run did not finish"


def test_a_full_disk_is_reported_and_keeps_whole_lines(tmp_path: Path) -> None:
    full = _on_small_disk(
        tmp_path,
        """
        folder = RunFolder.create(disk / "run", SETTINGS, least_free=0)
        try:
            for at in range(1, 10_000):
                folder.write(a_tick(float(at)))
        except FileError as error:
            print(error)
        try:
            folder.finish(summarise([], None))
        except FileError as error:
            print(error)
        run = load(disk / "run")
        print(len(run.ticks) > 100, run.incomplete)
        """,
    )
    sentence = "is full; free some space or give --out a folder elsewhere"
    first, second, third = full.splitlines()
    assert first.startswith("the disk of the run folder ")
    assert first.endswith(sentence)
    assert second.endswith(sentence)
    assert third == "True the run did not finish"


def test_a_nearly_full_disk_is_refused_before_the_run(tmp_path: Path) -> None:
    refused = _on_small_disk(
        tmp_path,
        """
        (disk / "ballast").write_bytes(b"0" * (2**20 - 20_000))
        for least in (50_000_000, 0):
            try:
                RunFolder.create(disk / "run", SETTINGS, least_free=least)
            except FileError as error:
                print(error)
        print(sorted(file.name for file in disk.iterdir()))
        """,
    )
    few, probed, left = refused.splitlines()
    assert "only 0 MB are free" in few
    assert "is full; free some space" in probed
    assert left == "['ballast']"


def test_a_read_only_disk_is_reported(tmp_path: Path) -> None:
    refused = _on_small_disk(
        tmp_path,
        """
        import subprocess
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        try:
            RunFolder.create(disk / "run", SETTINGS)
        except FileError as error:
            print(error)
        """,
    )
    assert refused.strip().endswith("is on a read-only file system; give --out a folder elsewhere")


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_of_somebody_else_is_reported(tmp_path: Path, mode: int) -> None:
    (tmp_path / "theirs").mkdir(mode=mode)
    refused = _python(
        f"""
        import os
        theirs = Path({str(tmp_path / "theirs")!r})
        os.chdir(theirs.parent)
        if os.getuid() == 0:  # root may write anywhere: become nobody
            os.chmod(theirs.parent, 0o755)
            os.setuid(65534)
        RunFolder.create(Path("theirs/run"), SETTINGS)
        """
    )
    assert refused.stderr.strip().endswith(
        "FileError: no permission to write in the run folder theirs/run; "
        "give --out a folder elsewhere"
    )


def _python(script: str, *before: str) -> subprocess.CompletedProcess[str]:
    """Run a script that knows this file's names in a process of its own."""
    opening = "from pathlib import Path\nfrom tests.record.test_folder import *\n"
    return subprocess.run(
        [*before, sys.executable, "-c", opening + textwrap.dedent(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _on_small_disk(tmp_path: Path, script: str) -> str:
    """Run a script with a disk of one megabyte, which vanishes with its process."""
    mounted = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    mounted += [f'mount -t tmpfs -o size=1m none {tmp_path} && exec "$@"', "sh"]
    try:
        tried = subprocess.run([*mounted, "true"], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip("mounting is not permitted here")
    done = _python(f"disk = Path({str(tmp_path)!r})\n" + textwrap.dedent(script), *mounted)
    assert done.returncode == 0, done.stderr
    return done.stdout
