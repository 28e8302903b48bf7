// All ticks of the run in columns of numbers; NaN is a gap, never zero.
class Column {
  constructor(length = 0) {
    this.values = new Float64Array(Math.max(1024, 2 * length)).fill(NaN);
    this.length = length;
    this.known = 0;
  }

  push(value) {
    if (this.length === this.values.length) {
      const wider = new Float64Array(2 * this.length).fill(NaN);
      wider.set(this.values);
      this.values = wider;
    }
    const missing = value === null || value === undefined || Number.isNaN(value);
    this.values[this.length++] = missing ? NaN : value;
    if (!missing) this.known++;
  }
}

class Store {
  constructor() {
    this.clear(null);
  }

  clear(run) {
    this.run = run;
    this.length = 0;
    this.names = [];
    this.order = [];
    this.columns = new Map();
    this.sums = new Map();
    this.decisions = new Map();
    this.fresh = new Set();
    this.settings ??= null;
    this.now = {};
  }

  // Takes in a message; false where something before it is missing.
  take(message) {
    this.now = message.now ?? {};
    if (!message.run) return true;
    if (message.run !== this.run) {
      if (!message.settings) return false;
      this.clear(message.run);
      this.now = message.now;
    }
    this.settings = message.settings ?? this.settings;
    if (message.after > this.length) return false;
    if (message.columns) this.widen(message.columns);
    for (const row of message.rows.slice(this.length - message.after)) this.add(row);
    for (const entry of message.decisions) {
      this.decisions.set(entry.n, entry);
      this.fresh.add(entry.n);
    }
    return true;
  }

  widen(names) {
    for (const [of, name, measure] of names.slice(this.order.length)) {
      const column = new Column(this.length);
      this.columns.set(`${of}\n${name}\n${measure}`, column);
      this.order.push(column);
      this.names.push([of, name, measure]);
    }
  }

  add(row) {
    for (let place = 0; place < this.order.length; place++) this.order[place].push(row[place]);
    this.length++;
  }

  column(of, name, measure) {
    return this.columns.get(`${of}\n${name}\n${measure}`);
  }

  // Names of what there is a kind of, in the order of their first reading.
  those(of) {
    return [...new Set(this.names.filter(([kind]) => kind === of).map(([, name]) => name))];
  }

  at(of, name, measure, index) {
    return this.column(of, name, measure)?.values[index];
  }

  // The sum over those that ever report it, a gap where one of them is missing.
  sum(of, names, measure) {
    const parts = names.map((name) => this.column(of, name, measure)).filter((column) => column?.known);
    const key = `${of}\n${measure}`;
    let kept = this.sums.get(key);
    if (!kept || kept.parts.length !== parts.length) kept = { parts, column: new Column() };
    this.sums.set(key, kept);
    while (kept.column.length < this.length) {
      const index = kept.column.length;
      kept.column.push(parts.length ? parts.reduce((sum, part) => sum + part.values[index], 0) : NaN);
    }
    return kept.column;
  }

  // Spans within an axis in which a quantile of the latency was above a limit.
  above(quantile, limit, axis) {
    const at = this.column("run", "", "at"), step = this.column("run", "", "step").values, { values } = this.column("run", "", quantile);
    const spans = [], apart = (axis.high - axis.low) / 1000;
    for (let index = Math.max(0, before(at, axis.low)); index < this.length; index++) {
      if (!(values[index] > limit)) continue;
      const from = at.values[index] - step[index], last = spans[spans.length - 1];
      if (last && from - last[1] <= apart) last[1] = at.values[index]; else spans.push([from, at.values[index]]);
    }
    return spans;
  }

  // What decisions within an axis did to a module: [[at, kind], ...].
  changes(name, axis) {
    return [...this.decisions.values()].filter((entry) => entry.ways?.[name] && entry.at >= axis.low).map((entry) => [entry.at, entry.ways[name]]);
  }

  // The tick in whose step a moment lies.
  tickAt(moment) {
    const last = before(this.column("run", "", "at"), moment);
    return Math.min(this.length - 1, this.at("run", "", "at", last) === moment ? last : last + 1);
  }

  // The last decision that is not after a moment.
  decisionAt(moment) {
    let found = null;
    for (const entry of this.decisions.values()) if (entry.at <= moment) found = entry;
    return found;
  }

  span() {
    if (!this.length) return [0, 1];
    const at = this.column("run", "", "at").values, step = this.column("run", "", "step").values;
    return [at[0] - step[0], at[this.length - 1]];
  }
}
