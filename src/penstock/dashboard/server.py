"""The server of the page: on loopback, unless somebody with a token is to look from elsewhere."""

import errno
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final, Self
from urllib.parse import quote

from penstock.core.errors import SettingError
from penstock.dashboard.access import Gate, token_for
from penstock.dashboard.feed import Feed
from penstock.dashboard.handler import Handler

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
        """Tell the pages what is left to tell, and leave no thread or socket behind."""
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
    """A socket that listens; what stands in the way is told in a sentence."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return Listener(found[0][0], found[0][4][:2], feed)  # type: ignore[arg-type]  # host, port
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
