from itertools import islice, pairwise, permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.cards import PACK
from tablectl.game.shuffle import LIMIT, MOST, Finding, capital, due, judge
from tests.shuffle_power import SHOES, SUITS, at_most, cut, false_alarms, power, random_shoe, riffled

UNREAD = 255


def shoe(kind: str, seed: int, decks: int = 6) -> bytes:
    return bytes(random_shoe(Random(seed), decks) if kind == "shuffled" else SHOES[kind](Random(seed), decks))


class TestTheBets:
    """The false-alarm rate is proved from one thing: on no card do the gamblers win in the mean while the shoe is shuffled."""

    @settings(deadline=None, max_examples=60)
    @given(
        kind=st.sampled_from(["shuffled", *SHOES]),
        decks=st.sampled_from([1, 2, 6, 8]),
        seed=st.integers(0, 10**6),
        drawn=st.integers(0, 160),
        unread=st.sets(st.integers(0, 159), max_size=30),
    )
    def test_every_bet_is_fair(self, kind: str, decks: int, seed: int, drawn: int, unread: set[int]) -> None:
        cards = bytearray(shoe(kind, seed, decks)[:drawn])
        for place in unread:
            cards[place : place + 1] = bytes([UNREAD] * len(cards[place : place + 1]))
        before = bytes(cards)
        left = [decks - before.count(face) for face in range(52)]
        if not sum(left):
            return
        mean = sum(copies * capital(before + bytes([face]), decks) for face, copies in enumerate(left) if copies) / sum(left)
        assert mean <= capital(before, decks) * (1 + 1e-9)
        if (
            all(left) and mean < MOST
        ):  # else some bet on what cannot come; and who is ruined leaves up to a milliardth on the table
            assert mean == pytest.approx(capital(before, decks), rel=1e-6)

    def test_they_begin_with_one_and_win_nothing_on_the_first_card(self) -> None:
        assert capital(b"", 6) == 1
        assert capital(bytes([17]), 6) == pytest.approx(1)

    def test_ace_and_two_of_clubs_from_one_pack_reckoned_by_hand(self) -> None:
        by_face = (
            0.05 + 0.95 * (1 / 2) * 51
        )  # half of the stake is on the two, half on the king; 1 of 51 cards is the two of clubs
        by_rank = 0.05 + 0.95 * (1 / 2) * (51 / 4)  # 4 of 51 are twos
        chains = 0.5 + 0.1 * (3 * by_face + 0.05 + by_rank)
        assert capital(bytes([0, 1]), 1) == pytest.approx(chains / 4 + 1 / 2 + 1 / 4)

    def test_a_king_is_followed_by_its_own_ace(self) -> None:
        assert capital(bytes([12, 0]), 1) == pytest.approx(capital(bytes([0, 1]), 1))
        assert capital(bytes([12, 13]), 1) < capital(bytes([12, 0]), 1)

    def test_the_same_face_twice_from_six_packs_reckoned_by_hand(self) -> None:
        same_rank = 0.05 + 0.95 * 311 / 23
        chains = 0.5 + 0.1 * (4 * 0.05 + same_rank)
        new_pack = 0.02 + 0.98 * (1 / 52) / (5 / 311)  # only to who holds that a pack has just ended can the face come again
        packs = (51 * 0.02 + new_pack) / 52
        spread = 0.6 * 311 / (51 * 6 + 5 * 0.6)
        assert capital(bytes([7, 7]), 6) == pytest.approx(chains / 4 + packs / 2 + spread / 4)

    def test_the_betting_ends_where_nothing_can_make_it_doubtful(self) -> None:
        cards = bytes(range(52)) * 12
        assert capital(cards, 12) == capital(cards[:40], 12) >= MOST


