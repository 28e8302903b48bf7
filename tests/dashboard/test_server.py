"""The server tells the run to whoever may look, and leaves nothing behind."""

import http.client
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import FileError, SettingError
from penstock.core.signals import Configuration
from penstock.dashboard import DashboardServer
from penstock.dashboard.feed import Feed
from penstock.dashboard.server import token_for
from penstock.record import RunFolder, load, summarise
from penstock.record.load import Follower, News
from tests.support.dashboard_runs import (
    EVERYWHERE,
    GRAPH,
    HOSTILE,
    TOKEN,
    finished,
    line,
    settings,
    tick,
    ticks,
)
from tests.support.processes import PATIENCE


def ask(
    server: DashboardServer, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, headers=named)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


@contextmanager
def stream(
    server: DashboardServer, path: str = "/events", **headers: str
) -> Iterator[Iterator[Any]]:
    """Events as they come: (id, data), or the text of a comment."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    try:
        yield _events(answer)
    finally:
        answer.close()
        connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[Any]:
    block: dict[str, str] = {}
    while text := answer.readline().decode():
        name, _, value = text.rstrip("\n").partition(": ")
        if text == "\n":
            if "data" in block:
                yield block.get("event", ""), block.get("id", ""), json.loads(block["data"])
            block = {}
        block[name] = value


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finished(tmp_path / "run", ticks(50))


def test_all_of_a_finished_run_is_reported_at_once_with_the_figures_of_its_summary(
    run: Path,
) -> None:
    with DashboardServer(run) as server:
        status, headers, body = ask(server, "/run.json")
    document, summary = json.loads(body), load(run).summary
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert (document["now"]["state"], len(document["rows"])) == ("finished", 50)
    assert summary is not None
    assert summary.energy is not None
    assert summary.slo is not None
    assert document["now"]["cost"] == pytest.approx(summary.cost)
    assert document["now"]["joules"] == pytest.approx(summary.energy.joules)
    assert document["now"]["violated"] == summary.slo.violated
    columns = {tuple(name): place for place, name in enumerate(document["columns"])}
    arrival = [row[columns["module", "splitter", "arrival_rate"]] for row in document["rows"]]
    assert arrival[3] is None
    assert arrival[4] == pytest.approx(ticks(5)[4].seen.modules["splitter"].arrival_rate)
    changes = [entry for entry in document["decisions"] if entry["kind"] != "hold"]
    assert [entry["ways"] for entry in changes[:2]] == [{"splitter": "out"}] * 2
    assert sum(entry["steps"] for entry in document["decisions"]) == 50


def test_columns_that_come_later_are_added_at_the_end(tmp_path: Path) -> None:
    late = tick(2)
    queries = {"parse": late.seen.modules["counter"]}
    run = [tick(0), tick(1), replace(late, seen=replace(late.seen, queries=queries))]
    file = {"queries": [{"name": "parse", "feeds": ["store"]}]}
    with DashboardServer(finished(tmp_path / "run", run, file=file)) as server:
        document = json.loads(ask(server, "/run.json")[2])
    assert len(document["rows"][0]) < len(document["rows"][2]) == len(document["columns"])
    assert document["columns"][-1][:2] == ["query", "parse"]
    assert document["settings"]["links"] == [["parse", "store"]]


def test_ticks_are_streamed_as_they_are_written(tmp_path: Path) -> None:
    with (
        RunFolder.create(tmp_path / "run", settings()) as folder,
        DashboardServer(tmp_path / "run") as server,
        stream(server) as events,
    ):
        assert next(events)[2]["now"]["state"] == "live"
        folder.write(tick(0))
        _, place, data = next(events)
        assert (len(data["rows"]), place) == (1, f"{data['run']}-1")
        folder.write(tick(1))
        assert next(events)[2]["after"] == 1
        folder.finish(summarise(ticks(2), 2.0, source="splitter", graph=GRAPH))
        assert next(events)[2]["now"]["state"] == "finished"


def test_a_reader_goes_on_where_it_stopped_also_after_a_restart(run: Path) -> None:
    with DashboardServer(run) as server, stream(server) as events:
        _, place, _ = next(events)
    key = place.partition("-")[0]
    with DashboardServer(run) as server:
        with stream(server, Last_Event_ID=f"{key}-48") as events:
            data = next(events)[2]
            assert (data["after"], len(data["rows"])) == (48, 2)
        with stream(server, f"/events?run={key}&after=49") as events:
            assert len(next(events)[2]["rows"]) == 1
        with stream(server, Last_Event_ID="another-48") as events:
            assert len(next(events)[2]["rows"]) == 50
        with stream(server, "/events?after=-7&run=../..") as events:
            assert len(next(events)[2]["rows"]) == 50


def test_closing_reports_the_end_of_the_run_first_and_leaves_nothing(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    received: list[Any] = []
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        server = DashboardServer(tmp_path / "run", waits=True)
        with server:
            folder.write(tick(0))
            with stream(server) as events:
                reader = threading.Thread(target=lambda: received.extend(events))
                reader.start()
                folder.finish(summarise(ticks(1), 2.0, source="splitter", graph=GRAPH))
                server.close()
                reader.join()
    assert received[-2][2]["now"]["state"] == "finished"
    assert received[-1][0] == "bye"
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def test_a_client_that_says_nothing_does_not_keep_the_server_from_closing(run: Path) -> None:
    before = set(threading.enumerate())
    with DashboardServer(run) as server:
        silent = socket.create_connection(("127.0.0.1", server.port))
        ask(server, "/healthz")
    silent.close()
    assert set(threading.enumerate()) == before


def test_a_client_that_never_comes_to_the_point_is_cut_off(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.dashboard.server._ASKING", 0.2)
    with DashboardServer(run) as server:
        slow = socket.create_connection(("127.0.0.1", server.port))
        slow.settimeout(0.05)
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(2000):
            try:
                slow.sendall(b"x")  # never silent for long
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it still listens")
        slow.close()
        with stream(server) as events:  # which has asked, and stays
            next(events)
            server._listener.service_actions()  # type: ignore[union-attr]
            assert ask(server, "/healthz")[0] == 200


def test_a_slow_line_gets_all_of_a_long_answer(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.dashboard.server.Handler.timeout", 1.0)
    long = "x" * 6_000_000
    with DashboardServer(run) as server:
        monkeypatch.setattr(server.feed, "whole", lambda: long)
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(b"GET /run.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = 0
        while read := slow.recv(65_536):
            got += len(read)
            threading.Event().wait(0.02)
        slow.close()
    assert got > len(long)


def test_a_run_that_was_killed_is_distinguished_from_one_that_goes_on(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        folder.write(tick(0))
    with DashboardServer(tmp_path / "run") as server:
        assert json.loads(ask(server, "/run.json")[2])["now"]["state"] == "stopped"
        assert "penstock_up 0" in ask(server, "/metrics")[2]


def test_a_line_that_turns_up_wrong_is_reported_on_the_page(tmp_path: Path) -> None:
    with (
        RunFolder.create(tmp_path / "run", settings()),
        DashboardServer(tmp_path / "run") as server,
    ):
        with stream(server) as events:
            next(events)
            with (tmp_path / "run" / "ticks.jsonl").open("a") as file:
                file.write("{}\n" + line(tick(0)))
            now = next(events)[2]["now"]
        assert "line 1" in now["trouble"]
        assert "is missing" in now["trouble"]


def test_a_name_that_is_no_text_is_scraped_all_the_same(tmp_path: Path) -> None:
    one = tick(0)
    modules = {**one.seen.modules, "half \ud800": one.seen.modules["counter"]}
    run = finished(tmp_path / "run", [replace(one, seen=replace(one.seen, modules=modules))])
    with DashboardServer(run) as server:
        status, _, body = ask(server, "/metrics")
    assert (status, 'module="half ?"' in body) == (200, True)


def test_another_run_in_the_folder_takes_over_the_stream(run: Path) -> None:
    with DashboardServer(run) as server, stream(server) as events:
        old = next(events)[2]
        with RunFolder.create(run, settings(policy="static")) as folder:
            folder.write(tick(7))
            new = next(events)[2]
    assert new["run"] != old["run"]
    assert (new["after"], len(new["rows"])) == (0, 1)


def test_sums_do_not_fall_while_a_run_with_new_settings_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a query of an application starts: Prometheus would take less for a restart."""
    monkeypatch.setattr(sys.modules[Follower.__module__], "_MOST", 2_000)
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        for one in ticks(50):
            folder.write(one)
        feed = Feed(tmp_path / "run")
        feed._first()
        folder.describe(settings(file={"queries": [{"name": "parse"}]}))
        more, polls = True, 0
        while more:
            more, polls = feed._poll().more, polls + 1
            assert "penstock_ticks_total 50\n" in feed.metrics()
        assert polls > 5  # it was read in parts
        assert feed.board is not None
        assert feed.board._settings.file["queries"]
        feed.close()


