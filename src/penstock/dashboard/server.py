"""The server of the page: on loopback, or with a token from elsewhere.

It answers with the page, the run as server-sent events, and the metrics.
"""

import base64
import errno
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, quote, urlsplit

from penstock.core.errors import SettingError
from penstock.dashboard.feed import Feed
from penstock.dashboard.metrics import CONTENT_TYPE
from penstock.report.pages import LIVE, render, script, style

# A run as server-sent events: batches of ticks, each with the place to go on from.


_HEARTBEAT: Final = 15.0
"""Seconds of silence after which a comment shows that the connection stands."""
_PACE: Final = 0.1
"""Seconds between two batches at least: a page draws no faster than eyes can follow."""


@dataclass(frozen=True, slots=True)
class Place:
    """How much of which run a page has.

    >>> Place.parse("0a1b-250", {}), Place.parse(None, {"after": "7", "run": "0a1b"})
    (Place(run='0a1b', after=250), Place(run='0a1b', after=7))
    >>> Place.parse("nonsense", {"after": "-3"})
    Place(run='', after=0)
    """

    run: str
    after: int

    @classmethod
    def parse(cls, last_id: str | None, query: Mapping[str, str]) -> "Place":
        """From the header that a browser sends when it comes back, else from the query."""
        run, _, after = (last_id or "").rpartition("-")
        if not run:
            run, after = query.get("run", ""), query.get("after", "")
        return cls(run, int(after) if after.isdecimal() and len(after) < 16 else 0)


def events(feed: Feed, place: Place) -> Iterator[str]:
    """What is new, as it comes, until the feed closes; a comment where nothing happens."""
    yield "retry: 1000\n\n"
    sent: object = None
    columns = -1

    def is_news() -> bool:
        board = feed.board
        there = place if board is None else Place(board.key, len(board.rows))
        return there != place or sent != feed.status

    while True:
        with feed.changed:
            if not is_news() and not feed.closing:
                feed.changed.wait(_HEARTBEAT)
            board, closing = feed.board, feed.closing
            if not is_news():
                text = "event: bye\ndata: {}\n\n" if closing else ": still here\n\n"
            elif board is None:
                text, sent = 'data: {"now":{"state":"waiting"}}\n\n', feed.status
            else:
                after = min(place.after, len(board.rows)) if place.run == board.key else 0
                data, until = board.batch(after, feed.status, columns=columns != board.width())
                place, sent, columns = Place(board.key, until), feed.status, board.width()
                text = f"id: {board.key}-{until}\ndata: {data}\n\n"
        yield text
        if text.startswith("event: bye"):
            return
        if not text.startswith(":"):
            time.sleep(_PACE)


# The page: one answer that needs no other file, and a policy that lets it load none.


