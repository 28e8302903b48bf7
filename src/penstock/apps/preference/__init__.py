"""The best tuples of sliding windows, found in two stages: the application of the ppq paper."""