def test_a_disk_that_fails_is_reported_on_the_page(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Follower) -> News:
        raise OSError(5, "Input/output error")

    with DashboardServer(run) as server, stream(server) as events:
        next(events)
        monkeypatch.setattr(Follower, "poll", fails)
        now = next(events)[2]["now"]
    assert now["trouble"] == f"cannot read {run}: Input/output error"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "does not exist; give the folder that a run left"),
        ("empty", "is not a run: it has no settings.json"),
        ("half", "is not a run: it has no settings.json"),
        ("newer", "in format 99, and penstock .* reads up to format 1; upgrade penstock"),
        ("broken", "line 2 of .* is not JSON"),
    ],
)
def test_a_folder_that_cannot_be_shown_is_refused(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "ticks.jsonl").touch()
    newer = finished(tmp_path / "newer", ticks(1)) / "settings.json"
    newer.write_text(newer.read_text().replace('"format": 1', '"format": 99'))
    with (finished(tmp_path / "broken", ticks(1)) / "ticks.jsonl").open("a") as file:
        file.write("no\n")
    before = set(threading.enumerate())
    with pytest.raises(FileError, match=sentence):
        DashboardServer(tmp_path / name).start()
    assert set(threading.enumerate()) == before


def test_a_folder_without_a_run_is_waited_for_when_asked_to(tmp_path: Path) -> None:
    with DashboardServer(tmp_path / "run", waits=True) as server:
        assert json.loads(ask(server, "/run.json")[2])["now"]["state"] == "waiting"
        assert ask(server, "/metrics")[2].endswith("penstock_up 0\n")
        with stream(server) as events:
            assert next(events)[2]["now"]["state"] == "waiting"
            with RunFolder.create(tmp_path / "run", settings()):
                assert next(events)[2]["now"]["state"] == "live"


