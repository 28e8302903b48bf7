"""Without numba, functions are plain Python and come to the same."""

import json
import subprocess
import sys

CODE = """
import json, sys
if {blocked}:
    sys.modules["numba"] = None
import numpy as np
from penstock.policy.rl.backup import choose, learn, new_table, plan, warn
rng = np.random.default_rng(7)
known = np.array([[np.inf, 0.0, 1.0, 2.0], [0.5, 1.0, 1.5, 2.0], [1.0, 2.0, 3.0, np.inf]])
table = new_table(known, levels=3, flags=2, assume_idle=True)
chosen = []
for _ in range(40):
    level, flag, number, to = (int(x) for x in rng.integers((3, 2, 4, 3)))
    learn(table, level, flag, int(rng.integers(-1, 2)), to, flag, number, float(rng.random()), 0.2)
    warn(table, to, flag, number, float(rng.random()), 0.1)
    plan(table, 0.9, 3)
    chosen.append(int(choose(table, level, flag, number)))
from penstock.policy.game.topology import Topology
import penstock.policy.game.topology as topology
topology._PATIENCE = 0
ring = {{str(i): (str((i - 1) % 9), str((i + 1) % 9)) for i in range(9)}}
found = Topology.of(ring | {{"0": (*ring["0"], "x"), "x": ("0",)}})
print(json.dumps([chosen, *(a.tobytes().hex() for a in table), found.diameter,
    found.order.tolist(), "numba" in sys.modules and sys.modules["numba"] is not None]))
"""


def learned(*, blocked: bool) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(blocked=blocked)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    document: list[object] = json.loads(done.stdout)
    return document


def test_policies_come_to_the_same_without_a_compiler() -> None:
    compiled, plain = learned(blocked=False), learned(blocked=True)
    assert (compiled[-1], plain[-1]) == (True, False)
    assert compiled[:-1] == plain[:-1]
