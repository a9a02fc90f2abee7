// The pit: every table at a glance, and what is open at any of them, the oldest first.

import { alertItem, announce, banner, choices, el, face, follow, learn, redraw, say, tableURL, wording } from "./common.js";

const main = document.getElementById("page");
const heading = el("h2");
const none = el("p", { class: "none" });
const alerts = el("ul", { class: "alerts" });
const tables = el("ul", { class: "tables" });
const empty = el("p", { class: "none" });
main.append(el("section", { class: "grid" }, empty, tables), el("aside", {}, heading, none, alerts));

const rows = new Map();
const greys = new Map();
let known = "";

function tile(row) {
  const critical = row.alerts.filter((alert) => alert.severity === "critical").length;
  const slow = row.pace !== null && row.aim !== null && row.pace < 0.8 * row.aim;
  const pace = row.pace === null ? "" : row.aim === null ? say("word.pace", { count: row.pace }) : `${say("word.pace", { count: row.pace })}, ${say("word.aim", { count: row.aim })}`;
  const grey = el("span", { class: "old" });
  return el(
    "li",
    { class: `tile${row.stopped ? " stopped" : ""}${critical ? " grave" : ""}` },
    el(
      "a",
      { href: tableURL(row.path) },
      el("strong", { class: "name" }, row.table),
      el("span", { class: `phase ${row.phase}` }, say(`phase.${row.phase}`)),
      el("span", { class: "round" }, `${say("word.round")} ${row.round}`),
      el("span", { class: `pace${slow ? " slow" : ""}` }, slow ? "▼ " : "", pace),
      el("span", { class: "dealer" }, row.dealer.length ? [`${say("word.dealer")} ${row.total ?? "?"} `, ...row.dealer.map(face)] : ""),
      row.down.length ? el("span", { class: "down" }, `${say("word.devices_down")}: ${row.down.map((name) => say(`device.${name}`)).join(", ")}`) : "",
      row.alerts.length ? el("span", { class: `count severity ${critical ? "critical" : "warning"}` }, String(row.alerts.length)) : "",
      grey,
    ),
  );
}

let waiting = false;

function draw() {
  waiting = false;
  const sorted = [...rows.values()].sort((one, other) => one.path.localeCompare(other.path, "en", { numeric: true }));
  redraw(tables, sorted, (row) => row.path, tile);
  empty.textContent = sorted.length ? "" : say("word.no_tables");
  const open = sorted.flatMap((row) => row.alerts).sort((one, other) => (one.at ?? "").localeCompare(other.at ?? ""));
  redraw(alerts, open, (alert) => `${alert.table}#${alert.id}`, (alert) => alertItem(alert, { link: true }));
  none.textContent = open.length ? "" : say("word.no_alerts");
  heading.textContent = `${say("word.alerts")}${open.length ? ` (${open.length})` : ""}`;
  const names = open.map((alert) => `${alert.table}#${alert.id}`).join(" ");
  const fresh = open.filter((alert) => !known.split(" ").includes(`${alert.table}#${alert.id}`));
  if (fresh.length && known !== "-") announce(fresh.map((alert) => `${say("word.table")} ${decodeURIComponent(alert.table.split("/").at(-1))}: ${wording(alert).text}`).join(". "));
  known = names;
  shade();
}

function shade() {
  for (const node of tables.children) {
    const grey = greys.get(node.dataset.key)?.reason ?? "";
    node.classList.toggle("old", Boolean(grey));
    const text = grey ? say(`grey.${grey}`) : "";
    const label = node.querySelector("span.old");
    if (label && label.textContent !== text) label.textContent = text;
  }
}

await learn(document.documentElement.lang);
choices();
draw();
follow({
  reset() {
    rows.clear();
    known = "-";
  },
  row(row) {
    rows.set(row.path, row);
    if (!waiting) {
      waiting = true;
      queueMicrotask(draw);
    }
  },
  grey(reason, old, ages) {
    banner(reason, old);
    for (const [path, one] of Object.entries(ages)) greys.set(path, one);
    shade();
  },
});
