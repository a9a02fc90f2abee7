"""A felt as a camera sees it: cards laid by a homography, chips, print, hands over it, and what light and lens do to the picture.

Felt coordinates are millimetres; a *camera* is the homography (3x3) from felt millimetres to pixels. Cards are laid in order,
later ones over earlier ones; `Sight` tells of each index where the camera sees it and how much of it is uncovered. All chance
comes from the generator that is handed in, so one seed draws the same picture again.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tablectl.cards import Card
from tablectl.felt.faces import FaceStyle, Glyphs, draw_face, index_blocks

__all__ = [
    "Deck",
    "Laid",
    "PictureDeck",
    "Sight",
    "card_quad",
    "card_to_felt",
    "draw_chip",
    "draw_hand",
    "exposed",
    "glare",
    "lay_cards",
    "sensor",
    "smooth_field",
    "view",
    "woven",
]

Picture = NDArray[np.uint8]
Matrix = NDArray[np.float64]
SHIFT = 4


class Deck:
    """The faces of one deck, drawn when first asked for and kept."""

    def __init__(self, style: FaceStyle, glyphs: Glyphs):
        self.style = style
        self.glyphs = glyphs
        self._faces: dict[tuple[Card, float], Picture] = {}

    def face(self, card: Card, px_per_mm: float) -> Picture:
        """The face of a card, see `draw_face`."""
        key = (card, px_per_mm)
        if key not in self._faces:
            self._faces[key] = draw_face(card, self.style, self.glyphs, px_per_mm)
        return self._faces[key]

    def blocks(self, card: Card) -> list[tuple[float, float, float, float, bool]]:
        """The indices of a face, see `index_blocks`."""
        return [tuple(block) for block in index_blocks(card, self.style, self.glyphs)]  # type: ignore[misc]


class PictureDeck(Deck):
    """A deck of pictures: faces as an artist drew them (with opacity), and where their indices are, in mm.

    `style` gives the card's size, and rank's and suit's heights and their gap.
    """

    def __init__(
        self, style: FaceStyle, pictures: dict[Card, Picture], boxes: dict[Card, list[tuple[float, float, float, float, bool]]]
    ):
        super().__init__(style, {})
        self._pictures = pictures
        self._boxes = boxes

    def face(self, card: Card, px_per_mm: float) -> Picture:
        """The face of a card at a scale; a back is drawn as for any deck."""
        if card is Card.UNREAD:
            return super().face(card, px_per_mm)
        key = (card, px_per_mm)
        if key not in self._faces:
            size = (round(self.style.width * px_per_mm), round(self.style.height * px_per_mm))
            self._faces[key] = np.asarray(cv2.resize(self._pictures[card], size, interpolation=cv2.INTER_AREA), np.uint8)
        return self._faces[key]

    def blocks(self, card: Card) -> list[tuple[float, float, float, float, bool]]:
        """Where the indices of a face are."""
        return self._boxes[card]


class Laid(NamedTuple):
    """A card on the felt: its middle in mm, its angle in degrees (0: the index upright for one who looks along -y)."""

    card: Card
    x: float
    y: float
    angle: float


class Sight(NamedTuple):
    """An index as the camera sees it, in pixels: middle, unit vector from suit to rank, height, width, the uncovered shares."""

    card: Card
    laid: int
    x: float
    y: float
    up: tuple[float, float]
    height: float
    width: float
    rank_seen: float
    suit_seen: float


def card_to_felt(laid: Laid, style: FaceStyle) -> Matrix:
    """The matrix from millimetres on the card (origin at its upper left) to millimetres on the felt."""
    angle = np.deg2rad(laid.angle)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, -sin, laid.x], [sin, cos, laid.y], [0, 0, 1]])
    return np.asarray(turn @ np.array([[1, 0, -style.width / 2], [0, 1, -style.height / 2], [0, 0, 1.0]]))


def view(
    px_per_mm: float,
    middle: tuple[float, float],
    size: tuple[int, int],
    turn: float = 0.0,
    tilt: float = 0.0,
    distance: float = 1500.0,
) -> Matrix:
    """A camera that looks at the felt point `middle` (mm) and has it in the middle of a picture of `size` (columns, rows).

    `px_per_mm` holds at that point across the tilt; `turn` degrees about the line of sight, `tilt` degrees from the
    perpendicular, `distance` mm from lens to that point (a near lens has a strong perspective).
    """
    a, b = np.deg2rad(turn), np.deg2rad(tilt)
    spin = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    lean = np.array([[1, 0, 0], [0, np.cos(b), 0], [0, np.sin(b) / distance, 1]])
    move = np.array([[1, 0, -middle[0]], [0, 1, -middle[1]], [0, 0, 1.0]])
    lens = np.array([[px_per_mm, 0, size[0] / 2], [0, px_per_mm, size[1] / 2], [0, 0, 1]])
    return np.asarray(lens @ lean @ spin @ move)


def _project(matrix: Matrix, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points through a homography."""
    made = np.c_[points, np.ones(len(points))] @ matrix.T
    out: NDArray[np.float64] = made[:, :2] / made[:, 2:]
    return out


