"""Stateful work by key on Spark, with a routing table that may change while the query runs.

Rows of one key are processed by one replica, in order, with the key's own state. A `Routing` table
assigns keys to replicas; a controller may replace it between two micro-batches. The state of keys
that move follows by the protocol of the mpc paper (Section 4.2): nothing is lost, duplicated or
reordered, keys that stay are not delayed, and the splitter never waits.

`operator` is the driver's side: it routes rows, runs a `task` for each replica, and commits each
step in the state `store`. `work` has the splitter, and the interface of what is done with the rows
of a key.
"""

from penstock.query.keyed.operator import KeyedOperator
from penstock.query.keyed.task import PROTOCOLS, Setting
from penstock.query.keyed.work import Groups, KeyedWork, Worked

__all__ = ["PROTOCOLS", "Groups", "KeyedOperator", "KeyedWork", "Setting", "Worked"]