class TestShuffledShoes:
    @pytest.mark.parametrize(("decks", "shoes"), [(1, 200), (2, 200), (6, 1_000), (8, 200)])
    def test_none_of_these_raises_an_alarm(self, decks: int, shoes: int) -> None:
        """At 1 in 100,000 each, the chance of any is at most 1 %; and they are the same shoes every time."""
        assert false_alarms(shoes, decks, "short") == 0

    @pytest.mark.slow
    def test_of_a_hundred_thousand_at_most_one_in_ten_thousand_raises_an_alarm(self) -> None:
        alarms = sum(false_alarms(25_000, 6, seed) for seed in ("11", "12", "13", "14"))
        assert alarms <= 4  # at 1 in 100,000 more would come in 1 run of 270
        assert at_most(alarms, 100_000) < 1 / 10_000

    def test_cards_that_pass_unread_raise_none(self) -> None:
        rng = Random(5)
        for _ in range(100):
            cards = random_shoe(rng, 6)
            often = rng.choice([0.01, 0.1, 0.9])
            assert judge(bytes(UNREAD if rng.random() < often else card for card in cards), 6) is None

    @pytest.mark.parametrize("never", [{3}, {3, 17, 29, 50}, set(range(0, 52, 6)), set(range(13)), set(range(26))])
    def test_nor_do_faces_that_are_never_read(self, never: set[int]) -> None:
        for seed in range(200):
            assert judge(bytes(UNREAD if card in never else card for card in shoe("shuffled", seed)), 6) is None

    def test_a_shoe_of_which_too_much_passes_unread_is_not_judged(self) -> None:
        pack = bytes(range(52))
        assert judge(bytes([UNREAD] * 12) + pack, 6)
        assert judge(bytes([UNREAD] * 13) + pack * 6, 6) is None
        assert judge(bytes([UNREAD, *pack[:7]] * 13 + [UNREAD]), 6)

    def test_nor_do_two_shoes_of_which_the_end_of_the_first_was_not_told(self) -> None:
        assert judge(shoe("shuffled", 1) + shoe("shuffled", 2), 6) is None


class TestBadShuffles:
    @pytest.mark.parametrize(
        ("kind", "drawn", "tests"),
        [
            ("new packs in order", 26, {"new_pack"}),
            ("new packs, 1 riffle of the whole", 52, {"new_pack", "runs", "ranks"}),
            ("new packs, 2 riffles of the whole", 52, {"new_pack", "runs", "ranks"}),
            ("new packs, each riffled once, stacked", 52, {"new_pack", "runs", "ranks"}),
            ("new packs, each riffled twice, stacked", 104, {"new_pack", "runs", "ranks"}),
            ("new packs, each riffled 7 times, stacked", 104, {"stacked"}),
            ("packs well shuffled, stacked", 104, {"stacked", "spread"}),
            ("sorted by rank", 52, {"new_pack", "runs", "ranks"}),
        ],
    )
    @pytest.mark.parametrize("decks", [2, 6, 8])
    def test_all_are_told(self, kind: str, drawn: int, tests: set[str], decks: int) -> None:
        measured = power(kind, 50, decks, "short")
        assert measured.told[drawn] == 1
        assert set(measured.tests) <= tests

    def test_stacked_packs_are_mostly_told_though_riffled_once(self) -> None:
        measured = power("the same, 1 riffle of the whole", 50, 6, "short")
        assert measured.told[234] >= 0.7
        assert set(measured.tests) == {"spread"}

    def test_a_single_new_pack_is_told(self) -> None:
        assert power("new packs in order", 50, 1, "short").told[26] == 1
        assert power("new packs, 1 riffle of the whole", 50, 1, "short").told[52] == 1

    @pytest.mark.parametrize("backwards", [False, True])
    def test_in_whatever_order_a_maker_lays_the_suits(self, *, backwards: bool) -> None:
        for suits in permutations(SUITS):
            for turned in range(16):
                pack = [card for place, suit in enumerate(suits) for card in (suit[::-1] if turned >> place & 1 else suit)]
                finding = judge(bytes(pack[::-1] if backwards else pack)[:26], 6)
                assert finding is not None
                assert finding.test == "new_pack"

    def test_wherever_the_player_cuts(self) -> None:
        packs = list(range(52)) * 6
        for at in range(52):
            assert judge(bytes(packs[at:] + packs[:at])[:26], 6)
        rng = Random(9)
        stack = [card for _ in range(6) for card in rng.sample(range(52), 52)]
        for at in range(312):
            assert judge(bytes(stack[at:] + stack[:at])[:104], 6)

    def test_a_new_pack_slipped_in_is_told_once_it_has_come(self) -> None:
        for seed in range(50):
            assert judge(shoe("one new pack slipped in, in order", seed), 6)

    def test_though_one_card_in_ten_passes_unread(self) -> None:
        rng = Random(3)
        for kind in ("new packs in order", "new packs, 1 riffle of the whole", "packs well shuffled, stacked"):
            for seed in range(50):
                cards = bytes(UNREAD if rng.random() < 0.1 else card for card in shoe(kind, seed))
                assert judge(cards[:104], 6), (kind, seed)

    def test_though_a_card_was_pulled_that_nobody_saw(self) -> None:
        """The packs then end one card sooner than they should."""
        for seed in range(50):
            cards = shoe("packs well shuffled, stacked", seed)
            assert judge(cards[:30] + cards[31:156], 6)

    def test_an_old_shoe_put_back_in_order_of_play_is_not_seen(self) -> None:
        """As docs/shuffle-test.md says: who does not know the order before cannot know that it was kept."""
        assert not power("a used shoe in order of play", 50, 6, "short").tests


