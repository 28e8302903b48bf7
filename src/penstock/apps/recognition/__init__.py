"""The object-recognition service of the game paper (Section 6.1).

`application` runs it on Spark. `images` makes noisy pictures of shapes; `modules` says what each
module of the service makes of a batch of them; `denoise`, `outlines` and `match` hold one step
each, as functions on grey pictures (`pixels`).
"""

import cv2

cv2.setNumThreads(1)  # an executor has one core, and more threads than that would only contend
