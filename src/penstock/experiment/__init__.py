"""Experiments: workload, policy and plant put together, and their results.

`compare/` plays policies against each other, `fit/` builds a twin from a recording. `results` has
tables, figures and claims as data, which `compare`, `report` and the papers share; `interval` is a
mean with its confidence interval, `workers` spreads runs over processes.
"""
