"""A twin from your own recording, and how well it predicts that recording or another."""

from penstock.experiment.fit.estimate import Estimate
from penstock.experiment.fit.fitting import Fit, fit
from penstock.experiment.fit.predicting import Figure, Prediction, decisive, judgement, predict

__all__ = ["Estimate", "Figure", "Fit", "Prediction", "decisive", "fit", "judgement", "predict"]
