// The table's page: the felt as it stands, seen from the players' side, the dealer above. Box 1 is on the dealer's left.

import { HEIGHT, WIDTH, card } from "./cards.js";
import { alertItem, announce, banner, choices, clock, el, follow, learn, money, place, redraw, say, svg, tableURL } from "./common.js";

const main = document.getElementById("page");
const root = document.documentElement;
const now = el("p", { class: "now", id: "now" });
const more = el("p", { class: "more" });
const felt = svg("svg", { class: "felt", viewBox: "0 0 1600 900", role: "group" });
const shoe = el("div", { class: "shoe" });
const alerts = el("ul", { class: "alerts" });
const noAlerts = el("p", { class: "none" });
const rounds = el("ol", { class: "rounds" });
const heading = { alerts: el("h2"), rounds: el("h2"), shoe: el("h2") };
const facts = el("p", { class: "facts" });
main.append(
  el("section", { class: "prompt" }, facts, now, more),
  el("section", { class: "cloth" }, felt),
  el("aside", {}, el("section", {}, heading.shoe, shoe), el("section", {}, heading.alerts, noAlerts, alerts), el("section", {}, heading.rounds, rounds)),
);

const CENTRE = { x: 800, y: 60 };
const BOXES = [1, 2, 3, 4, 5, 6, 7];

function spot(box, across, down) {
  const angle = (Math.PI / 180) * (12 + (box - 1) * 26);
  return { x: CENTRE.x + across * Math.cos(angle), y: CENTRE.y + down * Math.sin(angle) };
}

function text(value, x, y, name, size) {
  return svg("text", { class: name, x, y, "font-size": size, "text-anchor": "middle" }, value);
}

function total(hand) {
  if (!hand.cards.length) return "";
  if (hand.total === null) return "?";
  return hand.soft ? `${say("word.soft")} ${hand.total}` : String(hand.total);
}

function words(cards) {
  return cards.map((code) => (code === "??" ? say("word.unread") : code)).join(" ");
}

// Cards one over another, so that every corner is seen; the first lies undermost. Hands of a split lie upright, side by side.
function column(cards) {
  const step = cards.length > 5 ? 22 : 29;
  return cards.map((code, index) => card(code, -WIDTH / 2, (index - cards.length + 1) * step));
}

function fan(cards, x, y, room) {
  const step = cards.length > 1 ? Math.min(26, room / (cards.length - 1)) : 0;
  const left = x - (WIDTH + step * (cards.length - 1)) / 2;
  return cards.map((code, index) => card(code, left + index * step, y - index * 4));
}

function drawBox(number, box, told) {
  const at = spot(number, 620, 550);
  const parts = [svg("ellipse", { class: "place", cx: at.x, cy: at.y + 26, rx: 100, ry: 100 })];
  const hands = box?.hands ?? [];
  const asked = told && told.box === number;
  const gap = hands.length > 1 ? Math.min(112, 250 / hands.length) : 210;
  const scale = Math.min(hands.length > 1 ? 1.4 : 1.5, (gap - 8) / WIDTH);
  const said = [say("word.box", { box: number })];
  hands.forEach((hand, index) => {
    const x = (index - (hands.length - 1) / 2) * gap;
    const acting = hand.acting || (asked && told.hand === hand.hand && !hand.result);
    const group = svg("g", { class: `hand${acting ? " acting" : ""}${hand.result ? ` over ${hand.result}` : ""}`, transform: `translate(${at.x + x} ${at.y - 66})` });
    const cards = svg("g", { transform: `scale(${scale})` }, hands.length > 1 ? column(hand.cards) : fan(hand.cards, 0, 0, 86));
    const above = hands.length > 1 ? Math.max(0, hand.cards.length - 1) * (hand.cards.length > 5 ? 22 : 29) * scale : 0;
    if (acting) group.append(svg("rect", { class: "frame", x: -gap / 2 + 1, y: -14 - above, width: gap - 2, height: HEIGHT * scale + 82 + above, rx: 10 }));
    group.append(cards);
    const below = HEIGHT * scale + 30;
    const ends = hand.result ? say(`result.${hand.result}`) : total(hand);
    const wide = [ends.length > 9, hands.length > 2, hands.length > 1];
    const counted = hand.result && hand.result !== "blackjack" && hands.length < 3 ? `${hand.total ?? "?"} ${ends}` : ends;
    if (ends) group.append(text(counted, 0, below, "total", hand.result && (wide[0] || wide[2]) ? 18 : wide[1] ? 24 : 30));
    if (hand.stake) group.append(text(money(hand.stake), 0, below + 28, "stake", wide[1] ? 18 : wide[2] ? 21 : 26));
    parts.push(group);
    said.push([hands.length > 1 ? place(number, hand.hand) : "", words(hand.cards), hand.cards.length ? `${say("word.total")} ${total(hand)}` : "", `${say("word.stake")} ${money(hand.stake)}`, hand.result ? ends : acting ? say("word.acting") : ""].filter(Boolean).join(", "));
  });
  const laid = box ? box.staked + box.carried : 0;
  if (!hands.length && laid) {
    parts.push(svg("circle", { class: "chip", cx: at.x, cy: at.y + 10, r: 26 }), text(money(laid), at.x, at.y + 66, "stake", 22));
    said.push(`${say("word.stake")} ${money(laid)}`);
  }
  if (box?.carried) {
    parts.push(text(`${money(box.carried)} ${say("word.carried")}`, at.x, at.y + 166, "carried", 20));
    said.push(`${money(box.carried)} ${say("word.carried")}`);
  }
  const insured = hands.find((hand) => hand.insurance);
  if (insured) {
    parts.push(text(`${say("word.insurance")} ${money(insured.insurance)}`, at.x, at.y + 146, "insurance", 22));
    said.push(`${say("word.insurance")} ${money(insured.insurance)}`);
  }
  const label = spot(number, 765, 735);
  parts.push(text(String(number), label.x, label.y + 12, asked ? "number asked" : "number", 38));
  return svg("g", { class: `box${asked ? " asked" : ""}`, role: "group", "aria-label": said.join(". "), "data-box": number }, parts);
}