class TestFindings:
    @settings(deadline=None, max_examples=40)
    @given(kind=st.sampled_from(["shuffled", *SHOES]), seed=st.integers(0, 10**6), looks=st.sets(st.integers(0, 312), max_size=5))
    def test_one_that_was_made_stands(self, kind: str, seed: int, looks: set[int]) -> None:
        """So it makes no difference when one looks, but that one cannot know before the cards came."""
        cards = shoe(kind, seed)
        last = judge(cards, 6)
        value = LIMIT
        for drawn in sorted(looks):
            finding = judge(cards[:drawn], 6)
            if last is None or drawn < last.drawn:
                assert finding is None
                continue
            assert finding is not None
            assert finding == last._replace(value=finding.value)
            assert value <= finding.value <= last.value <= MOST
            value = finding.value

    def test_it_says_what_when_and_how_surely(self) -> None:
        finding = judge(bytes(range(26)), 6)
        assert finding is not None
        assert finding == Finding("new_pack", MOST, LIMIT, finding.drawn)
        assert capital(bytes(range(finding.drawn)), 6) >= LIMIT > capital(bytes(range(finding.drawn - 1)), 6)

    def test_unread_cards_are_counted_among_those_drawn(self) -> None:
        read, late = judge(bytes(range(26)), 6), judge(bytes([UNREAD] * 10) + bytes(range(26)), 6)
        assert read is not None
        assert late == read._replace(drawn=read.drawn + 10)

    @pytest.mark.parametrize("byte", [52, 128, 254, 255])
    def test_no_byte_is_too_strange(self, byte: int) -> None:
        assert judge(bytes([byte]) * 400, 6) is None
        assert judge(bytes(range(40, 52)) + bytes([byte]) * 400, 6) == judge(bytes(range(40, 52)), 6)

    @pytest.mark.parametrize("decks", [-1, 0, 13, 255])
    def test_of_a_shoe_that_there_is_not_nothing_is_said(self, decks: int) -> None:
        assert judge(bytes(range(52)), decks) is None

    @pytest.mark.parametrize("decks", range(1, 13))
    def test_any_shoe_can_be_dealt_to_its_last_card_and_beyond(self, decks: int) -> None:
        assert judge(shoe("shuffled", decks, decks) * 2, decks) is None

    def test_nothing_drawn_is_nothing_found(self) -> None:
        assert judge(b"", 6) is None


class TestLooks:
    def test_the_first_comes_early_and_the_others_with_each_pack(self) -> None:
        assert list(islice(filter(due, range(1_000)), 5)) == [26, 52, 104, 156, 208]

    def test_none_before_a_card_was_drawn(self) -> None:
        assert not due(0)


class TestTheShoesOfTheMeasure:
    @pytest.mark.parametrize("kind", SHOES)
    @pytest.mark.parametrize("decks", [1, 6])
    def test_each_holds_its_packs(self, kind: str, decks: int) -> None:
        assert sorted(shoe(kind, 4, decks)) == sorted(list(range(52)) * decks)

    def test_a_riffle_leaves_two_rising_sequences(self) -> None:
        for seed in range(20):
            cards = riffled(range(312), Random(seed))
            places = [cards.index(card) for card in range(312)]
            assert sum(after < before for before, after in pairwise(places)) == 1

    def test_a_cut_keeps_the_round(self) -> None:
        cards = cut(range(312), Random(2))
        assert sum((after - before) % 312 == 1 for before, after in pairwise(cards)) == 311

    def test_the_pack_is_in_suits(self) -> None:
        assert [{PACK[card].suit for card in suit} for suit in SUITS] == [{PACK[13 * place].suit} for place in range(4)]

    def test_the_rate_that_no_alarm_leaves_possible(self) -> None:
        """Three divided by the number, as the rule of thumb has it."""
        assert at_most(0, 1_000) == pytest.approx(2.9957 / 1_000, rel=1e-3)
        assert at_most(4, 1_000) == pytest.approx(9.1535 / 1_000, rel=1e-3)
