"""The alloc paper: who gets how much of a budget, on graphs and on trees that change."""
