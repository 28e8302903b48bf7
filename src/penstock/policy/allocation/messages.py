"""Messages of agents: along the streams of the network, in sweeps, and each is counted.

Each module has an agent that knows its own module (what it consumes and produces of each stream,
the rates of its sources, the weights of its sinks) and what it has received; it can send messages
only to those at the other end of its streams. A virtual final sink stands behind all sinks, as in
the paper's Heuristic B, and exchanges messages with the modules before them.

A **pass** is one sweep over the whole network, up from the sinks or down from the sources, in which
each agent sends once, after all that it receives. An algorithm that asks upwards and is answered
downwards takes two. Sweeps keep step, so an agent that says nothing is understood. A **message** is
what one agent sends another on one stream in one pass: a number, or one for each sink.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> network = Network(
...     budget=1.0,
...     modules=("a", "b"),
...     links=(Link(origin="a", target="b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow(name="o", origin="b", produces=8.0),),
... )
>>> def ask(module: str, wanted: Mapping[Stream, float]) -> dict[Link, float]:
...     resource = max(flow / stream.produces for stream, flow in wanted.items())
...     print(module, "needs", resource)
...     return {link: link.consumes * resource for link in network.inputs(module)}
>>> bus = MessageBus(network)
>>> bus.up({"o": 4.0}, ask)
b needs 0.5
a needs 1.0
>>> bus.messages, bus.passes
(2, 1)

One question to the network: what would these outputs take, and what would a little more of each?

On the way up every module learns what it needs (Algorithm 1), and which of its streams asks most of
it, and for which sink. On the way down the bill comes back along the streams that ask most: a unit
of flow costs what its module needs, and what those need that give for this stream's sake. What
arrives at the sinks is a subgradient of the total, since more flow of a sink costs just that as
long as the same streams ask most; in any case it costs no less.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> network = Network(
...     budget=1.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link(origin="a", target="b", produces=1.0, consumes=2.0),
...         Link(origin="a", target="c", produces=1.0, consumes=3.0),
...     ),
...     outflows=(Outflow(name="x", origin="b", produces=1.0), Outflow(name="y", origin="c",
...         produces=1.0)),
... )
>>> answer = PricingQuery.of(network).ask({"x": 1.0, "y": 1.0})
>>> answer.total, answer.price("x"), answer.price("y")
(5.0, 1.0, 4.0)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from penstock.policy.allocation.network import Link, Network, Outflow

Content = TypeVar("Content")
Stream: TypeAlias = Link | Outflow
"""What an agent can send and receive on."""


@dataclass(slots=True)
class MessageBus:
    """Carries messages between agents that share a stream, and counts them."""

    network: Network
    messages: int = 0
    passes: int = 0

    def up(
        self,
        text: Mapping[str, Content],
        send: Callable[[str, Mapping[Stream, Content]], Mapping[Link, Content]],
    ) -> None:
        """Each module receives from those that it feeds, then sends to those that feed it.

        The final sink begins: `text` is what it says, by sink.
        """
        boxes: dict[str, dict[Stream, Content]] = {name: {} for name in self.network.modules}
        for outflow in self.network.outflows:
            if outflow.name in text:
                boxes[outflow.origin][outflow] = text[outflow.name]
        self.messages += len(text)
        for module in reversed(self.network.order()):
            sent = send(module, boxes.pop(module))
            for link, content in sent.items():
                boxes[link.origin][link] = content
            self.messages += len(sent)
        self.passes += 1

    def down(
        self,
        send: Callable[[str, Mapping[Link, Content]], Mapping[Stream, Content]],
    ) -> dict[str, Content]:
        """Each module receives from those that feed it, then sends to those that it feeds.

        Returns what the final sink receives, by sink.
        """
        boxes: dict[str, dict[Link, Content]] = {name: {} for name in self.network.modules}
        received: dict[str, Content] = {}
        for module in self.network.order():
            sent = send(module, boxes.pop(module))
            for stream, content in sent.items():
                if isinstance(stream, Link):
                    boxes[stream.target][stream] = content
                else:
                    received[stream.name] = content
            self.messages += len(sent)
        self.passes += 1
        return received


class Demand(NamedTuple):
    """What a module sends to those that feed it."""

    flow: float
    sink: str
    """On whose account."""


class Bill(NamedTuple):
    """What a module sends to the one that asks most of it."""

    prices: Mapping[str, float]
    """Resource for a unit of flow, by the home of the modules that need it."""
    strain: float
    """Share of the scarcest source's rate that a unit of flow takes; 0 if all are unlimited."""
    made: float
    """Flow that there is: more than was asked for, where others ask more of the module."""


