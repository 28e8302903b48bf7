"""The twin of a preference query: a pane stage and a window stage.

`twin` is the plant, `plq` the compiled pane stage and `wlq` the window stage over the records of
`state`; `observing` makes an observation of a control step.
"""
