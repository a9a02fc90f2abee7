"""How the reader learns: on corners of thousands of decks, and on what the finder finds in the scenes. Seeded.

Half of the corners of a step are drawn blindly, half as the hardest of a few: what is read without doubt teaches nothing more.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tablectl.felt.patches import normalised
from training.learn import Average, Log, export
from training.networks import Reader
from training.patching import REJECT, found_patch, patch_of
from training.pool import Corners, Pool

__all__ = ["Stock", "learn_to_read", "scene_stock"]

Patches = NDArray[np.uint8]
BATCH = 64
OF_CORNERS = 40  # of a step's patches
OF_FOUND = 10  # indices that the finder found
OF_FALSE = 10  # what it found that is none; the rest is cut out of the scenes
OPEN_AT_FIRST = 6  # parts of corners that the first steps draw from
OPENED_IN = 60  # steps after which one part more is open
RIVALS = 3  # of so many the hardest is taken
HARD_AT_MOST = 3.0  # a greater loss is more likely a patch that nobody could read: it is no longer sought out
HOLD = 0.5  # of the steps at the full rate; it then falls to nothing


class Stock:
    """Patches with their ranks and suits, and the loss each had when it was last learnt on."""

    def __init__(self, patches: Patches, ranks: NDArray[np.uint8], suits: NDArray[np.uint8]):
        self.patches, self.ranks, self.suits = patches, ranks, suits
        self.losses = np.full(len(patches), 1.0, np.float32)

    def blind(self, chance: np.random.Generator) -> int:
        """The place of any; one of what is no index only where two in a row are."""
        one, other = chance.integers(0, len(self.patches), 2)
        return int(other if self.ranks[one] == REJECT else one)

    def hard(self, chance: np.random.Generator) -> int:
        """The place of a hard one."""
        places = chance.integers(0, len(self.patches), RIVALS)
        losses = self.losses[places]
        return int(places[np.argmax(np.where(losses > HARD_AT_MOST, 0.1, losses))])


def scene_stock(pool: Pool, scenes: int, finds: NDArray[np.float32]) -> tuple[Stock, Stock, Stock]:
    """Patches out of the scenes: indices that the finder found, its false finds, and places of all sorts."""
    sorts: tuple[list[tuple[Patches, int, int]], ...] = ([], [], [])
    for seed in range(scenes):
        image, rows = pool[seed]
        chance = np.random.default_rng([seed, 9])
        for find in finds[finds[:, 0] == seed]:
            false = int(find[7]) == REJECT
            for _ in range(2 if false else 4):
                sorts[1 if false else 0].append((found_patch(image, find, chance), int(find[7]), int(find[8])))
        sorts[2].extend(one for _ in range(8) if (one := patch_of(image, rows, chance)) is not None)
    made = []
    for sort in sorts:
        patches, ranks, suits = zip(*sort, strict=True)
        made.append(Stock(np.stack(patches), np.array(ranks, np.uint8), np.array(suits, np.uint8)))
    return made[0], made[1], made[2]


def _changed(patches: Patches, chance: np.random.Generator) -> Patches:
    """Patches in another light, a little sharper or softer, shifted and noisy."""
    count = len(patches)
    given = torch.from_numpy(patches).float().permute(0, 3, 1, 2)
    soft = functional.avg_pool2d(functional.pad(given, (1, 1, 1, 1), mode="replicate"), 3, 1)
    much = np.where(chance.random(count) < 0.25, chance.uniform(0, 1, count), 0) - np.where(
        chance.random(count) < 0.2, chance.uniform(0, 0.8, count), 0
    )
    given = given + (soft - given) * _column(much)
    middle = _column(chance.uniform(90, 160, count))
    gain = _column(chance.uniform(0.7, 1.2, count)) * torch.from_numpy(chance.uniform(0.93, 1.07, (count, 3, 1, 1))).float()
    given = (given - middle) * gain + middle + _column(chance.uniform(-25, 25, count))
    level = _column(np.where(chance.random(count) < 0.4, chance.uniform(1, 9, count), 0))
    noise = torch.from_numpy(chance.standard_normal(given.shape, np.float32))
    made = (given + noise * level).clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
    out: Patches = made.numpy()
    across, down = (int(v) for v in chance.integers(-1, 2, 2))
    return np.roll(out, (across, down), (1, 2)) if across or down else out


def _column(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32)).view(-1, 1, 1, 1)


def _rate(step: int, steps: int, begin: int, rate: float) -> float:
    """The learning rate: rises, is held, and falls to nothing."""
    left = 1 - step / steps
    return rate * min(1.0, (step - begin + 1) / 300, max(0.002, left / (1 - HOLD)))


def learn_to_read(
    corners: Corners,
    parts: int,
    stocks: tuple[Stock, Stock, Stock],
    steps: int,
    target: Path,
    log: Log,
    rate: float = 2e-3,
    begin: int = 0,
) -> None:
    """Train the reader and write it every 1,000 steps; with `begin`, go on from the weights that were written at that step."""
    torch.manual_seed(2)
    torch.set_flush_denormal(True)
    network = Reader().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    log(f"reader: {sum(p.numel() for p in network.parameters())} weights, {steps} steps of {BATCH} patches")
    if begin:
        network.load_state_dict(torch.load(target.with_suffix(".now.pt"), weights_only=True))
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=5e-3)
    average = Average(network, 0.999)
    opened: list[Stock] = []
    begun, told = time.monotonic(), np.zeros(5)
    for step in range(begin, steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(step, steps, begin, rate)
        while len(opened) < min(parts, OPEN_AT_FIRST + step // OPENED_IN):
            patches, (ranks, suits) = corners[len(opened)]
            opened.append(Stock(patches, ranks, suits))
        chance = np.random.default_rng([4, step])
        picked: list[tuple[Stock, int]] = []
        for place in range(OF_CORNERS):
            stock = opened[int(chance.integers(len(opened)))]
            picked.append((stock, stock.hard(chance) if place % 2 else stock.blind(chance)))
        for stock, count in zip(stocks, (OF_FOUND, OF_FALSE, BATCH - OF_CORNERS - OF_FOUND - OF_FALSE), strict=True):
            picked += [(stock, stock.hard(chance)) for _ in range(count)]
        patches = _changed(np.stack([stock.patches[place] for stock, place in picked]), chance)
        given = torch.from_numpy(normalised(patches)).contiguous(memory_format=torch.channels_last)
        rank = torch.tensor([int(stock.ranks[place]) for stock, place in picked])
        suit = torch.tensor([int(stock.suits[place]) for stock, place in picked])
        network.train()
        out = network(given)
        real = rank != REJECT
        losses_rank = functional.cross_entropy(out[:, :14], rank, reduction="none")
        losses_suit = functional.cross_entropy(out[:, 14:], suit, reduction="none") * real
        # What nobody could read is not to rule the rest: the greatest losses pull no harder than others.
        loss = losses_rank.clamp(max=6).mean() + losses_suit.clamp(max=6).sum() / real.sum().clamp(min=1)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 3.0)
        optimiser.step()
        average.update(network, step)
        both = (losses_rank + losses_suit).detach().numpy()
        for (stock, place), one in zip(picked, both, strict=True):
            stock.losses[place] = one
        blind = np.arange(0, OF_CORNERS, 2)  # what was not sought out tells how far it is
        right = (out[:, :14].argmax(1) == rank) & ((out[:, 14:].argmax(1) == suit) | ~real)
        told += (
            float(losses_rank.detach().mean()),
            float(losses_suit.detach().mean()),
            float(both[blind].mean()),
            float(right[blind].float().mean()),
            float(right.float().mean()),
        )
        if (step + 1) % 250 == 0:
            a, b, c, d, e = told / 250
            log(
                f"reader {step + 1}: rank {a:.4f} suit {b:.4f}; blindly drawn {c:.4f}, right {d:.4f} (of all {e:.4f}), "
                f"{time.monotonic() - begun:.0f} s"
            )
            told[:] = 0
        if (step + 1) % 1000 == 0 or step + 1 == steps:
            export(network, average.state, target, (1, 3, 48, 36), (0,))
            torch.save(average.state, target.with_suffix(".pt"))
            torch.save(network.state_dict(), target.with_suffix(".now.pt"))
