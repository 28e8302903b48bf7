"""One request: which answer, to whom."""

import os
import sys
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from penstock.dashboard.events import Place, events
from penstock.dashboard.page import page
from penstock.dashboard.prometheus import CONTENT_TYPE

if TYPE_CHECKING:
    from penstock.dashboard.server import Listener

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

        It is our own and never what the address says: whoever has the cookie may have been sent
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