@cache
def page() -> tuple[bytes, str]:
    """The page, and its Content-Security-Policy."""
    text = render("live.html", package=LIVE, title="penstock")
    policy = (
        f"default-src 'none'; script-src {_hash(script(LIVE))}; "
        f"style-src {_hash(style(LIVE))}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return text.encode(), policy


def _hash(text: str) -> str:
    """Of what stands in an element, which a line break begins."""
    digest = hashlib.sha256(f"\n{text}".encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


# The answer to one request.


_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_PIECE: Final = 65_536
_TEXT: Final = "text/plain; charset=utf-8"


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for a handful of paths, each request on a connection of its own."""

    server: "Listener"
    server_version = "penstock"
    sys_version = ""
    timeout = 20  # seconds that a client may keep us waiting for anything at all

    def do_GET(self) -> None:
        """Answer, where the one who asks may look."""
        self.server.heard(self.connection)
        try:
            url = urlsplit(self.path)
        except ValueError:  # half an IPv6 address in it, such as http://[::1
            self._sentence(400, f"there is no such address as {self.path[:80]!r}")
            return
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        refused = self.server.gate.refusal(self.headers, query.get("token"))
        if refused is not None:
            self._sentence(*refused)
        elif url.path == "/" and "token" in query:
            self._remember()
        else:
            self._answer(url.path, query)

    do_HEAD = do_GET  # noqa: N815  # the name that http.server looks for

    def __getattr__(self, name: str) -> object:
        """Any other method than GET and HEAD is refused, by whatever name."""
        if name.startswith("do_"):
            return self._not_allowed
        raise AttributeError(name)

    def _answer(self, path: str, query: dict[str, str]) -> None:
        feed = self.server.feed
        if path == "/":
            body, policy = page()
            self._send(200, "text/html; charset=utf-8", body, {"Content-Security-Policy": policy})
        elif path == "/run.json":
            self._send(200, "application/json", feed.whole().encode())
        elif path == "/metrics":
            self._send(200, CONTENT_TYPE, feed.metrics().encode(errors="replace"))
        elif path == "/healthz":
            self._send(200, _TEXT, b"ok\n")
        elif path == "/events":
            self._stream(query)
        else:
            self._sentence(
                404, "there is no such page; there are /, /run.json, /events, /metrics and /healthz"
            )

    def _stream(self, query: dict[str, str]) -> None:
        """Server-sent events until one side has had enough."""
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            self._sentence(403, "events are for this page only")
            return
        if self.command == "HEAD":
            self._send(200, "text/event-stream", b"")
            return
        if not self.server.seats.acquire(blocking=False):
            busy = "too many pages are open on this run; close one and try again"
            self._sentence(503, busy, {"Retry-After": "10"})
            return
        try:
            self._head(200, "text/event-stream", {})
            place = Place.parse(self.headers.get("Last-Event-ID"), query)
            for text in events(self.server.feed, place):
                self._write(text.encode())
        finally:
            self.server.seats.release()

    def _remember(self) -> None:
        """Keep the token in a cookie and out of the address, which ends up in histories.

        It is our own and never what the address says: a visitor with the cookie may have been sent
        here by another site, with another token or a line break in the address.
        """
        gate = self.server.gate
        cookie = f"{gate.cookie}={gate.token}; Path=/; HttpOnly; SameSite=Lax"
        kept = {"Set-Cookie": cookie} if gate.token else {}
        self._send(303, _TEXT, b"", {"Location": "/", **kept})

    def _not_allowed(self) -> None:
        self._sentence(405, f"{self.command} is not for here; use GET", {"Allow": "GET, HEAD"})

    def _sentence(self, status: int, sentence: str, more: dict[str, str] | None = None) -> None:
        given = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        self._send(status, _TEXT, f"{sentence}\n".encode(), {**given, **(more or {})})

    def _send(
        self, status: int, kind: str, body: bytes, more: dict[str, str] | None = None
    ) -> None:
        self._head(status, kind, {"Content-Length": str(len(body)), **(more or {})})
        if self.command != "HEAD":
            self._write(body)

    def _write(self, body: bytes) -> None:
        """In pieces, each of which has its time: a slow line is no reason to hang up."""
        for start in range(0, len(body), _PIECE):
            self.wfile.write(body[start : start + _PIECE])

    def _head(self, status: int, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **_HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as http.server has it
        """Quiet, unless somebody looks for an error."""
        if os.environ.get("PENSTOCK_DEBUG"):
            sys.stderr.write(f"penstock: {self.address_string()} {format % args}\n")


# Who may look: on loopback every user of this machine, elsewhere those with the token.


_TOKEN: Final = re.compile(r"[\w.~-]{16,200}", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
    [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(host: str, given: str | None) -> str | None:
    """The token that is needed: the one given, a new one off loopback, else none."""
    if given is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(given):
        raise SettingError(
            "a token needs 16 to 200 letters, digits or any of - _ . ~, "
            f"got {len(given)} characters; leave it out and one is made"
        )
    return given


class Gate:
    """Decides about each request from its headers and its query."""

    def __init__(self, host: str, port: int, token: str | None) -> None:
        self.token = token
        self.cookie = f"penstock-{port}"  # cookies are shared by all ports of a host
        self._local = is_loopback(host)
        self._host = host.lower()

    def refusal(self, headers: Message, given: str | None) -> tuple[int, str] | None:
        """Why a request is refused, with its status; None where it is not."""
        host = headers.get("Host", "")
        if self._local and not self._is_ours(host):
            return (
                403,
                f"this page is for this machine only; open it as localhost, not as {host[:80]!r}",
            )
        if self.token is not None and not self._knows(headers, given):
            return (
                401,
                "a token is needed; open the address that penstock printed, with its ?token=",
            )
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this machine: a page elsewhere may have its own name point
        here, to read with the visitor's browser what it could not reach itself."""
        name = re.sub(r":\d+$", "", host).strip("[]").lower()
        return name == self._host or is_loopback(name)

    def _knows(self, headers: Message, given: str | None) -> bool:
        """Whether the token comes with the address, in a header or in our cookie."""
        scheme, _, bearer = headers.get("Authorization", "").partition(" ")
        kept = None
        with suppress(CookieError):
            kept = SimpleCookie(headers.get("Cookie", "")).get(self.cookie)
        tokens = (given, bearer.strip() * (scheme.lower() == "bearer"), kept and kept.value)
        ours = (self.token or "").encode()
        return any(hmac.compare_digest(word.encode(), ours) for word in tokens if word)


_PAGES: Final = 24
"""Pages that may follow at a time; each has a thread."""
_REQUESTS: Final = 64
"""Connections at a time, those included."""
_ASKING: Final = 20.0
"""Seconds to ask in: a client that sends a letter now and then would stay for ever."""
_PATIENCE: Final = 2.0
"""Seconds that requests have to end by themselves when the server closes."""


class DashboardServer:
    """Serves the page of a run folder, in the background.

    with DashboardServer(Path("runs/demo"), port=0) as server:
        print(server.address)                    # http://127.0.0.1:41234/

    Off loopback a token is needed: the one given, or a new one. `waits` is for a folder in which
    the run is still to begin.
    """

    def __init__(
        self,
        path: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        *,
        waits: bool = False,
    ) -> None:
        self.token = token_for(host, token)
        self.host, self.port = host, port
        self.feed = Feed(path, waits=waits)
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Where the page is, with the token that it needs."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        token = f"?token={quote(self.token)}" if self.token else ""
        return f"http://{host}:{self.port}/{token}"

    def start(self) -> None:
        """Read the folder and listen; raises where either cannot be done."""
        self._listener = listen(self.host, self.port, self.feed)
        try:
            self.port = self._listener.server_address[1]
            self._listener.gate = Gate(self.host, self.port, self.token)
            self.feed.start()
        except BaseException:
            self._listener.server_close()
            raise
        serve = self._listener.serve_forever
        self._thread = threading.Thread(
            target=serve, args=(0.2,), name="penstock-page", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Send the pages the last events, and end all threads and sockets."""
        if self._listener is None or self._thread is None:
            return
        self.feed.close()
        self._listener.shutdown()
        self._thread.join()
        self._listener.hang_up(_PATIENCE)
        self._listener.server_close()  # waits for the threads of requests
        self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Listener(ThreadingHTTPServer):
    """Takes so many connections at a time and no more."""

    daemon_threads = False  # waited for when it closes
    request_queue_size = 64
    gate: Gate

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int], feed: Feed) -> None:
        self.address_family = family
        self.feed = feed
        self.seats = threading.BoundedSemaphore(_PAGES)
        self._room = threading.BoundedSemaphore(_REQUESTS)
        self._open: dict[socket.socket, float | None] = {}
        """When each came; None once it has asked."""
        self._none_open = threading.Condition()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """As `TCPServer` does: asking the network for our own name may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand a request to a thread, or hang up where there are too many."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one request, on a thread of its own."""
        with self._none_open:
            self._open[request] = time.monotonic()
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()
            with self._none_open:
                self._open.pop(request, None)
                self._none_open.notify_all()

    def heard(self, request: socket.socket) -> None:
        """It has asked, and may take its time over the answer."""
        with self._none_open:
            self._open[request] = None

    def service_actions(self) -> None:
        """Cut off who does not come to the point; called several times a second."""
        late = time.monotonic() - _ASKING
        with self._none_open:
            self._cut([one for one, came in self._open.items() if came is not None and came < late])

    def hang_up(self, patience: float) -> None:
        """Let requests end by themselves for a while, then cut them off."""
        with self._none_open:
            if not self._none_open.wait_for(lambda: not self._open, timeout=patience):
                self._cut(self._open)

    def _cut(self, requests: Iterable[socket.socket]) -> None:
        for request in requests:
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of ours."""


def listen(host: str, port: int, feed: Feed) -> Listener:
    """A socket that listens; raises a SettingError that says what prevents it."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return Listener(addresses[0][0], addresses[0][4][:2], feed)  # type: ignore[arg-type]  # host, port
    except OSError as error:
        raise SettingError(_sentence(host, port, error)) from None


def _sentence(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another, or 0 for any that is free"
    if error.errno == errno.EACCES:
        return f"no permission to listen on port {port}; choose one above 1023"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine; give --host 127.0.0.1 or one that it has"
    return f"cannot listen on {host}:{port} ({error.strerror}); choose another host or port"
