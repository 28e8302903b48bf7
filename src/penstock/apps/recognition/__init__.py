"""The object-recognition service of the game paper (Section 6.1).

`application` runs it on Spark. `images` makes noisy pictures of shapes; `modules` says what each
module of the service makes of a batch of them; `denoise` and `outlines` hold its steps, as
functions on grey pictures.
"""

from typing import Final

from penstock.pipeline.shape import AppSpec, Shape

RECOGNITION: Final = AppSpec(
    name="recognition",
    shape=Shape(
        ("dispatcher", "denoiser-1", "denoiser-2", "edge-detector", "recognizer"),
        (
            ("dispatcher", "denoiser-1"),
            ("dispatcher", "denoiser-2"),
            ("denoiser-1", "edge-detector"),
            ("denoiser-2", "edge-detector"),
            ("edge-detector", "recognizer"),
        ),
    ),
    spark="penstock.apps.recognition.application:RECOGNITION",
    files=__name__,
    needs=("cv2",),
)
