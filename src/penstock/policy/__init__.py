"""What to do about what was seen.

| kind | decides |
|---|---|
| `static` | nothing: every module keeps its degree, or the one it was given |
| `threshold` | one executor more or fewer, by how busy each module is (e2df, Section 7.1) |
"""

from typing import Final

from penstock.core.roles import Policy
from penstock.policy.static import Static
from penstock.policy.threshold import Threshold

POLICIES: Final[dict[str, type[Policy]]] = {"static": Static, "threshold": Threshold}

__all__ = ["POLICIES", "Static", "Threshold"]