function drawDealer(table) {
  const cards = table.dealer.cards;
  const said = cards.length ? `${say("word.dealer")}: ${words(cards)}, ${say("word.total")} ${total(table.dealer)}` : say("word.dealer");
  const group = svg("g", { class: "dealer", role: "group", "aria-label": said });
  const row = svg("g", { transform: "translate(800 74) scale(1.9)" }, fan(cards, 0, 0, 240));
  group.append(row);
  if (cards.length) group.append(text(total(table.dealer), 800, 276, "total", 42));
  else group.append(text(say("word.dealer"), 800, 150, "number", 26));
  table.held.forEach((held, index) => {
    const x = 1060 + index * 90;
    group.append(svg("g", { transform: `translate(${x} 100) scale(1.3)` }, card(held.card, 0, 0, { uncertain: true })));
    group.append(text(say("word.held"), x + 40, 236, "held", 18));
  });
  return group;
}

function drawShoe(table) {
  const { drawn, remaining, unread, state } = table.shoe;
  const whole = remaining === null ? null : drawn + remaining;
  const bar = svg("svg", { class: "gauge", viewBox: "0 0 200 16", preserveAspectRatio: "none", role: "img", "aria-label": say("word.drawn", { count: drawn }) });
  bar.append(svg("rect", { class: "all", width: 200, height: 16, rx: 4 }));
  if (whole) bar.append(svg("rect", { class: "drawn", width: Math.max(2, (200 * drawn) / whole), height: 16, rx: 4 }));
  const lines = [say("word.drawn", { count: drawn })];
  if (remaining !== null) lines.push(say("word.remaining", { count: remaining }));
  if (state === "past_cut") lines.push(say("word.past_cut"));
  if (unread) lines.push(`${unread} × ${say("word.unread")}`);
  return [whole ? bar : "", el("p", { class: state }, lines.join(" · "))];
}

function roundItem(one) {
  const results = one.results.map((result) => `${place(result.box, result.hand)} ${say(`result.${result.result}`)}`);
  return el(
    "li",
    {},
    el("a", { href: `/surveillance/round/${shown.path}/${one.number}` }, say("word.show_round", { round: one.number })),
    ` ${clock(one.at)} `,
    one.alerts ? el("span", { class: "severity warning" }, `${one.alerts} !`) : "",
    el("span", { class: "results" }, results.join(", ")),
  );
}

const FRAME = 16; // milliseconds: several things are told of one event, and the felt is drawn once for them
let shown = null;
let waiting = false;

// The prompt is for at once; what costs time comes after it.
function show(table) {
  shown = table;
  const said = table.told?.now ?? "";
  now.lang = table.lang;
  more.lang = table.lang;
  if (now.textContent !== said) now.textContent = said;
  more.textContent = [...(table.told?.also ?? []), table.told?.next ? say("word.next", { what: table.told.next }) : ""].filter(Boolean).join(" · ");
  announce(said, table.lang);
  if (waiting) return;
  waiting = true;
  setTimeout(draw, FRAME);
}

function draw() {
  waiting = false;
  if (!shown) return;
  const table = shown;
  const boxes = new Map(table.boxes.map((box) => [box.box, box]));
  const laid = [svg("path", { class: "cloth", d: "M20 20H1580V80A780 790 0 0 1 20 80Z" }), drawDealer(table)];
  felt.replaceChildren(...laid, ...BOXES.map((number) => drawBox(number, boxes.get(number), table.told)));
  felt.setAttribute("aria-label", say("title.table", { table: table.table }));
  const down = Object.entries(table.devices).filter(([, device]) => device.state === "down");
  facts.replaceChildren(
    el("span", { class: `phase ${table.phase}` }, say(`phase.${table.phase}`)),
    ` ${say("word.round")} ${table.round} · ${table.house} · ${clock(table.at)} UTC `,
    ...down.map(([name, device]) => el("span", { class: "down" }, `${say("word.devices_down")}: ${say(`device.${name}`)} `, el("span", { lang: "en" }, `(${device.why})`))),
    el("a", { href: tableURL(table.path, "/dealer") }, say("word.dealer")),
  );
  root.toggleAttribute("data-error", table.phase === "suspended");
  heading.alerts.textContent = say("word.alerts");
  heading.rounds.textContent = say("word.last_rounds");
  heading.shoe.textContent = say("word.shoe");
  shoe.replaceChildren(...drawShoe(table));
  noAlerts.textContent = table.alerts.length ? "" : say("word.no_alerts");
  redraw(alerts, table.alerts, (alert) => String(alert.id), (alert) => alertItem(alert));
  redraw(rounds, table.rounds, (one) => String(one.number), roundItem);
}

await learn(root.lang);
choices();
follow({
  reset() {
    shown = null;
  },
  picture: show,
  grey(reason, old, tables) {
    const mine = Object.values(tables)[0];
    const why = reason || (mine ? mine.reason : shown ? "" : "unknown");
    banner(why, reason ? old : mine?.age);
  },
});
