"""The rules of autoscalers that people know, as policies: what to compare with.

| kind | scales |
|---|---|
| `hpa` | utilisation to a target, as the Kubernetes Horizontal Pod Autoscaler |
| `keda-lag` | by rows that wait, as KEDA's Kafka scaler |
| `dstream` | by processing time by interval once a minute, as Spark's DStreams |
| `amadeus` | by a moving average of the same, as Amadeus' library |
| `ds2` | all modules at once by what their executors truly can do |
| `flink` | by target utilisation, backlog and restart, as Flink's autoscaler |
| `dhalion` | against back-pressure, as Dhalion in the ESPA study |

Each is described in `docs/peers.md`, with what differs from the original and why.
"""

from penstock.policy.peers.batches import Amadeus, DStream
from penstock.policy.peers.flink import Flink
from penstock.policy.peers.graph import Dhalion, Ds2
from penstock.policy.peers.kubernetes import Hpa, KedaLag

__all__ = ["Amadeus", "DStream", "Dhalion", "Ds2", "Flink", "Hpa", "KedaLag"]
