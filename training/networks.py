"""The two networks: `Finder` sees where indices are, `Reader` says what one is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Finder", "Reader"]


def _step(into: int, out: int, stride: int = 1, dilation: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(into, out, size, stride, dilation * (size // 2), dilation, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU(inplace=True),
    )


class Finder(nn.Module):
    """Fully convolutional; a quarter of the picture's size out.

    Channels: index here (logit), its middle's offset in cells (2), the vector from suit to rank (2), the logarithm of its height
    and of its width in pixels over 32 (2).
    """

    def __init__(self, wide: int = 32) -> None:
        super().__init__()
        self.stem = nn.Sequential(_step(3, 16, 2), _step(16, 24, 2), _step(24, wide))
        self.body = nn.ModuleList([_step(wide, wide, 1, d) for d in (2, 1, 4, 1, 2, 4, 1)])
        self.head = nn.Conv2d(wide, 7, 1)
        nn.init.constant_(self.head.bias[:1], -4.0)  # type: ignore[index]

    def forward(self, picture: Tensor) -> Tensor:
        """Pictures to maps."""
        x = self.stem(picture)
        for part in self.body:
            x = x + part(x)
        out: Tensor = self.head(x)
        return out


class Reader(nn.Module):
    """An upright patch in; 13 ranks and "no index", then four suits, as logits (18), then how the index lies in it (5).

    The last are a `tablectl.felt.patches.Misfit`, in tenths.
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _step(3, 24, 2, size=5),
            _step(24, 32),
            _step(32, 64, 2),
            _Again(64),
            _step(64, 96, 2),
            _Again(96),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(96 * 30, 96), nn.ReLU(inplace=True), nn.Linear(96, 18))
        self.fit = nn.Sequential(nn.Flatten(), nn.Linear(96 * 30, 64), nn.ReLU(inplace=True), nn.Linear(64, 5))

    def forward(self, patch: Tensor) -> Tensor:
        """Patches to logits."""
        seen = self.body(patch)
        return torch.cat([self.head(seen), self.fit(seen)], 1)


class _Again(nn.Module):
    """A step whose result is added to what was given to it."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.step = _step(wide, wide)

    def forward(self, given: Tensor) -> Tensor:
        out: Tensor = given + self.step(given)
        return out
