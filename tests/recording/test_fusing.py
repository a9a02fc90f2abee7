"""What fusion knows, as it stands beside a ledger: short, and read again from what older versions wrote."""

from __future__ import annotations

import msgspec

from tablectl.cards import Card
from tablectl.observations import CardDrawn
from tablectl.pairing import Draw, Gone, Laid, State
from tablectl.places import BoxPlace
from tablectl.recording.fusing import decode_state, encode_state

AT = 1_796_014_107_421_005
USUAL = State(
    camera=True,
    camera_since=AT - 9_000_000,
    now=AT,
    drawn=3,
    emitted=2,
    draws=[Draw(3, Card("9D"), AT, due=BoxPlace(3, 1))],
    held=[CardDrawn(at="2026-11-30T04:48:27.421005Z", card=Card("9D"))],
    laid=[
        Laid(1, BoxPlace(1, 0), Card("AS"), AT - 2_000_000, AT - 1_500_000, draw=1, settled=True),
        Laid(2, "dealer", Card.UNREAD, AT - 1_000_000, AT - 400_000, draw=2, taken=Draw(2, Card("TH"), AT - 1_200_000)),
    ],
    gone=[Gone(Laid(7, BoxPlace(2), Card("2C"), 5, 6, crosswise=True, like=1, seen=False), 9, told=True)],
    hidden={"3": AT - 100_000},
    split=[3],
)
SPELLED_OUT = b"""{
    "camera": true, "shoe": true, "camera_since": 1796014098421005, "shoe_since": 0, "now": 1796014107421005,
    "drawn": 3, "emitted": 2,
    "draws": [{"number": 3, "card": "9D", "at": 1796014107421005, "unwatched": false, "burned": false, "told": false,
        "twin": false, "under": false, "due": {"box": 3, "hand": 1}}],
    "held": [{"event": "card", "at": "2026-11-30T04:48:27.421005Z", "card": "9D"}],
    "laid": [{"id": 1, "place": {"box": 1, "hand": 0}, "card": "AS", "first": 1796014105421005, "at": 1796014105921005,
        "crosswise": false, "draw": 1, "like": null, "settled": true, "taken": null, "told": false, "seen": true},
        {"id": 2, "place": "dealer", "card": "??", "first": 1796014106421005, "at": 1796014107021005, "crosswise": false,
        "draw": 2, "like": null, "settled": false, "taken": {"number": 2, "card": "TH", "at": 1796014106221005,
        "unwatched": false, "burned": false, "told": false, "twin": false, "under": false, "due": null},
        "told": false, "seen": true}],
    "gone": [{"laid": {"id": 7, "place": {"box": 2}, "card": "2C", "first": 5, "at": 6, "crosswise": true, "draw": null,
        "like": 1, "settled": false, "taken": null, "told": false, "seen": false}, "at": 9, "told": true}],
    "hidden": {"3": 1796014107321005}, "split": [3]
}"""
"""The same, as it was written while what is as usual was written out, too."""


def test_what_fusion_knows_is_read_again_as_it_was() -> None:
    """Whatever of it is as usual and left out."""
    assert decode_state(encode_state(USUAL)) == USUAL
    assert decode_state(encode_state(State())) == State()


def test_what_was_written_with_all_spelled_out_is_still_read() -> None:
    """A table that starts again after an upgrade goes on from it."""
    assert decode_state(SPELLED_OUT) == USUAL


def test_what_is_as_usual_is_not_written() -> None:
    """It is written with every card, and a card waits for it."""
    assert encode_state(State()) == b"{}"
    assert len(encode_state(USUAL)) < 0.65 * len(msgspec.json.encode(msgspec.json.decode(SPELLED_OUT)))
    lying = State(laid=[Laid(2, "dealer", Card("TH"), AT, AT, draw=2, settled=True)])
    assert msgspec.json.decode(encode_state(lying))["laid"][0].keys() == {"id", "place", "card", "first", "at", "draw", "settled"}
