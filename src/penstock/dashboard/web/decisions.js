// Decisions with their reasons, the newest first; decisions to hold can be folded away.
const ROWS = 100;

class Decisions {
  constructor(store, holder, onPin) {
    this.store = store;
    this.holder = holder;
    this.onPin = onPin;
    this.most = ROWS;
    this.rows = new Map();
    this.box = make("input");
    this.box.type = "checkbox";
    this.box.checked = true;
    this.box.addEventListener("change", () => this.show(true));
    this.count = make("small");
    this.body = make("tbody");
    this.more = make("button", "more", "Show more");
    this.more.type = "button";
    this.more.addEventListener("click", () => { this.most += 4 * ROWS; this.show(true); });
    const head = make("thead", "", make("tr", "", ...["Time", "Change", "Why"].map((text) => make("th", "", text))));
    const table = make("table", "", head, this.body);
    this.note = make("p", "soft", "There were none.");
    holder.append(make("div", "head", make("label", "", this.box, "Fold decisions to hold"), this.count), this.note, table, this.more);
    table.addEventListener("pointerover", (event) => this.pin(event.target));
    table.addEventListener("pointerleave", () => this.onPin(null));
    table.addEventListener("focusin", (event) => this.pin(event.target));
    table.addEventListener("focusout", () => this.onPin(null));
  }

  pin(target) {
    const row = target.closest("tr[data-at]");
    this.onPin(row ? Number(row.dataset.at) : null);
  }

  clear() {
    this.rows.clear();
    this.body.replaceChildren();
    this.most = ROWS;
  }

  // Writes what is new; all of it where something else is to be shown.
  show(all = false) {
    const { fresh, decisions } = this.store;
    if (!all && !fresh.size) return;
    const entries = [...decisions.values()].reverse(), folded = this.box.checked;
    const wanted = entries.filter((entry) => !folded || entry.kind !== "hold" || entry === entries[0]).slice(0, this.most);
    const keep = new Set(wanted.map((entry) => entry.n));
    for (const [n, row] of this.rows) {
      if (!keep.has(n)) { row.remove(); this.rows.delete(n); } else if (fresh.has(n)) this.renew(n, row);
    }
    let next = this.body.firstElementChild;
    for (const entry of wanted) {
      const row = this.rows.get(entry.n);
      if (row) { next = row.nextElementSibling; continue; }
      const made = this.row(entry);
      this.rows.set(entry.n, made);
      this.body.insertBefore(made, next);
    }
    this.tell(entries, wanted.length);
    fresh.clear();
  }

  // An entry that grew: what was unfolded or in focus stays so.
  renew(n, row) {
    const made = this.row(this.store.decisions.get(n)), focused = row.contains(document.activeElement);
    const open = row.querySelector("details")?.open, details = made.querySelector("details");
    if (details && open) details.open = true;
    row.replaceWith(made);
    this.rows.set(n, made);
    if (focused) made.querySelector("button").focus();
  }

  tell(entries, shown) {
    const changes = entries.filter((entry) => entry.kind !== "hold").length;
    write(this.count, `${plural(changes, "change")}`);
    this.note.hidden = entries.length > 0;
    this.more.hidden = shown < this.most;
  }

  row(entry) {
    const when = make("button", "when", during(entry));
    when.type = "button";
    const what = make("td");
    changes(entry).forEach((text, index) => what.append(index ? ", " : "", make("span", "", text)));
    const row = make("tr", entry.kind, make("td", "", when), what, make("td", "", reasons(entry)));
    row.dataset.at = entry.at;
    return row;
  }
}

const during = ({ at, to }) => (to > at ? `${clock(at)}\u2013${clock(to)}` : clock(at));

function changes({ kind, steps, what }) {
  if (kind !== "hold") return what;
  return [steps === 1 ? "held" : `held for ${plural(steps, "step")}`];
}

// An entry in one line; which of several reasons was that of a moment is unknown.
function spoken(entry) {
  const why = entry.why.length === 1 ? entry.why[0][0] : "for several reasons, see below";
  return [during(entry), changes(entry).join(", "), why].join(" \u00b7 ");
}

function reasons(entry) {
  const [[newest], ...others] = entry.why;
  if (!others.length) return newest;
  const times = ([why, steps]) => make("li", "", `${why} `, make("small", "", `${steps.toLocaleString("en")}\u00d7`));
  const list = make("ul", "", ...entry.why.map(times));
  if (entry.others) list.append(make("li", "", `and ${plural(entry.others, "other reason")}`));
  return make("details", "", make("summary", "", newest), list);
}
