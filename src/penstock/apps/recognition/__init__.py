"""Computer vision of the object-recognition service (game, Section 6.1), without Spark.

`images` makes noisy pictures of shapes; `modules` says what each module of the service makes of a
batch of them; the other files hold one step each, as functions on grey pictures.
"""

from penstock.core.extras import require

require("apps", "recognition", "cv2")

import cv2  # noqa: E402  # after the check, which names the remedy

cv2.setNumThreads(1)  # an executor has one core, and more threads than that would only contend
