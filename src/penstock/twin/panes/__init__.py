"""The twin of a preference query: a pane stage and a window stage."""