def card_quad(laid: Laid, style: FaceStyle, camera: Matrix) -> NDArray[np.float64]:
    """The corners of a laid card in pixels, from its upper left clockwise."""
    corners = np.array([(0, 0), (style.width, 0), (style.width, style.height), (0, style.height)], float)
    return _project(camera @ card_to_felt(laid, style), corners)


def lay_cards(
    image: Picture, cards: list[Laid], deck: Deck, camera: Matrix, *, face_scale: float, shadow: float = 0.4
) -> NDArray[np.int16]:
    """Draw cards onto a picture, in order. Returns whose each pixel is: the card's place in the list, or -1.

    `face_scale` is the px/mm the faces are drawn at before they are warped: near the picture's own, or they alias. `shadow`
    from 0 to 1 is how dark the rim of shadow about a card is.
    """
    rows, columns = image.shape[:2]
    owner = np.full((rows, columns), -1, np.int16)
    for place, laid in enumerate(cards):
        face = deck.face(laid.card, face_scale)
        scale = np.diag([1 / face_scale, 1 / face_scale, 1.0])
        to_picture = camera @ card_to_felt(laid, deck.style) @ scale
        quad = card_quad(laid, deck.style, camera)
        pad = 8
        x0, y0 = np.maximum(np.floor(quad.min(0)).astype(int) - pad, 0)
        x1, y1 = np.minimum(np.ceil(quad.max(0)).astype(int) + pad, (columns, rows))
        if x1 <= x0 or y1 <= y0:
            continue
        shift = np.array([[1, 0, -x0], [0, 1, -y0], [0, 0, 1.0]])
        warped = cv2.warpPerspective(face, shift @ to_picture, (int(x1 - x0), int(y1 - y0)), flags=cv2.INTER_LINEAR)
        opacity = warped[..., 3:].astype(np.float32) / 255
        under = image[y0:y1, x0:x1].astype(np.float32)
        if shadow > 0:
            soft = np.zeros_like(opacity[..., 0])
            soft[2:, 1:] = opacity[:-2, :-1, 0]
            under *= 1 - shadow * cv2.GaussianBlur(soft, (0, 0), 2.2)[..., None]
        image[y0:y1, x0:x1] = under * (1 - opacity) + warped[..., :3] * opacity
        owner[y0:y1, x0:x1][warped[..., 3] > 127] = place
    return owner


def exposed(cards: list[Laid], deck: Deck, camera: Matrix, owner: NDArray[np.int16]) -> list[Sight]:
    """Where the camera sees each index of the cards that `lay_cards` drew, and how much of rank and suit is uncovered.

    Draw whatever else covers a card (a hand, a chip) into `owner` first, with another number.
    """
    sights = []
    style = deck.style
    share = (style.rank_height + style.gap / 2) / (style.rank_height + style.gap + style.suit_height)
    for place, laid in enumerate(cards):
        if laid.card is Card.UNREAD:
            continue
        to_picture = camera @ card_to_felt(laid, style)
        for x, y, height, width, turned in deck.blocks(laid.card):
            way = -1 if turned else 1
            top, bottom, cut = y - way * height / 2, y + way * height / 2, y - way * height * (0.5 - share)
            side = width / 2
            points = [(x, y), (x, top), (x, bottom), (x - side, y), (x + side, y)]
            points += [(x - side, top), (x + side, top), (x + side, cut), (x - side, cut), (x + side, bottom), (x - side, bottom)]
            seen = _project(to_picture, np.array(points))
            up = seen[1] - seen[2]
            length = float(np.hypot(*up))
            rank = _share(owner, seen[5:9], place)
            suit = _share(owner, seen[[8, 7, 9, 10]], place)
            middle = (seen[1] + seen[2]) / 2
            direction = (float(up[0]) / length, float(up[1]) / length)
            wide = float(np.hypot(*(seen[4] - seen[3])))
            sights.append(Sight(laid.card, place, float(middle[0]), float(middle[1]), direction, length, wide, rank, suit))
    return sights


