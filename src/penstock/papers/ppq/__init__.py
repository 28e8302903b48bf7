"""The ppq paper: two levels of control of a preference query."""