@dataclass(slots=True)
class Agent:
    """A module that knows itself and the messages that it has received."""

    network: Network
    """Of which it looks only at its own streams and sources."""
    module: str
    home: str = ""
    """The sink that asked most of it when it was first asked: a fixed group for its costs."""
    resource: float = 0.0
    _asker: Stream | None = None

    def ask(self, wanted: Mapping[Stream, Demand]) -> dict[Link, Demand]:
        """The least resource that meets every want; what it takes of each input (Expr. 1)."""
        self.resource, self._asker, sink = 0.0, None, ""
        for stream, want in wanted.items():
            if want.flow / stream.produces > self.resource:
                self.resource, self._asker, sink = want.flow / stream.produces, stream, want.sink
        self.home = self.home or sink
        if self._asker is None:
            return {}
        inputs = self.network.inputs(self.module)
        return {link: Demand(link.consumes * self.resource, sink) for link in inputs}

    def bill(self, received: Mapping[Link, Bill]) -> dict[Stream, Bill]:
        """What a unit of flow costs the one that asks most; sinks always receive one."""
        if self._asker is None:
            return {}
        sinks = self.network.outflows_of(self.module)
        sent: dict[Stream, Bill] = {
            sink: Bill({}, 0.0, sink.produces * self.resource) for sink in sinks
        }
        prices, strain = self._costs(received)
        made = self._asker.produces
        unit = {home: price / made for home, price in prices.items()}
        sent[self._asker] = Bill(unit, strain / made, made * self.resource)
        return sent

    def _costs(self, received: Mapping[Link, Bill]) -> tuple[dict[str, float], float]:
        """Of a unit of resource here, with what it takes of those that give for its sake."""
        prices, strain = {self.home: 1.0}, self._strain()
        for link, bill in received.items():
            strain = max(strain, bill.strain * link.consumes)
            for home, price in bill.prices.items():
                prices[home] = prices.get(home, 0.0) + price * link.consumes
        return prices, strain

    def _strain(self) -> float:
        sources = self.network.inflows_of(self.module)
        return max((source.consumes / source.rate for source in sources), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the final sink learns from one question."""

    targets: Mapping[str, float]
    bills: Mapping[str, Bill]
    """By sink; those that get nothing have none."""

    @property
    def total(self) -> float:
        """Resource that the targets take."""
        return sum(flow * self.price(sink) for sink, flow in self.targets.items())

    @property
    def strain(self) -> float:
        """Share of the scarcest source's rate that the targets take."""
        taken = (self.targets.get(sink, 0.0) * bill.strain for sink, bill in self.bills.items())
        return max(taken, default=0.0)

    @property
    def made(self) -> dict[str, float]:
        """Flow at each sink, asked for or not."""
        return {sink: bill.made for sink, bill in self.bills.items()}

    def price(self, sink: str) -> float:
        """Resource that a unit more of a sink's flow takes."""
        return sum(self.bills[sink].prices.values()) if sink in self.bills else 0.0


@dataclass(slots=True)
class PricingQuery:
    """The agents of all modules, asked from the final sink."""

    bus: MessageBus
    agents: dict[str, Agent] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network) -> "PricingQuery":
        """With agents that have heard nothing yet."""
        agents = {module: Agent(network, module) for module in network.modules}
        return cls(MessageBus(network), agents)

    def ask(self, targets: Mapping[str, float]) -> Answer:
        """What so much flow at each sink would take: one pass up and one down."""
        self.allocate(targets)
        bills = self.bus.down(self._bill)
        return Answer(targets=targets, bills=bills)

    def allocate(self, targets: Mapping[str, float]) -> dict[str, float]:
        """Have every module take what so much flow at each sink needs: one pass up."""
        text = {sink: Demand(flow, sink) for sink, flow in targets.items() if flow > 0}
        self.bus.up(text, self._ask)
        return {module: agent.resource for module, agent in self.agents.items()}

    def _ask(self, module: str, wanted: Mapping[Stream, Demand]) -> dict[Link, Demand]:
        return self.agents[module].ask(wanted)

    def _bill(self, module: str, received: Mapping[Link, Bill]) -> dict[Stream, Bill]:
        return self.agents[module].bill(received)
