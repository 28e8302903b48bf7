"""The simulated plant: a pipeline in virtual time, with a plant's interface.

`plant` is the shell of every twin: virtual time, an elastic `pool` for each module, nodes, clock
and observation. `twin` simulates a flow graph on it: `engine` is the compiled event loop over the
records of `state`, with `rows` as linked lists in them and micro-batches from `batches`. `kernels`
has random numbers and latencies for all compiled loops, `sources` the moments at which rows come
and how times scatter, `observing` what a control step measured. `joint` drives several twins in
step as pipelines that share a cluster.

`keys/` is what a station with keys does, `regions/` has nodes and the model of the e2df paper, and
`panes/` simulates the two stages of a preference query in the same shell.
"""

from penstock.twin.keys.tables import KeySettings
from penstock.twin.keys.twin import KeyedTwin
from penstock.twin.observing import Totals
from penstock.twin.panes.state import Costs
from penstock.twin.panes.twin import PaneTwin
from penstock.twin.regions.slots import SlotTwin
from penstock.twin.twin import Twin

__all__ = ["Costs", "KeySettings", "KeyedTwin", "PaneTwin", "SlotTwin", "Totals", "Twin"]
