"""The tournament: policies against each other on the same loads and seeds, with every score.

>>> from penstock.pipeline.file import load
>>> file = load("wordcount", ["duration=20s"])
>>> played = play(file, "threshold,static:degrees=4", seeds=[1, 2], tries=0)
>>> dominance(played, "threshold", "static:degrees=4").verdict
'wins'
"""

from penstock.experiment.compare.advice import Advice, advise
from penstock.experiment.compare.cost import Prices
from penstock.experiment.compare.dominance import Verdict, dominance
from penstock.experiment.compare.entrants import PEERS, REFERENCES, Entrant
from penstock.experiment.compare.loads import Load
from penstock.experiment.compare.measures import MEASURES, Measure
from penstock.experiment.compare.outcome import Outcome
from penstock.experiment.compare.play import play

__all__ = [
    "MEASURES",
    "PEERS",
    "REFERENCES",
    "Advice",
    "Entrant",
    "Load",
    "Measure",
    "Outcome",
    "Prices",
    "Verdict",
    "advise",
    "dominance",
    "play",
]
