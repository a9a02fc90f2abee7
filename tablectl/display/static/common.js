// What all pages share: words, the stream of events, how old it is, and making elements. Nothing here writes HTML from text.

const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";
let words = {};

export const page = { ...root.dataset };

export async function learn(language) {
  const answer = await fetch(`/words/${encodeURIComponent(language)}`);
  if (!answer.ok) return false;
  words = await answer.json();
  root.lang = language;
  return true;
}

export function say(key, filled = {}) {
  const text = words[key] ?? key.slice(key.indexOf(".") + 1).replaceAll("_", " ");
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in filled ? String(filled[name]) : whole));
}

export function money(amount) {
  return new Intl.NumberFormat(root.lang, { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(amount / 100);
}

// A clock time in UTC, from the one form in which times are written.
export function clock(at, digits = 8) {
  return at ? at.slice(11, 11 + digits) : "";
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, what] of Object.entries(value)) node.addEventListener(event, what);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// Said aloud by a screen reader, and seen by nobody. `lang` is the language of the text, where it is not the page's.
export function announce(text, lang = root.lang) {
  const live = document.getElementById("said");
  live.lang = lang;
  if (live.textContent !== text) live.textContent = text;
}

// What an alert says, in the page's language where it is told in it: each text with its language.
export function wording(alert) {
  const retold = alert.words?.[root.lang];
  const remedy = typeof alert.remedy === "string" ? alert.remedy : [alert.remedy.text, alert.remedy.cite ? `(${alert.remedy.cite})` : ""].filter(Boolean).join(" ");
  return {
    text: retold ? retold.text : alert.text,
    lang: retold ? root.lang : alert.lang,
    remedy: retold?.remedy || remedy,
    remedyLang: retold?.remedy ? root.lang : alert.lang,
  };
}

// A card in a line of text.
export function face(code) {
  if (code === "??") return el("span", { class: "card suit-none" }, "?");
  const suit = { C: "♣", D: "♦", H: "♥", S: "♠" }[code[1]];
  return el("span", { class: `card suit-${code[1].toLowerCase()}` }, `${code[0] === "T" ? "10" : code[0]}${suit}`);
}

// A button that acknowledges an alert, for who may.
export function ackButton(alert) {
  if (!page.member) return null;
  const button = el("button", { type: "button", class: "ack" }, say("word.ack"));
  button.addEventListener("click", () => acknowledge(alert, button));
  return button;
}

export function place(box, hand) {
  if (box === null || box === undefined) return "";
  return hand ? say("word.hand", { box, hand }) : say("word.box", { box });
}

export function tableURL(path, more = "") {
  return `/table/${path}${more}`;
}

export function age(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 120) return say("age.seconds", { count: seconds });
  if (seconds < 7200) return say("age.minutes", { count: Math.floor(seconds / 60) });
  return say("age.hours", { count: Math.floor(seconds / 3600) });
}

// The stream. `handlers` are called by the name of the event; `grey(reason, age)` whenever what is shown changes its age.
export function follow(handlers) {
  let source = null;
  let last = "";
  let beat = null;
  let beaten = performance.now();
  let opened = 0;

  function open() {
    if (source) source.close();
    opened = performance.now();
    source = new EventSource(last ? `${page.stream}?last=${encodeURIComponent(last)}` : page.stream);
    for (const [name, handle] of Object.entries(handlers)) {
      if (name === "grey") continue;
      source.addEventListener(name, (event) => {
        if (event.lastEventId) last = event.lastEventId;
        handle(JSON.parse(event.data));
      });
    }
    source.addEventListener("beat", (event) => {
      beat = JSON.parse(event.data);
      beaten = performance.now();
      look();
    });
  }

  function look() {
    const since = performance.now() - beaten;
    const silent = beat ? beat.silent : 5000;
    if (source.readyState === EventSource.CLOSED && performance.now() - opened > 2000) open();
    else if (since > 2 * silent && performance.now() - opened > 2 * silent) open();
    let reason = "";
    let old = since;
    if (since > silent) {
      reason = "server";
    } else if (beat && (beat.broker === null || beat.broker + since > silent)) {
      reason = "broker";
      old = beat.broker === null ? null : beat.broker + since;
    }
    const tables = {};
    if (beat) {
      for (const [path, one] of Object.entries(beat.tables)) {
        const heard = one.age + since;
        tables[path] = { age: heard, reason: reason || (!one.online ? "offline" : one.beats && heard > silent ? "silent" : "") };
      }
    }
    handlers.grey(reason, old, tables, beat);
  }

  open();
  setInterval(look, 250);
  addEventListener("pageshow", (event) => event.persisted && open());
}

