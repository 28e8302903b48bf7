"""The twin of one operator whose rows are routed by key, with keys that migrate."""
