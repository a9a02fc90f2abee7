"""The two small networks of the package, run by onnxruntime on one core: `Eyes.heat` finds indices, `Eyes.ranks` reads them.

Their files stand in `models/`, with `reader.json` beside them: the temperatures that make the reader's confidence true, and the
thresholds below which a card is unread. `python -m training` makes all of them.
"""

from __future__ import annotations

import os
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from tablectl import settings
from tablectl.felt.patches import Misfit

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # what runs the networks tells nobody, and leaves no file of its own
import onnxruntime

__all__ = ["Eyes", "Tuning", "eyes"]

MODELS = Path(__file__).parent / "models"
FIT_MOST = 20.0  # tenths: of what lies farther beside its patch nothing was learnt


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured of the networks on scenes that they had not learnt from."""

    temperature_rank: float
    temperature_suit: float
    found: float  # a corner counts as found from this heat
    certain: float  # a corner's card is told from this confidence; below it is `??`


class Eyes:
    """Both networks, loaded."""

    def __init__(self, folder: Path = MODELS):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._finder = onnxruntime.InferenceSession(folder / "finder.onnx", options, providers=["CPUExecutionProvider"])
        self._reader = onnxruntime.InferenceSession(folder / "reader.onnx", options, providers=["CPUExecutionProvider"])
        self.tuning = msgspec.json.decode((folder / "reader.json").read_bytes(), type=Tuning)
        self._folder = folder

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all three files; only an enrolled deck asks for it."""
        return settings.digest(
            b"".join((self._folder / name).read_bytes() for name in ("finder.onnx", "reader.onnx", "reader.json"))
        )

    def heat(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """What the finder says of a picture: seven figures a cell of 4x4 pixels, the first a chance from 0 to 1."""
        rows, columns = picture.shape[0] // 4 * 4, picture.shape[1] // 4 * 4
        given = picture[:rows, :columns].transpose(2, 0, 1)[None].astype(np.float32) / 255 - 0.5
        out: NDArray[np.float32] = cast("list[NDArray[np.float32]]", self._finder.run(None, {"picture": given}))[0][0]
        out[0] = 1 / (1 + np.exp(-np.clip(out[0], -30, 30)))
        return out

    def ranks(self, patches: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32], list[Misfit]]:
        """The logits of 13 ranks and "no index" (count, 14), of four suits (count, 4), and how each index lies in its patch."""
        out = cast("list[NDArray[np.float32]]", self._reader.run(None, {"picture": patches}))[0]
        fits = [Misfit(*row) for row in (out[:, 18:].clip(-FIT_MOST, FIT_MOST) / 10).tolist()]
        return out[:, :14], out[:, 14:18], fits


@cache
def eyes() -> Eyes:
    """The networks of the package, loaded at the first call."""
    return Eyes()
