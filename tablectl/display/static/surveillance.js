// Surveillance: every alert and ruling with its cards and its time, and the way to the round.

import { ackButton, announce, banner, choices, el, face, follow, learn, page, place, redraw, say, wording } from "./common.js";

const MOST_ROWS = 1000;
const TIME = "\\d{4}(-\\d\\d(-\\d\\d([ T]\\d\\d(:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?)?)?)?)?Z?"; // its beginning will do
const main = document.getElementById("page");
const alerts = new Map();
const record = new Map();
const tables = new Set();

await learn(document.documentElement.lang);

function field(key, input) {
  return el("label", {}, el("span", {}, `${say(key)} `), input);
}

function time() {
  return el("input", { size: 19, placeholder: "2026-11-30 05:57", pattern: TIME, inputmode: "text", autocomplete: "off" });
}

function all() {
  return el("option", { value: "" }, say("word.all"));
}

const kinds = { critical: "severity.critical", warning: "severity.warning", info: "severity.info", ruling: "word.ruling" };
const only = {
  table: el("select", {}, all()),
  kind: el("select", {}, all(), Object.entries(kinds).map(([kind, key]) => el("option", { value: kind }, say(key)))),
  from: time(),
  to: time(),
  words: el("input", { type: "search", size: 14 }),
  open: el("input", { type: "checkbox" }),
};
const which = el("select", { name: "table", required: true });
const typed = el("input", { name: "q", required: true, size: 22, placeholder: "1234 / 2026-11-30 05:57:46", autocomplete: "off" });
const find = el("form", { class: "find", action: "/surveillance/find", role: "search" }, field("word.table", which), field("word.find_round", typed), el("button", {}, say("word.find")));
const filters = el(
  "form",
  { class: "filters" },
  field("word.table", only.table),
  field("word.severity", only.kind),
  field("word.from", only.from),
  field("word.to", only.to),
  field("word.search", only.words),
  field("word.only_open", only.open),
);
const sieve = el("details", { open: matchMedia("(min-width: 801px)").matches }, el("summary", {}, say("word.filters")), filters);
const count = el("p", { class: "none", role: "status" });
const heads = ["word.time", "word.table", "word.round", "word.severity", "word.place", "word.cards", "word.what", "word.state"];
const body = el("tbody", { role: "rowgroup" });
// The roles are said because a phone's style makes a list of the table, and browsers then forget what it is.
const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((key) => el("th", { scope: "col", role: "columnheader" }, say(key)))));
const wide = el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("title.surveillance") }, el("table", { role: "table" }, head, body));
main.append(find, sieve, count, wide);

function named(path) {
  return path.split("/").map(decodeURIComponent).join(" / ");
}

function where(token) {
  if (token === "dealer") return say("word.dealer");
  if (token === "burn") return say("word.burn");
  const [box, hand] = token.replace("box ", "").split(".");
  return token ? place(Number(box), Number(hand ?? 0)) : "";
}

// One shape for what was heard and for what is on record.
function ofAlert(alert) {
  return {
    key: `${alert.table}#${alert.id}`,
    table: alert.table,
    at: alert.at ?? "",
    round: alert.round,
    kind: alert.severity,
    place: place(alert.box, alert.hand),
    cards: alert.cards,
    ...wording(alert),
    open: alert.open,
    ended: alert.ended,
    ruled: alert.ruled,
    alert,
  };
}

// A ruling as it is heard: the game goes on. Who ruled, and what, the ledger tells.
function ofRuled(alert) {
  return {
    key: `${alert.table} ${alert.ended}`,
    table: alert.table,
    at: alert.ended,
    round: alert.round,
    kind: "ruling",
    place: place(alert.box, alert.hand),
    cards: alert.cards,
    ...wording(alert),
    remedy: page.ledgers ? "" : say("word.ruled_as_heard"),
    remedyLang: null,
  };
}

function ofRecord({ table, lang, ledger, round, line }) {
  const key = `${table} ${ledger} ${line.entry}`;
  const item = { key, table, at: line.at ?? "", round, ledger, kind: line.severity ?? "ruling", place: where(line.place ?? ""), cards: line.cards ?? [] };
  if (line.event === "alert") return { ...item, ...wording({ ...line, lang, remedy: line.remedy ?? "" }) };
  const what = line.event === "ack" ? [say("event.ack"), say("word.alert", { number: line.text })] : [say(`ruling.${line.do}`), line.text];
  return { ...item, what: line.event, text: [...what, line.by].filter(Boolean).join(" · ") };
}

