"""A cluster whose workers are pages on loopback: some answer, some are stuck, none needs Spark."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock.spark.cluster.offer import Offer


class Page(BaseHTTPRequestHandler):
    """Says that it is there."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"executors": []}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing about it."""


@dataclass
class Workers:
    """A cluster that starts and releases workers by writing them down."""

    well: str
    """The address of a page that answers."""
    stuck: str
    """The address of one that takes the question and says nothing."""
    offers: dict[str, Offer] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    starting: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    released: list[str] = field(default_factory=list)
    lives: dict[str, int] = field(default_factory=dict)
    """How often a worker was started again."""
    master_answers: bool = True

    def add(self, offer: Offer, /) -> None:
        self.offers[offer.name] = offer
        self.starting.add(offer.name)

    def release(self, name: str, /) -> None:
        self.released.append(name)

    def ended(self, name: str, /) -> bool:
        return name in self.dead

    def check(self) -> None:
        """It never ends."""

    def state(self, _timeout: float = 1.0, /) -> dict[str, Any]:
        if not self.master_answers:
            return {}
        away = {*self.starting, *self.released, *self.dead}
        here = [offer for name, offer in self.offers.items() if name not in away]
        return {"workers": [self._worker(number, offer) for number, offer in enumerate(here)]}

    def settle(self) -> None:
        """Everybody who was starting has registered."""
        self.starting.clear()

    def _worker(self, number: int, offer: Offer) -> dict[str, Any]:
        slots = [f"{offer.name}/{slot}" for slot in range(1, offer.cores + 1)]
        page = self.stuck if offer.name in self.silent else self.well
        return {
            "id": f"{offer.name}-{self.lives.get(offer.name, 0)}",
            "state": "ALIVE",
            "cores": offer.cores,
            "coresused": self.used.get(offer.name, 0),
            "webuiaddress": f"{page}/{number}",
            "resources": {str(offer.resource): {"name": offer.resource, "addresses": slots}},
        }


@contextmanager
def workers() -> Iterator[Workers]:
    """A cluster without workers, whose pages are there until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server, socket.socket() as stuck:
        stuck.bind(("127.0.0.1", 0))
        stuck.listen()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Workers(
                well=f"http://127.0.0.1:{server.server_port}",
                stuck=f"http://127.0.0.1:{stuck.getsockname()[1]}",
            )
        finally:
            server.shutdown()
            thread.join()
