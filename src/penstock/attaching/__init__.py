"""Attach to a program that runs already."""
