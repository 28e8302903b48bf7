"""Workload, policy and plant put together, and what came of it."""
