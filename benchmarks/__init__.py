"""Figures that Penstock promises, each measured beside its baseline in the same run."""