function from(text) {
  return text.trim().replace(" ", "T").replace("Z", "");
}

function passes(item) {
  const [since, until] = [from(only.from.value), from(only.to.value)];
  if (only.table.value && item.table !== only.table.value) return false;
  if (only.kind.value && item.kind !== only.kind.value) return false;
  if (only.open.checked && !item.open) return false;
  if (since && only.from.validity.valid && item.at < since) return false;
  if (until && only.to.validity.valid && item.at.slice(0, until.length) > until) return false;
  const wanted = only.words.value.trim().toLowerCase();
  return !wanted || [item.text, item.remedy, item.place, item.cards.join(" "), String(item.round), named(item.table)].join(" ").toLowerCase().includes(wanted);
}

function row(item) {
  const path = `/surveillance/round/${item.table}/${item.round}${item.ledger ? `?ledger=${encodeURIComponent(item.ledger)}` : ""}`;
  const ruling = item.kind === "ruling";
  const kind = ruling ? el("strong", {}, say(item.what === "ack" ? "event.ack" : "word.ruling")) : el("span", { class: `severity ${item.kind}` }, say(`severity.${item.kind}`));
  const ended = item.ended ? `${say(item.ruled ? "word.ruled_on" : "word.ended")} ${item.ended.slice(11, 19)}` : item.alert && !item.open ? say("word.ended") : "";
  const state = item.open ? [el("strong", {}, say("word.open")), " ", ackButton(item.alert)] : ended;
  const cells = [
    el("time", { datetime: item.at }, item.at.replace("T", " ").replace("Z", "")),
    el("a", { href: `/table/${item.table}` }, named(item.table)),
    item.round ? el("a", { href: path, "aria-label": say("word.show_round", { round: item.round }) }, String(item.round)) : "",
    kind,
    item.place,
    item.cards.map(face),
    [el("span", { lang: item.lang }, item.text), item.remedy ? el("span", { class: "more", lang: item.remedyLang }, item.remedy) : ""],
    state,
  ];
  return el("tr", { role: "row", class: item.open ? "open" : "" }, cells.map((cell, index) => el("td", { role: "cell", "data-head": say(heads[index]) }, cell)));
}

function draw() {
  const kept = [...record.values()].map(ofRecord);
  const onRecord = new Set(kept.map((item) => `${item.table} ${item.at} ${item.kind === "ruling"}`));
  const heard = [...alerts.values()].map(ofAlert);
  const told = new Set(heard.map((item) => `${item.table} ${item.at} ${item.text}`));
  const ruled = [...new Map([...alerts.values()].filter((alert) => alert.ruled && alert.ended).map((alert) => [`${alert.table} ${alert.ended}`, alert])).values()].map(ofRuled);
  const every = [
    ...heard,
    ...ruled.filter((item) => !onRecord.has(`${item.table} ${item.at} true`)),
    ...kept.filter((item) => !told.has(`${item.table} ${item.at} ${item.text}`)),
  ];
  const items = every.filter(passes).sort((one, other) => other.at.localeCompare(one.at));
  redraw(body, items.slice(0, MOST_ROWS), (item) => item.key, row);
  count.textContent = say("word.entries", { count: items.length });
  for (const item of every) meet(item.table);
}

function meet(path) {
  if (tables.has(path)) return;
  tables.add(path);
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
  const asked = new URLSearchParams();
  if (only.from.validity.valid && only.from.value) asked.set("from", from(only.from.value));
  if (only.to.validity.valid && only.to.value) asked.set("to", from(only.to.value));
  try {
    const answer = await fetch(`/surveillance/record?${asked}`);
    if (!answer.ok) return;
    for (const one of await answer.json()) record.set(`${one.table} ${one.ledger} ${one.line.entry}`, one);
    soon();
  } catch {
    // The stream says that the server is away; this is asked again.
  }
}

filters.addEventListener("input", draw);
for (const input of [only.from, only.to]) input.addEventListener("change", look);
filters.addEventListener("submit", (event) => event.preventDefault());
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
    const known = alerts.get(`${alert.table}#${alert.id}`);
    alerts.set(`${alert.table}#${alert.id}`, alert);
    if (alert.open && !known) announce(`${named(alert.table)}: ${wording(alert).text}`);
    else if (!alert.open) setTimeout(look, 1500);
    soon();
  },
  grey(reason, old, ages) {
    banner(reason, old);
    for (const path of Object.keys(ages)) meet(path);
  },
});
