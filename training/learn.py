"""How the finder learns: by turns from scenes and from small pictures of many decks. Seeded by the step's number."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.networks import Finder
from training.pool import Corners, Pool

__all__ = ["Average", "Log", "export", "learn_to_find"]

Rows = NDArray[np.float32]
Log = Callable[[str], None]
PIECE = 208  # pixels of a scene that the finder sees at a time
SCENES = 8  # such pieces in every other step, and
SMALL = 24  # small pictures of many decks in the others
OPEN_AT_FIRST = 6  # parts of corners that the first steps draw from
OPENED_IN = 20  # steps after which one part more is open


class Average:
    """The running mean of a network's weights: steadier than the last step's."""

    def __init__(self, network: nn.Module, keep: float = 0.997):
        self.keep = keep
        self.state = {k: v.detach().clone() for k, v in network.state_dict().items()}

    def update(self, network: nn.Module, step: int) -> None:
        """Take in the weights after a step."""
        keep = min(self.keep, (1 + step) / (10 + step))
        for key, value in network.state_dict().items():
            if value.dtype.is_floating_point:
                self.state[key].mul_(keep).add_(value, alpha=1 - keep)
            else:
                self.state[key].copy_(value)


def export(network: nn.Module, state: dict[str, Tensor], target: Path, shape: tuple[int, ...], free: tuple[int, ...]) -> None:
    """Write a network as ONNX; `free` are the axes of the input whose length may vary."""
    twin = type(network)()
    twin.load_state_dict(state)
    twin.eval()
    axes = {"picture": {axis: f"n{axis}" for axis in free}, "out": {axis: f"m{axis}" for axis in free}}
    target.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        twin,
        (torch.zeros(shape),),
        str(target),
        input_names=["picture"],
        output_names=["out"],
        dynamic_axes=axes,
        dynamo=False,
        opset_version=17,
    )


class _Lessons:
    """Pictures to learn from, more of them the further the training is."""

    def __init__(self, pool: Pool, scenes: int, corners: Corners, parts: int):
        self._pool, self._count, self._corners, self._parts = pool, scenes, corners, parts
        self._opened: list[tuple[NDArray[np.uint8], Rows]] = []

    def scenes(self, step: int, chance: np.random.Generator) -> list[tuple[NDArray[np.uint8], Rows]]:
        """Pieces of scenes."""
        seeds = chance.integers(0, min(self._count, 150 + 2 * step), SCENES)
        return [_part(*_turned(*self._pool[int(seed)], int(chance.integers(4))), chance) for seed in seeds]

    def small(self, step: int, chance: np.random.Generator) -> list[tuple[NDArray[np.uint8], Rows]]:
        """Small pictures of many decks, whole."""
        while len(self._opened) < min(self._parts, OPEN_AT_FIRST + step // OPENED_IN):
            self._opened.append(self._corners[len(self._opened)])
        made = []
        for _ in range(SMALL):
            images, rows = self._opened[int(chance.integers(len(self._opened)))]
            place = int(chance.integers(len(images)))
            made.append(_turned(images[place], rows[rows[:, 0] == place, 1:], int(chance.integers(4))))
        return made


def _turned(image: NDArray[np.uint8], rows: Rows, quarter: int) -> tuple[NDArray[np.uint8], Rows]:
    """A scene turned by quarters."""
    rows = rows.copy()
    size = image.shape[0]
    for _ in range(quarter):  # np.rot90 turns left: (x, y) goes to (y, size - 1 - x)
        x, y, ux, uy = rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(), rows[:, 3].copy()
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = y, size - 1 - x, uy, -ux
    return np.rot90(image, quarter), rows


def _part(image: NDArray[np.uint8], rows: Rows, chance: np.random.Generator) -> tuple[NDArray[np.uint8], Rows]:
    """A square piece of a scene, mostly about an index."""
    size = image.shape[0]
    middle = chance.uniform(0, size, 2)
    if len(rows) and chance.random() < 0.75:
        middle = rows[int(chance.integers(len(rows))), :2] + chance.uniform(-PIECE / 3, PIECE / 3, 2)
    x, y = (int(np.clip(v - PIECE / 2, 0, size - PIECE)) for v in middle)
    rows = rows.copy()
    rows[:, :2] -= (x, y)
    return image[y : y + PIECE, x : x + PIECE], rows


def _aims(rows: Rows, cells: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """What the finder shall say: heat, its weight (0 about half-covered indices), and the figures with their weight last."""
    heat = np.zeros((cells, cells), np.float32)
    weight = np.ones((cells, cells), np.float32)
    figures = np.zeros((7, cells, cells), np.float32)
    grid_y, grid_x = np.mgrid[0:cells, 0:cells].astype(np.float32)
    for x, y, ux, uy, height, width, _, _, rank_seen, suit_seen in rows:
        cx, cy = (x - 1.5) / 4, (y - 1.5) / 4
        if not (-1 < cx < cells and -1 < cy < cells):
            continue
        distance = (grid_x - cx) ** 2 + (grid_y - cy) ** 2
        seen = min(rank_seen, suit_seen)
        if seen < 0.35:
            continue
        if seen < 0.8 or height < 13:
            weight[distance < (height / 8) ** 2] = 0
            continue
        sigma = max(0.8, height / 4 * 0.07)
        spot = np.exp(-distance / (2 * sigma**2))
        heat = np.maximum(heat, spot)
        near = distance < max(1.6, sigma * 1.3) ** 2
        near &= spot >= heat - 1e-6
        figures[:, near] = np.stack(
            [
                cx - grid_x[near],
                cy - grid_y[near],
                *(np.full(near.sum(), v, np.float32) for v in (ux, uy, np.log(height / 32), np.log(width / 32), 1)),
            ]
        )
        column, row = int(np.clip(round(cx), 0, cells - 1)), int(np.clip(round(cy), 0, cells - 1))
        heat[row, column] = 1
        weight[distance < (height / 10) ** 2] = 1
    return heat, weight, figures


def _light(images: Tensor, chance: np.random.Generator) -> Tensor:
    """A last change of contrast, colour and brightness, the same over a picture."""
    gain = torch.from_numpy(
        chance.uniform(0.75, 1.25, (len(images), 1, 1, 1)) * chance.uniform(0.92, 1.08, (len(images), 3, 1, 1))
    ).float()
    return images * gain + torch.from_numpy(chance.uniform(-0.08, 0.08, (len(images), 1, 1, 1))).float()


def learn_to_find(
    pool: Pool,
    scenes: int,
    corners: Corners,
    parts: int,
    steps: int,
    target: Path,
    log: Log,
    begin: Path | None = None,
    rate: float = 3e-3,
) -> None:
    """Train the finder and write it; `begin` has weights to go on from."""
    torch.manual_seed(1)
    network = Finder()
    log(f"finder: {sum(p.numel() for p in network.parameters())} weights, {steps} steps")
    lessons = _Lessons(pool, scenes, corners, parts)
    if begin is not None:
        network.load_state_dict(torch.load(begin, weights_only=True))
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-4)
    average = Average(network)
    begun, losses = time.monotonic(), np.zeros(2)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * step / steps)))
        chance = np.random.default_rng([1, step])
        picked = (lessons.small if step % 2 else lessons.scenes)(step, chance)
        aims = [_aims(rows, image.shape[0] // 4) for image, rows in picked]
        images = torch.from_numpy(np.stack([image.transpose(2, 0, 1) for image, _ in picked]).astype(np.float32) / 255)
        heat, weight, figures = (torch.from_numpy(np.stack(part)) for part in zip(*aims, strict=True))
        network.train()
        out = network(_light(images, chance) - 0.5)
        loss_heat = _focal(out[:, 0], heat, weight)
        here = figures[:, 6:]
        gap = functional.smooth_l1_loss(out[:, 1:] * here, figures[:, :6] * here, reduction="none", beta=0.2)
        scale = torch.tensor([1.0, 1.0, 2.0, 2.0, 2.0, 1.0])[None, :, None, None]
        loss_figures = (gap * scale).sum() / here.sum().clamp(min=1)
        loss = loss_heat + loss_figures
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()
        average.update(network, step)
        losses += (float(loss_heat.detach()), float(loss_figures.detach()))
        if (step + 1) % 100 == 0:
            log(f"finder {step + 1}: heat {losses[0] / 100:.4f} figures {losses[1] / 100:.4f}, {time.monotonic() - begun:.0f} s")
            losses[:] = 0
        if (step + 1) % 200 == 0 or step + 1 == steps:
            export(network, average.state, target, (1, 3, 320, 320), (0, 2, 3))
            torch.save(average.state, target.with_suffix(".pt"))


def _focal(logits: Tensor, heat: Tensor, weight: Tensor) -> Tensor:
    """The loss of CenterNet: hits count by how unsure they are, misses near a hit count little."""
    hit = (heat >= 0.999).float()
    chance = torch.sigmoid(logits).clamp(1e-5, 1 - 1e-5)
    gain = hit * (1 - chance) ** 2 * torch.log(chance)
    loss = (1 - hit) * (1 - heat) ** 4 * chance**2 * torch.log(1 - chance)
    return -((gain + loss) * weight).sum() / hit.sum().clamp(min=1)