def _share(owner: NDArray[np.int16], quad: NDArray[np.float64], place: int) -> float:
    """The share of a quadrangle's pixels that belong to a card; what lies outside the picture does not."""
    rows, columns = owner.shape
    low = np.floor(quad.min(0)).astype(int)
    high = np.ceil(quad.max(0)).astype(int) + 1
    mask = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
    cv2.fillConvexPoly(mask, np.round(quad - low).astype(np.int32), (1,))
    whole = int(mask.sum())
    x0, y0, x1, y1 = max(low[0], 0), max(low[1], 0), min(high[0], columns), min(high[1], rows)
    if x1 <= x0 or y1 <= y0 or whole == 0:
        return 0.0
    part = mask[y0 - low[1] : y1 - low[1], x0 - low[0] : x1 - low[0]]
    return float(((owner[y0:y1, x0:x1] == place) & (part > 0)).sum()) / whole


def smooth_field(chance: np.random.Generator, size: tuple[int, int], grain: int, low: float, high: float) -> NDArray[np.float32]:
    """A soft random field over (rows, columns), `grain` cells a side, from `low` to `high`."""
    cells = chance.uniform(low, high, (grain, grain)).astype(np.float32)
    return np.asarray(cv2.resize(cells, (size[1], size[0]), interpolation=cv2.INTER_CUBIC), np.float32)


def woven(chance: np.random.Generator, size: tuple[int, int], colour: tuple[float, float, float], rough: float) -> Picture:
    """A cloth of a colour, (rows, columns) large; `rough` is how far its grain strays, in levels."""
    rows, columns = size
    grain = chance.normal(0, 1, (rows, columns)).astype(np.float32)
    grain = grain * 0.6 + cv2.GaussianBlur(grain, (0, 0), 1.2) * 2.0
    cloth = np.array(colour, np.float32) + grain[..., None] * rough
    return np.clip(cloth, 0, 255).astype(np.uint8)


