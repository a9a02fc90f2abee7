// Playing cards, drawn by ourselves. A card is 60 by 84; what is not known is dashed and has a question mark.

import { svg } from "./common.js";

const SUITS = {
  S: "M50 6C80 35 93 49 93 64C93 76 84 84 74 84C65 84 58 80 54 73C55 82 58 89 65 94L35 94C42 89 45 82 46 73C42 80 35 84 26 84C16 84 7 76 7 64C7 49 20 35 50 6Z",
  H: "M50 92C20 64 7 47 7 30C7 16 17 8 28 8C38 8 46 14 50 23C54 14 62 8 72 8C83 8 93 16 93 30C93 47 80 64 50 92Z",
  D: "M50 4L88 50L50 96L12 50Z",
  C: "M50 6A21 21 0 0 1 67 39A21 21 0 1 1 54 70C55 82 59 89 66 94L34 94C41 89 45 82 46 70A21 21 0 1 1 33 39A21 21 0 0 1 50 6Z",
};
export const WIDTH = 60;
export const HEIGHT = 84;

function suit(letter, x, y, size) {
  return svg("path", { d: SUITS[letter], transform: `translate(${x} ${y}) scale(${size / 100})` });
}

// `code` as in KS, TH, ??; `uncertain` for a card that is read but waits for a ruling.
export function card(code, x, y, { uncertain = false } = {}) {
  const unread = code === "??";
  const rank = unread ? "?" : code[0] === "T" ? "10" : code[0];
  const kind = unread ? "unread" : `suit-${code[1].toLowerCase()}`;
  const parts = [svg("rect", { class: "face", width: WIDTH, height: HEIGHT, rx: 6 })];
  if (unread) {
    parts.push(svg("text", { class: "rank", x: WIDTH / 2, y: 58, "font-size": 48, "text-anchor": "middle" }, "?"));
  } else {
    parts.push(
      svg("text", { class: "rank", x: rank === "10" ? 3 : 6, y: 25, "font-size": 25, textLength: rank === "10" ? 25 : null, lengthAdjust: "spacingAndGlyphs" }, rank),
      suit(code[1], 6, 30, 17),
      suit(code[1], 23, 42, 33),
    );
    if (uncertain) parts.push(svg("text", { class: "doubt", x: WIDTH - 6, y: 24, "font-size": 24, "text-anchor": "end" }, "?"));
  }
  return svg("g", { class: `card ${kind}${unread || uncertain ? " uncertain" : ""}`, transform: `translate(${x} ${y})` }, parts);
}
