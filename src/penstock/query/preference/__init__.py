"""The best rows of sliding windows: preference queries over streams that are out of order."""

from penstock.query.preference.api import Settings, prefer, skyline, top_delta
from penstock.query.preference.measures import Measures
from penstock.query.preference.splitting import Splitting

__all__ = ["Measures", "Settings", "Splitting", "prefer", "skyline", "top_delta"]
