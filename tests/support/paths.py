"""Where files outside the tests are: the project's own, and data that others published.

Published traces and logs are not part of the project. They are looked for in the folder that
`PENSTOCK_DATA` names, or else in `shared/data` beside the checkout; tests that need them are
skipped where they are absent.
"""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
"""The checkout."""
DOCS: Final = ROOT / "docs"
PUBLISHED: Final = Path(os.environ.get("PENSTOCK_DATA") or ROOT.parent / "shared" / "data")
"""Published data: `hft` of the mpc paper, `ppq` of the ppq paper."""
