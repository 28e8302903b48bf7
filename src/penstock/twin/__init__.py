"""The simulated plant: a pipeline in virtual time, with a plant's interface.

`twin` is the plant, `engine` its compiled event loop over the records of `state`, with `rows` as
linked lists in them. `kernels` has random numbers and latencies for all compiled loops, `sources`
the moments at which rows come and how times scatter, `observing` makes an observation of a control
step. `joint` drives several twins in step as pipelines that share a cluster.

`keys/` simulates an operator whose rows are routed by key, `panes/` the two stages of a preference
query, `regions/` a pipeline on nodes that come and go.
"""

from penstock.twin.keys.twin import KeyedTwin
from penstock.twin.observing import Totals
from penstock.twin.panes.state import Costs
from penstock.twin.panes.twin import PaneTwin
from penstock.twin.regions.twin import RegionTwin
from penstock.twin.twin import Twin

__all__ = ["Costs", "KeyedTwin", "PaneTwin", "RegionTwin", "Totals", "Twin"]