def draw_chip(
    image: Picture, owner: NDArray[np.int16] | None, chance: np.random.Generator, middle: tuple[float, float], radius: float
) -> None:
    """A chip of `radius` pixels: edge spots, rings, a figure or suits on it. `owner` learns what it covers (-2)."""
    inks = [
        (40, 40, 200),
        (180, 90, 30),
        (60, 140, 40),
        (30, 30, 30),
        (160, 60, 140),
        (60, 190, 230),
        (235, 235, 235),
        (70, 130, 240),
    ]
    body, spots = (inks[int(i)] for i in chance.choice(len(inks), 2, replace=False))
    x, y = int(middle[0]), int(middle[1])
    r = max(3, round(radius))
    cv2.circle(image, (x + r // 6, y + r // 6), r, tuple(int(v * 0.3) for v in body), -1, cv2.LINE_AA)
    cv2.circle(image, (x, y), r, body, -1, cv2.LINE_AA)
    count, start = int(chance.integers(4, 9)), float(chance.uniform(0, 360))
    for spot in range(count):
        angle = start + spot * 360 / count
        cv2.ellipse(
            image,
            (x, y),
            (round(r * 0.88), round(r * 0.88)),
            0,
            angle,
            angle + 180 / count,
            spots,
            max(1, round(r * 0.22)),
            cv2.LINE_AA,
        )
    cv2.circle(image, (x, y), round(r * 0.62), inks[int(chance.integers(len(inks)))], -1, cv2.LINE_AA)
    cv2.circle(image, (x, y), round(r * 0.62), spots, 1, cv2.LINE_AA)
    text = str(chance.choice(["1", "2", "5", "10", "25", "100", "500", "A", "K", "J", "Q", "7", "9"]))
    size = r / (11.0 * len(text) + 8)
    ink = (20, 20, 20) if chance.random() < 0.5 else (230, 230, 230)
    cv2.putText(
        image, text, (x - round(9 * size * len(text)), y + round(10 * size)), 0, size, ink, max(1, round(size * 2)), cv2.LINE_AA
    )
    if owner is not None:
        cv2.circle(owner, (x, y), r, (-2,), -1)


def draw_hand(
    image: Picture, owner: NDArray[np.int16] | None, chance: np.random.Generator, tip: tuple[float, float], px_per_mm: float
) -> None:
    """A hand and sleeve that reach in to `tip` (pixels) from some side. `owner` learns what they cover (-2)."""
    rows, columns = image.shape[:2]
    cover = np.zeros((rows, columns), np.uint8)
    angle = float(chance.uniform(0, 2 * np.pi))
    way = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-way[1], way[0]])
    at = np.array(tip)
    palm = at + way * 95 * px_per_mm
    for finger in range(4):
        root = palm + across * (finger - 1.5) * 20 * px_per_mm
        end = at + across * (finger - 1.5) * chance.uniform(14, 24) * px_per_mm + way * chance.uniform(0, 30) * px_per_mm
        _stroke(cover, root, end, 17 * px_per_mm)
    cv2.circle(cover, _pixel(palm), round(42 * px_per_mm), (255,), -1, cv2.LINE_AA)
    _stroke(cover, palm, palm + way * 400 * px_per_mm, 62 * px_per_mm)
    sleeve = np.zeros_like(cover)
    _stroke(sleeve, palm + way * 90 * px_per_mm, palm + way * 500 * px_per_mm, 90 * px_per_mm)
    tone = np.array(
        [(95, 125, 190), (120, 160, 225), (60, 85, 130), (45, 60, 90), (150, 185, 235)][int(chance.integers(5))], np.float32
    )
    cloth = np.array([(30, 30, 30), (235, 235, 235), (90, 40, 30), (40, 40, 120)][int(chance.integers(4))], np.float32)
    bulge = cv2.GaussianBlur(cover, (0, 0), max(1.0, 4 * px_per_mm)).astype(np.float32)[..., None] / 255
    shade = (cv2.GaussianBlur(cover, (0, 0), max(1.0, 7 * px_per_mm)).astype(np.float32) / 255)[..., None] * 0.5
    picture = image.astype(np.float32) * (1 - shade)
    for mask, colour in ((cover, tone), (sleeve, cloth)):
        weight = mask.astype(np.float32)[..., None] / 255
        picture = picture * (1 - weight) + colour * (0.6 + 0.4 * bulge) * weight
    image[:] = np.clip(picture, 0, 255)
    if owner is not None:
        owner[(cover > 100) | (sleeve > 100)] = -2


def _pixel(point: NDArray[np.float64]) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def _stroke(mask: Picture, start: NDArray[np.float64], end: NDArray[np.float64], width: float) -> None:
    """A thick line with round ends."""
    cv2.line(mask, _pixel(start), _pixel(end), (255,), max(1, round(width)), cv2.LINE_AA)


def glare(
    image: NDArray[np.float32], chance: np.random.Generator, middle: tuple[float, float], radius: float, strength: float
) -> None:
    """Light mirrored in the lacquer: a soft spot of `radius` pixels, `strength` levels bright at its middle."""
    rows, columns = image.shape[:2]
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float32)
    angle = chance.uniform(0, np.pi)
    u = ((x - middle[0]) * np.cos(angle) + (y - middle[1]) * np.sin(angle)) / radius
    v = ((y - middle[1]) * np.cos(angle) - (x - middle[0]) * np.sin(angle)) / (radius * chance.uniform(0.3, 1))
    spot = np.exp(-(u * u + v * v))[..., None].astype(np.float32)
    tint = chance.uniform(0.85, 1.0, 3).astype(np.float32)
    image += spot * np.float32(strength) * tint


def sensor(image: NDArray[np.float32], chance: np.random.Generator, blur: float, noise: float, quality: int | None) -> Picture:
    """What lens, sensor and compression make of a picture: `blur` (sigma in pixels), `noise` (levels), JPEG `quality`."""
    if blur > 0.2:
        image = cv2.GaussianBlur(image, (0, 0), blur).astype(np.float32)
    if noise > 0:
        image = image + chance.normal(0, noise, image.shape).astype(np.float32)
    made = np.clip(image, 0, 255).astype(np.uint8)
    if quality is not None:
        _, packed = cv2.imencode(".jpg", made, [cv2.IMWRITE_JPEG_QUALITY, quality])
        made = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    return made
