"""Messages between the agents of modules: along the streams, in passes, each message counted.

Each module has an agent that knows its own module (what it consumes and produces of each stream,
the rates of its sources, the weights of its sinks) and the messages that it received; it sends
messages only to the agents at the other end of its streams. A virtual *final sink* behind all
sinks, as in the paper's Heuristic B, exchanges messages with the modules that feed them.

A **pass** is one sweep over the whole network, up from the sinks or down from the sources, in which
each agent sends once, after it has received. A **message** is what one agent sends another on one
stream in one pass: a number, or one for each sink. An agent that has nothing to send sends nothing.

>>> from penstock.policy.allocation.network import Outflow
>>> network = Network(
...     budget=1.0,
...     modules=("a", "b"),
...     links=(Link("a", "b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow("o", "b", produces=8.0),),
... )
>>> def ask(module: str, wanted: Mapping[Stream, float]) -> dict[Link, float]:
...     resource = max(flow / stream.produces for stream, flow in wanted.items())
...     print(module, "needs", resource)
...     return {link: link.consumes * resource for link in network.inputs[module]}
>>> bus = MessageBus(network)
>>> bus.up({"o": 4.0}, ask)
b needs 0.5
a needs 1.0
>>> bus.messages, bus.passes
(2, 1)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from penstock.policy.allocation.network import Link, Network, Stream

Content = TypeVar("Content")


@dataclass(slots=True)
class MessageBus:
    """Carries messages between agents that share a stream, and counts them."""

    network: Network
    messages: int = 0
    passes: int = 0

    def up(
        self,
        first: Mapping[str, Content],
        send: Callable[[str, Mapping[Stream, Content]], Mapping[Link, Content]],
    ) -> None:
        """Each module receives from those that it feeds, then sends to those that feed it.

        The final sink begins: `first` has its messages, by sink.
        """
        boxes: dict[str, dict[Stream, Content]] = {name: {} for name in self.network.modules}
        for outflow in self.network.outflows:
            if outflow.name in first:
                boxes[outflow.origin][outflow] = first[outflow.name]
        self.messages += len(first)
        for module in reversed(self.network.order):
            sent = send(module, boxes.pop(module))
            for link, content in sent.items():
                boxes[link.origin][link] = content
            self.messages += len(sent)
        self.passes += 1

    def down(
        self, send: Callable[[str, Mapping[Link, Content]], Mapping[Stream, Content]]
    ) -> dict[str, Content]:
        """Each module receives from those that feed it, then sends to those that it feeds.

        Returns what the final sink receives, by sink.
        """
        boxes: dict[str, dict[Link, Content]] = {name: {} for name in self.network.modules}
        received: dict[str, Content] = {}
        for module in self.network.order:
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
    """The sink that needs it most."""


class Price(NamedTuple):
    """What a module sends on the stream that demands most of it."""

    resource: Mapping[str, float]
    """Resource for a unit of flow, by the group of the modules that need it."""
    strain: float
    """Share of the scarcest source's rate that a unit of flow takes; 0 if all are unlimited."""
    made: float
    """Flow that there is: more than was demanded, where others demand more of the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the final sink learns from one question."""

    targets: Mapping[str, float]
    prices: Mapping[str, Price]
    """By sink; those that get nothing have none."""

    @property
    def total(self) -> float:
        """Resource that the targets take."""
        return sum(flow * self.price(sink) for sink, flow in self.targets.items())

    @property
    def strain(self) -> float:
        """Share of the scarcest source's rate that the targets take."""
        taken = (self.targets.get(sink, 0.0) * price.strain for sink, price in self.prices.items())
        return max(taken, default=0.0)

    def price(self, sink: str) -> float:
        """Resource that a unit more of a sink's flow takes."""
        return sum(self.prices[sink].resource.values()) if sink in self.prices else 0.0


class PricingQuery:
    """Asks the network what given outputs would take, and what a little more of each.

    On the way up every module learns what it needs (Algorithm 1), and which of its streams demands
    most of it, for which sink. On the way down prices come back along these streams: a unit of flow
    costs what its module needs, and what those need that produce for its sake. What arrives at the
    sinks is a subgradient of the total: more flow of a sink costs just that as long as the same
    streams demand most, and never less.

    >>> from penstock.policy.allocation.network import Outflow
    >>> network = Network(
    ...     budget=1.0,
    ...     modules=("a", "b", "c"),
    ...     links=(
    ...         Link("a", "b", produces=1.0, consumes=2.0),
    ...         Link("a", "c", produces=1.0, consumes=3.0),
    ...     ),
    ...     outflows=(Outflow("x", "b", produces=1.0), Outflow("y", "c", produces=1.0)),
    ... )
    >>> answer = PricingQuery(network).ask({"x": 1.0, "y": 1.0})
    >>> answer.total, answer.price("x"), answer.price("y")
    (5.0, 1.0, 4.0)
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.bus = MessageBus(network)
        self.resource = dict.fromkeys(network.modules, 0.0)
        """What each module took in the last question."""
        self._group: dict[str, str] = {}
        """By module, the sink that demanded most of it when it was first asked. Groups are fixed,
        so that the prices of several questions can be compared."""
        self._demanding: dict[str, Stream] = {}
        """By module, the stream that demands most of it."""

    def ask(self, targets: Mapping[str, float]) -> Answer:
        """What so much flow at each sink would take: one pass up and one down."""
        self.allocate(targets)
        return Answer(targets=targets, prices=self.bus.down(self._send_prices))

    def allocate(self, targets: Mapping[str, float]) -> dict[str, float]:
        """Have every module take what so much flow at each sink needs: one pass up."""
        self.resource, self._demanding = dict.fromkeys(self.network.modules, 0.0), {}
        wanted = {sink: Demand(flow, sink) for sink, flow in targets.items() if flow > 0}
        self.bus.up(wanted, self._send_demand)
        return self.resource

    def _send_demand(self, module: str, wanted: Mapping[Stream, Demand]) -> dict[Link, Demand]:
        """The least resource that meets every demand; what it takes of each input (Expr. 1)."""
        resource, sink = 0.0, ""
        for stream, demand in wanted.items():
            if demand.flow / stream.produces > resource:
                resource, sink = demand.flow / stream.produces, demand.sink
                self._demanding[module] = stream
        if not resource:
            return {}
        self._group.setdefault(module, sink)
        self.resource[module] = resource
        return {x: Demand(x.consumes * resource, sink) for x in self.network.inputs[module]}

    def _send_prices(self, module: str, received: Mapping[Link, Price]) -> dict[Stream, Price]:
        """What a unit of flow costs the stream that demands most; sinks always receive a price."""
        if (demanding := self._demanding.get(module)) is None:
            return {}
        sent: dict[Stream, Price] = {
            sink: Price({}, 0.0, sink.produces * self.resource[module])
            for sink in self.network.outflows_of[module]
        }
        sources, resource = self.network.inflows_of[module], {self._group[module]: 1.0}
        strain = max((source.consumes / source.rate for source in sources), default=0.0)
        for link, price in received.items():
            strain = max(strain, price.strain * link.consumes)
            for group, more in price.resource.items():
                resource[group] = resource.get(group, 0.0) + more * link.consumes
        made = demanding.produces
        unit = {group: price / made for group, price in resource.items()}
        sent[demanding] = Price(unit, strain / made, made * self.resource[module])
        return sent
