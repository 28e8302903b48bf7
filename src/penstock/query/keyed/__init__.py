"""Work by key on Spark, behind a routing table that may change while the query runs.

Rows of one key are processed by one replica, in order, with the key's own state. Who has which key
is said by a `Routing` table that a controller may replace between two micro-batches; the state of
keys that change hands follows by the protocol of the mpc paper (Section 4.2): nothing is lost,
doubled or reordered, keys that stay are not delayed, and the splitter never waits.

`operator` is the driver's side: it routes rows with `splitter`, runs a `task` for each replica, and
makes a step count in the `backing` store. `work` says what to do with the rows of a key.
"""

from penstock.query.keyed.operator import KeyedOperator
from penstock.query.keyed.task import PROTOCOLS, Setting
from penstock.query.keyed.work import Groups, KeyedWork, Worked

__all__ = ["PROTOCOLS", "Groups", "KeyedOperator", "KeyedWork", "Setting", "Worked"]
