"""A picture with the cards that were seen in it: outlines, names, and the indices they were read by."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.read import Seen

__all__ = ["marked"]

SURE, UNSURE, INDEX = (60, 220, 60), (0, 165, 255), (255, 0, 255)


def marked(picture: NDArray[np.uint8], cards: Sequence[Seen]) -> NDArray[np.uint8]:
    """A copy of the picture with the cards drawn on it: told ones green, `??` orange."""
    out = picture.copy()
    size = max(0.4, max(out.shape[:2]) / 1600)
    for card in cards:
        colour = UNSURE if card.card is Card.UNREAD else SURE
        cv2.polylines(out, [np.round(card.polygon).astype(np.int32)], True, colour, max(1, round(size * 1.5)), cv2.LINE_AA)
        for corner in card.corners:
            up = np.array(corner.up) * corner.height / 2
            side = np.array([-corner.up[1], corner.up[0]]) * corner.width / 2
            middle = np.array([corner.x, corner.y])
            box = [middle + up - side, middle + up + side, middle - up + side, middle - up - side]
            cv2.polylines(out, [np.round(box).astype(np.int32)], True, INDEX, 1, cv2.LINE_AA)
        x, y = (round(sum(axis) / 4) for axis in zip(*card.polygon, strict=True))
        words = f"{card.card.value} {card.confidence:.2f}"
        at = (x - round(30 * size), y)
        cv2.putText(out, words, at, cv2.FONT_HERSHEY_SIMPLEX, size, (0, 0, 0), max(2, round(size * 4)), cv2.LINE_AA)
        cv2.putText(out, words, at, cv2.FONT_HERSHEY_SIMPLEX, size, colour, max(1, round(size * 1.6)), cv2.LINE_AA)
    return out
