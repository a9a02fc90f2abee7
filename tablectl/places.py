"""Where a card can lie: a hand of a box, the dealer's hand, or the burned cards."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["Box", "BoxPlace", "HandNumber", "Place"]

Box = Annotated[int, msgspec.Meta(ge=1, le=7)]
"""A box, 1 to 7 from the dealer's left in dealing order."""

HandNumber = Annotated[int, msgspec.Meta(ge=0, le=99)]
"""A hand of a box: 0, then 1, 2 ... as splits add hands."""


class BoxPlace(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A hand of a box. Without `hand` it is the hand of that box which the next card is due to, or else its first."""

    box: Box
    hand: HandNumber | None = None


Place = BoxPlace | Literal["dealer", "burn"]
