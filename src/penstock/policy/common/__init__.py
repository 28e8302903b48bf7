"""What policies and guards share; a policy imports this and no other policy.

A step goes through these files in order:

| file | what it has |
|---|---|
| `estimates` | what is known of a module and what is not; averages, selectivities, start-up times |
| `degrees` | the degrees in force, and a decision with other degrees |
| `verdict` | what one module is to have and why; all verdicts become one decision |
| `rebalance` | which replica gets which key, once the degree is settled |
| `nodes` | the same as `verdict` for the nodes of regions |
| `sentences` | how shares, rows, counts and changes are worded in a reason |
| `pid` | the regulator of the ppq paper, for panes and for punctuation |
"""
