// Surveillance: every alert and ruling with its cards and its time, and the way to the round.

import { alertItem, announce, banner, choices, el, follow, learn, page, place, say } from "./common.js";

const main = document.getElementById("page");
const alerts = new Map();
const record = new Map();
const tables = new Map();

await learn(document.documentElement.lang);

function field(key, input) {
  return el("label", {}, `${say(key)} `, input);
}

const only = { table: el("select"), severity: el("select"), open: el("input", { type: "checkbox" }), words: el("input", { type: "search", size: 14 }), from: el("input", { type: "datetime-local", step: 1 }), to: el("input", { type: "datetime-local", step: 1 }) };
only.severity.append(...["", "critical", "warning", "info", "ruling"].map((name) => el("option", { value: name }, name === "" ? say("word.all") : name === "ruling" ? say("word.ruling") : say(`severity.${name}`))));
only.table.append(el("option", { value: "" }, say("word.all")));
const which = el("select", { name: "table", required: true });
const typed = el("input", { name: "q", required: true, size: 22, placeholder: "1234 / 2026-11-30 05:57:46" });
const find = el("form", { class: "find", action: "/surveillance/find", role: "search" }, field("word.table", which), field("word.find_round", typed), el("button", {}, say("word.find")));
const filters = el("form", { class: "filters" }, field("word.table", only.table), field("word.severity", only.severity), field("word.from", only.from), field("word.to", only.to), field("word.search", only.words), field("word.only_open", only.open));
const count = el("p", { class: "none", role: "status" });
const body = el("tbody");
const heads = ["word.time", "word.table", "word.round", "word.severity", "word.place", "word.cards", "word.what", "word.state"];
main.append(find, filters, count, el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("title.surveillance") }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col" }, say(key))))), body)));
filters.addEventListener("input", draw);
filters.addEventListener("submit", (event) => event.preventDefault());

function named(path) {
  return path.split("/").map(decodeURIComponent).join(" / ");
}

function face(code) {
  if (code === "??") return el("span", { class: "card suit-none" }, "?");
  const suit = { C: "♣", D: "♦", H: "♥", S: "♠" }[code[1]];
  return el("span", { class: `card suit-${code[1].toLowerCase()}` }, `${code[0] === "T" ? "10" : code[0]}${suit}`);
}

function where(token) {
  if (token === "dealer") return say("word.dealer");
  if (token === "burn") return say("word.burn");
  const [box, hand] = token.replace("box ", "").split(".");
  return token ? place(Number(box), Number(hand ?? 0)) : "";
}

// One shape for what was heard and for what is on record.
function ofAlert(alert) {
  return { key: `${alert.table}#${alert.id}`, table: alert.table, at: alert.at ?? "", round: alert.round, kind: alert.severity, place: place(alert.box, alert.hand), cards: alert.cards, text: alert.text, more: [alert.remedy.text, alert.remedy.cite].filter(Boolean).join(" – "), lang: alert.lang, open: alert.open, ended: alert.ended, alert };
}

function ofRecord(one) {
  const line = one.line;
  const kind = line.event === "alert" ? line.severity : "ruling";
  const text = line.event === "alert" ? line.text : line.event === "ack" ? `${say("event.ack")}: ${line.text}${line.by ? ` · ${line.by}` : ""}` : `${say("word.ruling")}: ${[line.text, line.by].filter(Boolean).join(" · ")}`;
  return { key: `${one.table}@${line.entry}`, table: one.table, at: line.at ?? "", round: one.round, kind, place: where(line.place ?? ""), cards: line.cards ?? [], text, more: line.remedy ?? "", open: false };
}

function passes(item) {
  if (only.table.value && item.table !== only.table.value) return false;
  if (only.severity.value && item.kind !== only.severity.value) return false;
  if (only.open.checked && !item.open) return false;
  if (only.from.value && item.at < only.from.value) return false;
  if (only.to.value && item.at.slice(0, only.to.value.length) > only.to.value) return false;
  const wanted = only.words.value.trim().toLowerCase();
  return !wanted || [item.text, item.more, item.place, item.cards.join(" "), String(item.round), named(item.table)].join(" ").toLowerCase().includes(wanted);
}

function line(item) {
  const round = item.round ? el("a", { href: `/surveillance/round/${item.table}/${item.round}` }, String(item.round)) : "";
  const kind = item.kind === "ruling" ? el("strong", {}, say("word.ruling")) : el("span", { class: `severity ${item.kind}` }, say(`severity.${item.kind}`));
  const state = item.kind === "ruling" ? "" : item.open ? el("strong", {}, say("word.open")) : say("word.ended");
  const act = item.open && page.member && item.alert ? alertItem(item.alert).querySelector("button.ack") : "";
  return el(
    "tr",
    { class: item.open ? "open" : "" },
    el("td", {}, el("time", { datetime: item.at }, item.at.replace("T", " ").replace("Z", ""))),
    el("td", {}, el("a", { href: `/table/${item.table}` }, named(item.table))),
    el("td", {}, round),
    el("td", {}, kind),
    el("td", {}, item.place),
    el("td", {}, item.cards.map(face)),
    el("td", { lang: item.lang }, item.text, item.more ? el("span", { class: "more" }, item.more) : ""),
    el("td", {}, state, item.ended ? ` ${item.ended.slice(11, 19)}` : "", act),
  );
}

function draw() {
  const heard = [...alerts.values()].map(ofAlert);
  const there = new Set(heard.map((item) => `${item.table} ${item.at} ${item.text}`));
  const kept = [...record.values()].map(ofRecord).filter((item) => !there.has(`${item.table} ${item.at} ${item.text}`));
  const items = [...heard, ...kept].filter(passes).sort((one, other) => other.at.localeCompare(one.at));
  body.replaceChildren(...items.slice(0, 1000).map(line));
  count.textContent = say("word.entries", { count: items.length });
  for (const item of [...heard, ...kept]) meet(item.table);
}

function meet(path) {
  if (tables.has(path)) return;
  tables.set(path, true);
  for (const select of [only.table, which]) {
    const option = el("option", { value: path }, named(path));
    const after = [...select.options].find((other) => other.value && other.value > path);
    select.insertBefore(option, after ?? null);
  }
}

let waiting = null;

function soon() {
  waiting ??= setTimeout(() => {
    waiting = null;
    draw();
  }, 100);
}

async function look() {
  if (!page.ledgers) return;
  try {
    const answer = await fetch("/surveillance/record");
    if (!answer.ok) return;
    for (const one of await answer.json()) record.set(`${one.table}@${one.line.entry}`, one);
    soon();
  } catch {
    // The stream says that the server is away; this is asked again.
  }
}

choices();
draw();
look();
setInterval(look, 60000);
follow({
  reset() {
    alerts.clear();
    soon();
  },
  alert(alert) {
    alerts.set(`${alert.table}#${alert.id}`, alert);
    if (alert.open) announce(`${named(alert.table)}: ${alert.text}`);
    else setTimeout(look, 1500);
    soon();
  },
  grey(reason, old, ages) {
    banner(reason, old);
    for (const path of Object.keys(ages)) meet(path);
  },
});