def test_the_page_is_whole_and_may_load_nothing(run: Path) -> None:
    with DashboardServer(run) as server:
        status, headers, body = ask(server, "/")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", body)
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")


def test_unknown_paths_and_other_methods_are_refused(run: Path) -> None:
    with DashboardServer(run) as server:
        assert ask(server, "/healthz")[::2] == (200, "ok\n")
        assert ask(server, "/settings.json")[0] == 404
        assert ask(server, "/../settings.json")[0] == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
            status, headers, body = ask(server, "/", method)
            assert (status, headers["Allow"]) == (405, "GET, HEAD")
            assert body == f"{method} is not for here; use GET\n"
        assert ask(server, "/", "HEAD")[::2] == (200, "")


def test_names_that_point_here_from_elsewhere_are_refused_on_loopback(run: Path) -> None:
    with DashboardServer(run) as server:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            status, _, body = ask(server, "/run.json", Host=host)
            assert (status, "this machine only" in body) == (403, True)
        for host in ("localhost", f"127.0.0.1:{server.port}", "LOCALHOST:1", "[::1]:80"):
            assert ask(server, "/run.json", Host=host)[0] == 200


def test_other_hosts_need_the_token(run: Path) -> None:
    with DashboardServer(run, EVERYWHERE, token=TOKEN) as server:
        assert server.address.endswith(f"/?token={TOKEN}")
        for path in ("/", "/run.json", "/events", "/metrics", "/healthz", "/?token=wrong"):
            status, headers, body = ask(server, path)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert body.startswith("a token is needed; open the address that penstock printed")
        assert ask(server, "/", "POST")[0] in (401, 405)
        assert ask(server, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert ask(server, "/metrics", Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert ask(server, "/metrics", Authorization=f"Basic {TOKEN}")[0] == 401
        assert ask(server, f"/metrics?token={TOKEN}")[0] == 200
        status, headers, _ = ask(server, f"/?token={TOKEN}")
        assert (status, headers["Location"]) == (303, "/")
        cookie = headers["Set-Cookie"]
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax")
        assert ask(server, "/", Cookie=cookie.partition(";")[0])[0] == 200
        assert ask(server, "/", Cookie=f"penstock-{server.port}=x")[0] == 401
        assert ask(server, "/", Host="any.example", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_an_address_cannot_put_words_into_the_answer_of_a_known_visitor(run: Path) -> None:
    with DashboardServer(run, EVERYWHERE, token=TOKEN) as server:
        cookie = f"penstock-{server.port}={TOKEN}"
        sent = "/?token=x%0d%0aX-Injected:%20yes%0d%0a%0d%0a<script>alert(1)</script>"
        status, headers, body = ask(server, sent, Cookie=cookie)
        assert (status, headers["Location"], body) == (303, "/", "")
        assert "X-Injected" not in headers
        assert headers["Set-Cookie"].startswith(f"{cookie};")  # still a visitor afterwards


def test_an_address_that_is_none_is_refused_in_a_sentence(run: Path) -> None:
    with DashboardServer(run) as server:
        status, _, body = ask(server, "http://[::1/run.json", Host="localhost")
    assert (status, body) == (400, "there is no such address as 'http://[::1/run.json'\n")


def test_a_token_is_made_only_where_one_is_needed_and_weak_ones_are_refused() -> None:
    assert token_for("127.0.0.1", None) is None
    assert token_for("localhost", TOKEN) == TOKEN
    made = {token_for(EVERYWHERE, None) for _ in range(5)}
    assert len(made) == 5
    assert all(token is not None and len(token) >= 32 for token in made)
    with pytest.raises(SettingError, match=r"16 to 200 .*, got 5 characters; leave it out"):
        token_for(EVERYWHERE, "short")
    with pytest.raises(SettingError, match="16 to 200"):
        token_for(EVERYWHERE, "with spaces and; semicolons")


def test_pages_of_other_sites_cannot_hold_a_stream(run: Path) -> None:
    with DashboardServer(run) as server:
        status, _, body = ask(server, "/events", Sec_Fetch_Site="cross-site")
    assert (status, body) == (403, "events are for this page only\n")


def test_so_many_pages_and_no_more(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.dashboard.server._PAGES", 2)
    with DashboardServer(run) as server, stream(server) as one, stream(server) as two:
        next(one)
        next(two)
        status, headers, body = ask(server, "/events")
        assert (status, headers["Retry-After"]) == (503, "10")
        assert body == "too many pages are open on this run; close one and try again\n"
        assert ask(server, "/run.json")[0] == 200


def test_silence_is_broken_by_a_comment(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.dashboard.server._HEARTBEAT", 0.05)
    with DashboardServer(run) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        assert any(answer.readline() == b": still here\n" for _ in range(20))
        answer.close()
        connection.close()


def test_a_port_in_use_is_refused_with_the_remedy(run: Path) -> None:
    with DashboardServer(run) as server:
        taken = server.port
        with pytest.raises(
            SettingError, match=f"port {taken} of 127.0.0.1 is in use; choose another"
        ):
            DashboardServer(run, port=taken).start()
    with pytest.raises(SettingError, match="is no address of this machine; give --host 127"):
        DashboardServer(run, "192.0.2.1", token=TOKEN).start()


def test_reasons_are_reported_as_they_are(tmp_path: Path) -> None:
    with DashboardServer(finished(tmp_path / "run", [tick(0, HOSTILE)])) as server:
        assert json.loads(ask(server, "/run.json")[2])["decisions"][0]["why"] == [[HOSTILE, 1]]


def test_a_dry_run_lists_what_it_advises(tmp_path: Path) -> None:
    one = tick(0)
    wish = Configuration(degrees={"splitter": 4, "counter": 2})
    advised = replace(one, decided=replace(one.decided, proposed=wish), asked=None)
    run = finished(tmp_path / "run", [advised, advised], file={"guards": ["dry-run"]})
    with DashboardServer(run) as server:
        (entry,) = json.loads(ask(server, "/run.json")[2])["decisions"]
    assert (entry["kind"], entry["what"], entry["steps"]) == ("advised", ["splitter 1 \u2192 4"], 2)
