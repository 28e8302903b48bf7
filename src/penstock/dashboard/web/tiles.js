// The key figures of the run at this moment.
class Tiles {
  constructor(store, holder) {
    this.store = store;
    this.made = new Map();
    this.holder = holder;
  }

  show() {
    const { store } = this, last = store.length - 1;
    const p95 = store.at("run", "", "p95", last), slo = store.settings.slo;
    const late = known(p95) && slo !== null && p95 > slo;
    const limit = slo === null ? "nothing promised" : `limit ${duration(slo)}`;
    this.tile("Latency, p95", known(p95) ? duration(p95) : UNKNOWN, limit, known(p95) && slo !== null ? (late ? "bad" : "good") : "");
    this.backlog(last);
    this.executors(last);
    this.cost();
    const { joules, origin } = store.now;
    this.tile("Energy", known(joules) ? quantity(joules, "J") : UNKNOWN, known(joules) ? origin : "not measured");
    this.violations(slo);
  }

  backlog(last) {
    const { store } = this, queries = store.those("query");
    const [of, names] = queries.length ? ["query", queries] : ["module", store.those("module")];
    const waiting = store.sum(of, names, "backlog").values[last];
    const arrival = store.settings.sources.map((name) => store.at("module", name, "arrival_rate", last)).reduce((sum, rate) => sum + (rate ?? NaN), 0);
    this.tile("Backlog", known(waiting) ? number(waiting) : UNKNOWN, known(arrival) ? `rows; ${number(arrival)} rows/s come` : "rows");
  }

  executors(last) {
    const { store } = this, pool = store.at("run", "", "pool", last);
    const all = (state) => store.those("module").reduce((sum, name) => sum + (store.at("module", name, state, last) ?? NaN), 0);
    const running = known(pool) ? pool : all("running"), asked = [all("wanted"), all("requested")];
    const degrees = asked.map((count, index) => (known(count) ? `${count} ${["wanted", "requested"][index]}` : "")).filter(Boolean).join(", ");
    this.tile("Executors running", known(running) ? String(running) : UNKNOWN, degrees);
  }

  cost() {
    const { cost, executor_seconds: seconds } = this.store.now;
    const hours = known(seconds) ? `${number(seconds / 3600)} executor-hours` : "";
    if (known(cost)) this.tile("Cost", number(cost), hours);
    else this.tile("Cost", known(seconds) ? number(seconds / 3600) : UNKNOWN, known(seconds) ? "executor-hours" : "");
  }

  violations(slo) {
    const { met, violated, unknown } = this.store.now, measured = met + violated;
    if (slo === null) return this.tile("Violations", "no SLO", "");
    const share = measured ? `${percent(violated / measured)} of ${plural(measured, "step")}` : "no step measured it";
    return this.tile("Violations", measured ? violated.toLocaleString("en") : UNKNOWN, unknown ? `${share}, ${unknown.toLocaleString("en")} unknown` : share, violated ? "bad" : measured ? "good" : "");
  }

  tile(label, value, note, tone = "") {
    let tile = this.made.get(label);
    if (!tile) {
      tile = { value: make("dd"), note: make("dd") };
      tile.box = make("div", "tile", make("dt", "", label), tile.value, tile.note);
      this.holder.append(tile.box);
      this.made.set(label, tile);
    }
    tile.box.className = `tile ${[UNKNOWN, "no SLO"].includes(value) ? "none" : tone}`;
    write(tile.value, value);
    write(tile.note, note);
  }
}
