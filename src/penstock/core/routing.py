"""Which replica of a module has which key.

Rows of one key are processed by one replica, in the order in which they came (mpc, Section 2.1). A
key that a table does not name goes where its checksum says, on every machine alike.

>>> table = Routing(replicas=2, owners={"AAPL": 1})
>>> table.owner("AAPL"), table.owner("MSFT") == Routing(replicas=2).owner("MSFT")
(1, True)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from penstock.core.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """A routing table: keys by name, replicas by number from 0."""

    replicas: int
    owners: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse replicas that there are not."""
        if self.replicas < 1:
            raise SettingError(f"a routing table needs at least one replica, got {self.replicas}")
        strangers = {n for n in self.owners.values() if not 0 <= n < self.replicas}
        if strangers:
            key = next(key for key, owner in self.owners.items() if owner in strangers)
            raise SettingError(
                f"key {key!r} is routed to replica {self.owners[key]}, and there are "
                f"{self.replicas}, numbered from 0"
            )

    def owner(self, key: str) -> int:
        """The replica that has a key."""
        known = self.owners.get(key)
        return crc32(key.encode()) % self.replicas if known is None else known

    def moved(self, after: "Routing", keys: Iterable[str]) -> tuple[str, ...]:
        """Of these keys, those that another table gives to another replica.

        >>> Routing(replicas=2, owners={"A": 0, "B": 1}).moved(
        ...     Routing(replicas=3, owners={"A": 0, "B": 2}), ["A", "B"]
        ... )
        ('B',)
        """
        return tuple(key for key in keys if self.owner(key) != after.owner(key))
