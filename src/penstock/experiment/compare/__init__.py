"""The tournament: policies against each other on the same loads and seeds, with every score.

`play` plays a round for each load and seed with the `entrants`, among them the `clairvoyant`, on
the twin or on Spark. `track` is what a run did by step, `scores` measures it, `outcome` collects
the measures, `tables` shows them and `advice` says which policy to choose.

>>> from penstock.pipeline.file import load
>>> file = load("wordcount", ["duration=20s"])
>>> played = play(file, "threshold,static:degrees=4", seeds=[1, 2], tries=0)
>>> dominance(played, "threshold", "static:degrees=4").verdict
'wins'
"""

from penstock.experiment.compare.advice import Advice, advise
from penstock.experiment.compare.entrants import PEERS, REFERENCES, Entrant, Load
from penstock.experiment.compare.outcome import TournamentResult, Verdict, dominance
from penstock.experiment.compare.play import play
from penstock.experiment.compare.scores import MEASURES, Measure
from penstock.experiment.compare.track import Prices

__all__ = [
    "MEASURES",
    "PEERS",
    "REFERENCES",
    "Advice",
    "Entrant",
    "Load",
    "Measure",
    "Prices",
    "TournamentResult",
    "Verdict",
    "advise",
    "dominance",
    "play",
]
