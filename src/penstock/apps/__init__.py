"""The applications that come with Penstock, one folder each: rows, operators and pipeline files.

Each folder declares its application as an `AppSpec`, which `penstock.pipeline.shape` lists.
"""
