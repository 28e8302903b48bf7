"""How agents speak: along the streams of the network, in sweeps, and every message is counted.

Each module has an agent that knows its own module (what it consumes and produces of each stream,
the rates of its sources, the weights of its sinks) and what it was told; it can tell something only
to those at the other end of its streams. A virtual final sink stands behind all sinks, as in the
paper's Heuristic B, and speaks with the modules before them.

A **pass** is one sweep over the whole network, up from the sinks or down from the sources, in which
each agent speaks once, after all that it hears. An algorithm that asks upwards and is answered
downwards takes two. Sweeps keep step, so an agent that says nothing is understood. A **message** is
what one agent tells another on one stream in one pass: a number, or one for each sink.

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
>>> post = Post(network)
>>> post.up({"o": 4.0}, ask)
b needs 0.5
a needs 1.0
>>> post.messages, post.passes
(2, 1)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from penstock.policy.allocation.network import Link, Network, Outflow

Content = TypeVar("Content")
Stream: TypeAlias = Link | Outflow
"""What an agent can speak and listen on."""


@dataclass(slots=True)
class Post:
    """Carries messages between agents that share a stream, and counts them."""

    network: Network
    messages: int = 0
    passes: int = 0

    def up(
        self,
        told: Mapping[str, Content],
        speak: Callable[[str, Mapping[Stream, Content]], Mapping[Link, Content]],
    ) -> None:
        """Each module hears those that it feeds, then speaks to those that feed it.

        The final sink begins: `told` is what it says, by sink.
        """
        boxes: dict[str, dict[Stream, Content]] = {name: {} for name in self.network.modules}
        for outflow in self.network.outflows:
            if outflow.name in told:
                boxes[outflow.origin][outflow] = told[outflow.name]
        self.messages += len(told)
        for module in reversed(self.network.order()):
            said = speak(module, boxes.pop(module))
            for link, content in said.items():
                boxes[link.origin][link] = content
            self.messages += len(said)
        self.passes += 1

    def down(
        self,
        speak: Callable[[str, Mapping[Link, Content]], Mapping[Stream, Content]],
    ) -> dict[str, Content]:
        """Each module hears those that feed it, then speaks to those that it feeds.

        Returns what the final sink hears, by sink.
        """
        boxes: dict[str, dict[Link, Content]] = {name: {} for name in self.network.modules}
        heard: dict[str, Content] = {}
        for module in self.network.order():
            said = speak(module, boxes.pop(module))
            for stream, content in said.items():
                if isinstance(stream, Link):
                    boxes[stream.target][stream] = content
                else:
                    heard[stream.name] = content
            self.messages += len(said)
        self.passes += 1
        return heard