// The banner that says how old it is. Everything behind it is grey by the style sheet.
export function banner(reason, old, besides) {
  const node = document.getElementById("grey");
  if ((root.dataset.grey ?? "") !== reason) {
    if (reason) root.dataset.grey = reason;
    else delete root.dataset.grey;
  }
  node.hidden = !reason;
  if (!reason) {
    node.replaceChildren();
    return;
  }
  const text = say(`grey.${reason}`);
  const how = old === null || old === undefined || reason === "unknown" ? "" : say("grey.age", { age: age(old) });
  const warned = besides ? ` ${say(besides)}` : "";
  if (!node.firstChild) node.append(el("strong"), " ", el("span", { "aria-hidden": "true" }));
  if (node.firstChild.textContent !== `${text}.${warned}`) node.firstChild.textContent = `${text}.${warned}`;
  if (node.lastChild.textContent !== how) node.lastChild.textContent = how;
}

// Choices that this screen remembers: four colours, light. `settle` applies them; `choices` puts buttons for them on the page.
const CHOICES = { four: "word.four_colours", light: "word.light" };

function chosen(name) {
  return localStorage.getItem(name) === "yes";
}

export function settle() {
  for (const name of Object.keys(CHOICES)) root.toggleAttribute(`data-${name}`, chosen(name));
}

export function choices() {
  for (const [name, key] of Object.entries(CHOICES)) {
    const button = el("button", { type: "button", "aria-pressed": String(chosen(name)) }, say(key));
    button.addEventListener("click", () => {
      localStorage.setItem(name, chosen(name) ? "no" : "yes");
      button.setAttribute("aria-pressed", String(chosen(name)));
      settle();
    });
    document.getElementById("tools").append(button);
  }
  settle();
}

// Ask the server to acknowledge an alert; it knows who asks. Says what the table answered.
async function acknowledge(alert, button) {
  button.disabled = true;
  let said;
  try {
    const answer = await fetch("/ack", {
      method: "POST",
      headers: { "content-type": "application/json", "x-tablectl": "page" },
      body: JSON.stringify({ table: alert.table, alert: alert.id }),
    });
    const result = await answer.json();
    const key = `refused.${result.reason}`;
    const reason = key in words ? say(key) : `${say("refused.other")} (${result.reason})`;
    said = result.done ? say("word.acked", { name: result.by }) : say("word.refused", { reason });
    if (!result.done) button.disabled = false;
  } catch {
    said = say("word.refused", { reason: say("refused.no_answer") });
    button.disabled = false;
  }
  announce(said);
  const note = el("span", { class: "note" }, said);
  button.parentElement.querySelector(".note")?.remove();
  button.after(note);
}

// An alert in a list.
export function alertItem(alert, { link = false } = {}) {
  const said = wording(alert);
  return el(
    "li",
    { class: `alert ${alert.severity}`, "data-alert": `${alert.table}#${alert.id}` },
    el("span", { class: `severity ${alert.severity}` }, say(`severity.${alert.severity}`)),
    el("time", { datetime: alert.at ?? "" }, clock(alert.at)),
    link ? el("a", { href: tableURL(alert.table) }, decodeURIComponent(alert.table.split("/").at(-1))) : null,
    alert.box ? el("span", {}, place(alert.box, alert.hand)) : null,
    el("span", { class: "text", lang: said.lang }, said.text),
    alert.favours !== "none" ? el("span", { class: "favours" }, say(`favours.${alert.favours}`)) : null,
    el("span", { class: "remedy", lang: said.remedyLang }, said.remedy),
    ackButton(alert),
  );
}

// Redraw a list by its keys: what stays is not made anew, so that focus and a pressed button stay too.
export function redraw(list, wanted, key, make) {
  const there = new Map([...list.children].map((node) => [node.dataset.key, node]));
  let before = null;
  for (const one of wanted) {
    const name = key(one);
    const body = JSON.stringify(one);
    let node = there.get(name);
    if (!node || node.dataset.body !== body) {
      const fresh = make(one, node);
      fresh.dataset.key = name;
      fresh.dataset.body = body;
      if (node && node !== fresh) node.replaceWith(fresh);
      node = fresh;
    }
    there.delete(name);
    const next = before ? before.nextSibling : list.firstChild;
    if (node !== next) list.insertBefore(node, next);
    before = node;
  }
  for (const node of there.values()) node.remove();
}
