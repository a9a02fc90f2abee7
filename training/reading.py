"""How the reader learns: on indices of thousands of decks, cut out anew each time, and on what is none. Seeded.

It learns two things at once: what a patch shows, and how far the patch lies beside its index. Of the patches about indices some
are as rough as the finder's, most as close as what is cut again. Half of the indices of a step are drawn blindly, half as the
hardest of a few: what is read without doubt teaches nothing more.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tablectl.felt.patches import Misfit, normalised
from training.learn import Average, Log, export
from training.networks import Reader
from training.patching import CLOSE, REJECT, ROUGH, found_patch, index_patch, other_patch
from training.pool import PART, Corners, Pool

__all__ = ["Indices", "Stock", "false_finds", "learn_to_read", "scene_indices"]

Patches = NDArray[np.uint8]
Rows = NDArray[np.float32]
OF_CORNERS = 36  # of a step's patches: indices in small pictures,
OF_SCENES = 8  # in scenes,
OF_OTHERS = 10  # places that are no index,
OF_FALSE = 12  # and what the finder found that is none
ROUGHLY = 0.4  # of the indices are cut as the finder would
OPEN_AT_FIRST = 6  # parts of corners that the first steps draw from
OPENED_IN = 60  # steps after which one part more is open
RIVALS = 3  # of so many the hardest is taken
HARD_AT_MOST = 3.0  # a greater loss is more likely a patch that nobody could read: it is no longer sought out
HOLD = 0.5  # of the steps at the full rate; it then falls to nothing
PLAIN, HIDDEN = 0.88, 0.55  # the shares of an index in sight that is one, and that is none
FIT_COUNTS = 0.5  # what the loss of the fit weighs
FIT_UNIT = 0.1  # the network tells a misfit in tenths


class Lesson(NamedTuple):
    """A patch with what it shows, how its index lies in it, and where its loss is kept."""

    patch: Patches
    rank: int
    suit: int
    fit: Misfit | None
    kept_in: NDArray[np.float32]
    place: int


class Stock:
    """Patches of what is no index, and the loss each had when it was last learnt on."""

    def __init__(self, patches: Patches):
        self.patches = patches
        self.losses = np.full(len(patches), 1.0, np.float32)

    def lesson(self, chance: np.random.Generator) -> Lesson:
        """A hard one."""
        place = _hardest(self.losses, chance)
        return Lesson(self.patches[place], REJECT, 0, None, self.losses, place)


class Indices:
    """Pictures with the indices in them, and the loss each index had when it was last learnt on.

    `rows` are the picture's number and `training.scenes.COLUMNS`. What is half covered is left out; what hardly shows is none.
    """

    def __init__(self, images: Patches, rows: Rows):
        self.images, self.rows = images, rows
        seen, size = np.minimum(rows[:, 9], rows[:, 10]), images.shape[1]
        within = (rows[:, 1:3] > 0).all(1) & (rows[:, 1:3] < size).all(1)
        self.items = np.nonzero(within & ((seen >= PLAIN) | (seen < HIDDEN)))[0]
        self.shown = seen >= PLAIN
        self.losses = np.full(len(self.items), 1.0, np.float32)

    def lesson(self, chance: np.random.Generator, hard: bool) -> Lesson:
        """A patch about an index, blindly drawn or hard."""
        place = _hardest(self.losses, chance) if hard else int(chance.integers(len(self.items)))
        item = self.items[place]
        row = self.rows[item]
        patch, fit = index_patch(self.images[int(row[0])], row[1:], chance, ROUGH if chance.random() < ROUGHLY else CLOSE)
        if not self.shown[item]:
            return Lesson(patch, REJECT, 0, None, self.losses, place)
        return Lesson(patch, int(row[7]), int(row[8]), fit, self.losses, place)

    def other(self, chance: np.random.Generator) -> Lesson:
        """A patch of a place that is no index."""
        while True:
            picture = int(chance.integers(len(self.images)))
            patch = other_patch(self.images[picture], self.rows[self.rows[:, 0] == picture, 1:], chance)
            if patch is not None:
                return Lesson(patch, REJECT, 0, None, np.zeros(1, np.float32), 0)


def _hardest(losses: NDArray[np.float32], chance: np.random.Generator) -> int:
    places = chance.integers(0, len(losses), RIVALS)
    return int(places[np.argmax(np.where(losses[places] > HARD_AT_MOST, 0.1, losses[places]))])


def scene_indices(pool: Pool, scenes: int) -> list[Indices]:
    """The indices of the scenes, by part."""
    return [Indices(*pool.part(number)) for number in range(-(-scenes // PART))]


def false_finds(pool: Pool, finds: NDArray[np.float32]) -> Stock:
    """Patches of what the finder found in the scenes (`training.mining`) that is no index."""
    made = []
    chance = np.random.default_rng(9)
    for find in finds[finds[:, 7] == REJECT]:
        made += [found_patch(pool[int(find[0])][0], find, chance) for _ in range(2)]
    return Stock(np.stack(made))


def _changed(patches: Patches, chance: np.random.Generator) -> Patches:
    """Patches in another light, a little sharper or softer, and noisy."""
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
    return out


def _column(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.asarray(values, np.float32)).view(-1, 1, 1, 1)


def _rate(step: int, steps: int, begin: int, rate: float) -> float:
    """The learning rate: rises, is held, and falls to nothing."""
    left = 1 - step / steps
    return rate * min(1.0, (step - begin + 1) / 300, max(0.002, left / (1 - HOLD)))


def _lessons(chance: np.random.Generator, opened: list[Indices], scenes: list[Indices], false: Stock) -> list[Lesson]:
    """The patches of a step; the first `OF_CORNERS` are by turns blindly drawn and hard."""
    lessons = [opened[int(chance.integers(len(opened)))].lesson(chance, bool(place % 2)) for place in range(OF_CORNERS)]
    lessons += [scenes[int(chance.integers(len(scenes)))].lesson(chance, hard=True) for _ in range(OF_SCENES)]
    for place in range(OF_OTHERS):
        among = scenes if place % 2 else opened
        lessons.append(among[int(chance.integers(len(among)))].other(chance))
    return lessons + [false.lesson(chance) for _ in range(OF_FALSE)]


def learn_to_read(
    corners: Corners,
    parts: int,
    scenes: list[Indices],
    false: Stock,
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
    log(f"reader: {sum(p.numel() for p in network.parameters())} weights, {steps} steps")
    if begin:
        network.load_state_dict(torch.load(target.with_suffix(".now.pt"), weights_only=True))
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=5e-3)
    average = Average(network, 0.999)
    opened: list[Indices] = []
    begun, told = time.monotonic(), np.zeros(5)
    for step in range(begin, steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(step, steps, begin, rate)
        while len(opened) < min(parts, OPEN_AT_FIRST + step // OPENED_IN):
            opened.append(Indices(*corners[len(opened)]))
        chance = np.random.default_rng([4, step])
        lessons = _lessons(chance, opened, scenes, false)
        patches = _changed(np.stack([lesson.patch for lesson in lessons]), chance)
        given = torch.from_numpy(normalised(patches)).contiguous(memory_format=torch.channels_last)
        rank = torch.tensor([lesson.rank for lesson in lessons])
        suit = torch.tensor([lesson.suit for lesson in lessons])
        fits = np.array([lesson.fit or (np.nan,) * 5 for lesson in lessons], np.float32) / FIT_UNIT
        network.train()
        out = network(given)
        real = rank != REJECT
        losses_rank = functional.cross_entropy(out[:, :14], rank, reduction="none")
        losses_suit = functional.cross_entropy(out[:, 14:18], suit, reduction="none") * real
        loss_fit = functional.smooth_l1_loss(out[real, 18:], torch.from_numpy(fits)[real], beta=0.3)
        # What nobody could read is not to rule the rest: the greatest losses pull no harder than others.
        loss = losses_rank.clamp(max=6).mean() + losses_suit.clamp(max=6).sum() / real.sum().clamp(min=1) + FIT_COUNTS * loss_fit
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 3.0)
        optimiser.step()
        average.update(network, step)
        both = (losses_rank + losses_suit).detach().numpy()
        for lesson, one in zip(lessons, both, strict=True):
            lesson.kept_in[lesson.place] = one
        blind = np.arange(0, OF_CORNERS, 2)  # what was not sought out tells how far it is
        right = (out[:, :14].argmax(1) == rank) & ((out[:, 14:18].argmax(1) == suit) | ~real)
        told += (
            float(losses_rank.detach().mean()),
            float(losses_suit.detach().mean()),
            float(loss_fit.detach()),
            float(both[blind].mean()),
            float(right[blind].float().mean()),
        )
        if (step + 1) % 250 == 0:
            a, b, c, d, e = told / 250
            log(
                f"reader {step + 1}: rank {a:.4f} suit {b:.4f} fit {c:.4f}; blindly drawn {d:.4f}, right {e:.4f}, "
                f"{time.monotonic() - begun:.0f} s"
            )
            told[:] = 0
        if (step + 1) % 1000 == 0 or step + 1 == steps:
            export(network, average.state, target, (1, 3, 48, 36), (0,))
            torch.save(average.state, target.with_suffix(".pt"))
            torch.save(network.state_dict(), target.with_suffix(".now.pt"))
