"""The e2df paper: operators and nodes in regions, with policies that learn."""
