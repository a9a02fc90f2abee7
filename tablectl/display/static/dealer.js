// The dealer's page: one thing to do now, as large as fits; an error fills it until it is ruled on.

import { announce, banner, el, follow, learn, say, settle } from "./common.js";

const main = document.getElementById("page");
const root = document.documentElement;
const now = el("p", { class: "now", id: "now" });
const next = el("p", { class: "next" });
const also = el("ul", { class: "also" });
const warnings = el("ul", { class: "warnings" });
const dealing = el("section", { class: "dealing" }, also, el("div", { class: "room" }, now), next, warnings);
const what = el("p", { class: "what" });
const remedy = el("p", { class: "remedy" });
const stop = el("p", { class: "stop" });
const rest = el("ul", { class: "rest" });
const error = el("section", { class: "error", role: "alert", hidden: true }, stop, el("div", { class: "room" }, what, remedy), rest);
main.append(dealing, error);

// The largest letters with which all of a node stands in its room.
function fit(room) {
  if (!room.clientHeight) return;
  let low = 12;
  let high = Math.max(13, Math.min(room.clientHeight, room.clientWidth / 3));
  for (let turn = 0; turn < 12; turn += 1) {
    const size = (low + high) / 2;
    room.style.fontSize = `${size}px`;
    if (room.scrollHeight <= room.clientHeight && room.scrollWidth <= room.clientWidth) low = size;
    else high = size;
  }
  room.style.fontSize = `${low}px`;
}

function fitted() {
  for (const room of main.querySelectorAll(".room")) fit(room);
}

// A number is not torn from the word before it.
function put(node, text) {
  const whole = text.replace(/(?<=\p{L}) (?=\d)/gu, "\u00a0");
  if (node.textContent !== whole) node.textContent = whole;
}

function list(node, texts) {
  if (node.dataset.body === JSON.stringify(texts)) return;
  node.dataset.body = JSON.stringify(texts);
  node.replaceChildren(...texts.map((text) => el("li", {}, text)));
}

let shown = null;
let fits = "";
let language = root.lang;

async function show(table) {
  shown = table;
  if (table.lang !== language) {
    language = table.lang;
    await learn(table.lang);
    if (shown !== table) return;
  }
  const stopped = table.stopped[0];
  const suspended = table.phase === "suspended";
  error.hidden = !suspended;
  dealing.hidden = suspended;
  root.toggleAttribute("data-error", suspended);
  if (suspended) {
    put(stop, say("word.stopped"));
    put(what, stopped ? stopped.text : (table.told?.now ?? ""));
    put(remedy, stopped ? [stopped.remedy.text, stopped.remedy.cite ? ` (${stopped.remedy.cite})` : ""].join("") : "");
    list(rest, [...table.stopped.slice(1).map((alert) => alert.text), say("word.until_ruled")]);
  }
  put(now, table.told ? table.told.now : "");
  root.dataset.code = table.told?.code ?? "";
  put(next, table.told?.next ? `${say("word.next", { what: table.told.next })}` : "");
  list(also, table.told?.also ?? []);
  list(warnings, suspended ? [] : table.alerts.slice(-2).map((alert) => alert.text));
  announce(suspended ? "" : [...(table.told?.also ?? []), now.textContent].join(". ")); // an error is announced by its role
  const said = [...main.querySelectorAll("p, li")].map((node) => node.textContent).join("\n") + suspended;
  if (said === fits) return;
  fits = said;
  fitted();
}

settle();
await learn(root.lang);
new ResizeObserver(fitted).observe(main);
follow({
  reset() {
    shown = null;
  },
  picture: show,
  grey(reason, old, tables) {
    const mine = Object.values(tables)[0];
    const why = reason || (mine ? mine.reason : shown ? "" : "unknown");
    banner(why, reason ? old : mine?.age, "grey.no_order");
  },
});
