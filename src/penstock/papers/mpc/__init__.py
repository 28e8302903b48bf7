"""The mpc paper: predictive control of a keyed operator and its clock."""
