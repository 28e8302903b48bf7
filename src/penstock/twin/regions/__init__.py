"""The twin of a pipeline in regions, with nodes that come and go."""
