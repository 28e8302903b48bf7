"""The game paper: control of a whole flow graph by agents that play a game."""
