"""A policy, a guard, a forecaster, a workload and an application of others."""
