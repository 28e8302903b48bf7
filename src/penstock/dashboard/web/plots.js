// Which plots a run has, over one common time.
const WINDOWS = [[60, "the last minute"], [300, "the last 5 minutes"], [900, "the last 15 minutes"], [3600, "the last hour"], [21600, "the last 6 hours"], [86400, "the last day"]];
const colour = (index) => `c${(index % 6) + 1} d${Math.floor(index / 6) % 3}`;

class Plots {
  constructor(store, holder, onPoint) {
    this.store = store;
    this.holder = holder;
    this.onPoint = onPoint;
    this.all = [];
    this.shape = "";
    this.window = null;
    this.share = 1;
    this.said = make("p", "said");
    this.said.setAttribute("aria-live", "off");
    this.chooser = make("select");
    this.chooser.addEventListener("change", () => { this.window = Number(this.chooser.value) || null; this.onPoint(null); });
    this.hint = "A mark is a decision: \u25b2 out, \u25bc in. Point at any plot to read its values.";
  }

  // Builds the plots anew where there is something else to draw than before.
  build() {
    const groups = this.groups();
    const shape = JSON.stringify(groups.map(([title, specs]) => [title, specs.map((spec) => [spec.title, spec.series.map((line) => line.name)])])) + this.store.run;
    if (shape === this.shape) return;
    this.shape = shape;
    this.all = [];
    const label = make("label", "window", "show ", this.chooser);
    const sections = groups.map(([title, specs], place) => {
      const plots = specs.map((spec) => new Plot(spec));
      this.all.push(...plots);
      return make("div", "group", ...(place ? [make("h2", "", title)] : []), ...plots.map((plot) => plot.figure));
    });
    this.holder.replaceChildren(make("div", "bar", make("h2", "", groups[0]?.[0] ?? "Rows"), label), this.said, ...sections);
    write(this.said, this.hint);
    for (const plot of this.all) this.listen(plot.frame);
  }

  groups() {
    const { store } = this, modules = store.those("module"), queries = store.those("query");
    const line = (of, name, measure, title, style, more) => ({ name: title, style, column: store.column(of, name, measure), ...more });
    const some = (series) => series.filter(({ column }) => column?.known);
    const groups = [["Rows", this.rows(line, some, modules, queries)], ["Executors", this.executors(line, some, modules)], ["Load", this.load(line, some, modules, queries)], ["Cost and energy so far", this.spent(line, some)]];
    return groups.map(([title, specs]) => [title, specs.filter((spec) => spec.series.length)]).filter(([, specs]) => specs.length);
  }

  rows(line, some, modules, queries) {
    const { store } = this, sources = store.settings.sources.filter((name) => modules.includes(name));
    const rates = sources.map((name) => ({
      title: `Rate at ${name}`, unit: "rows/s",
      series: some([line("module", name, "arrival_rate", "arrival", "c1 wide"), line("module", name, "processed_rate", "processed", "c2 light"), line("module", name, "forecast", "forecast", "c4 d1", { ahead: true })]),
    }));
    const [of, names] = queries.length ? ["query", queries] : ["module", modules];
    const waiting = some(names.map((name, index) => line(of, name, "backlog", name, colour(index))));
    if (waiting.length > 1) waiting.unshift({ name: "in all", style: "ink", column: store.sum(of, names, "backlog") });
    const latency = some([line("run", "", "p50", "p50", "c3 light"), line("run", "", "p95", "p95", "c1 strong")]);
    const limit = store.settings.slo === null ? null : { value: store.settings.slo, words: `SLO for p95: ${duration(store.settings.slo)}`, column: store.column("run", "", "p95") };
    return [...rates, { title: "Backlog", unit: "rows", series: waiting }, { title: "Latency, end to end", unit: "s", series: latency, limit }];
  }

  executors(line, some, modules) {
    const shared = { title: "Shared by all modules", unit: "executors", low: true, series: some([line("run", "", "pool", "running", "c1 fill", { stepped: true })]) };
    const each = modules.map((name) => ({
      title: name, unit: "executors", low: true, marks: name,
      series: some([line("module", name, "wanted", "wanted", "ink halo", { stepped: true }), line("module", name, "requested", "requested", "c2", { stepped: true }), line("module", name, "running", "running", "c1 fill", { stepped: true })]),
    }));
    return [shared, ...each];
  }

  load(line, some, modules, queries) {
    const [of, names] = queries.length ? ["query", queries] : ["module", modules];
    const busy = some(modules.map((name, index) => line("module", name, "utilisation", name, colour(index))));
    const batches = some(names.map((name, index) => line(of, name, "batch_duration", name, colour(index))));
    return [{ title: "Utilisation", unit: "%", low: true, series: busy }, { title: "Batch duration", unit: "s", low: true, series: batches }];
  }

  spent(line, some) {
    return [
      { title: "Cost", unit: "", low: true, series: some([line("run", "", "cost", "cost", "c3 fill")]) },
      { title: "Executor-seconds", unit: "", low: true, series: some([line("run", "", "executor_seconds", "executor-seconds", "c1 fill")]) },
      { title: "Energy", unit: "J", low: true, series: some([line("run", "", "joules", "energy", "c2 fill")]) },
      { title: "Power", unit: "W", low: true, series: some([line("run", "", "watts", "power", "c2")]) },
    ];
  }

  view() {
    const { store } = this, [start, end] = store.span();
    const step = store.at("run", "", "step", store.length - 1) ?? 0;
    const foresees = this.all.some(({ spec }) => spec.series.some((line) => line.ahead));
    const to = end + (foresees ? step : 0), from = this.window ? Math.max(start, to - this.window) : start;
    const narrow = this.holder.clientWidth < 600;
    const first = Math.max(0, store.before(from) - (this.window ? 0 : 1));
    return {
      from, to: to > from ? to : from + 1, first, last: store.length - 1,
      at: store.column("run", "", "at")?.values, step: store.column("run", "", "step")?.values,
      axis: timeAxis(from, to > from ? to : from + 1, narrow ? 5 : 10),
      changes: [...store.decisions.values()].filter((entry) => entry.ways && entry.at >= from),
    };
  }

  draw() {
    this.offer();
    const view = this.seen = this.view();
    for (const plot of this.all) plot.draw(view);
    const now = performance.now();
    if (now - (this.spoken ?? -1e9) > 2000) {
      this.spoken = now;
      for (const plot of this.all) plot.speak(view);
    }
  }

  // Only windows shorter than the run are worth offering.
  offer() {
    const [start, end] = this.store.span();
    const fitting = WINDOWS.filter(([seconds]) => seconds < end - start);
    if (this.chooser.childElementCount === fitting.length + 1) return;
    const options = [["", "the whole run"], ...fitting].map(([value, text]) => {
      const option = make("option", "", text);
      option.value = value;
      return option;
    });
    this.chooser.replaceChildren(...options);
    this.chooser.value = this.window ?? "";
  }

  listen(frame) {
    const clamp = (share) => Math.min(1, Math.max(0, share));
    const point = (share) => { this.share = clamp(share); this.onPoint(this.seen.from + this.share * (this.seen.to - this.seen.from)); };
    const follow = (event) => {
      const box = frame.getBoundingClientRect();
      point((event.clientX - box.left) / box.width);
    };
    frame.addEventListener("pointermove", follow);
    frame.addEventListener("pointerdown", follow);
    frame.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.onPoint(null); });
    frame.addEventListener("blur", () => this.onPoint(null));
    frame.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") this.onPoint(null);
      if (!way) return;
      event.preventDefault();
      point(this.share + way / 200);
    });
  }

  // Shows the crosshair at a moment, or takes it away.
  point(moment) {
    const { body } = document;
    body.classList.toggle("hovering", moment !== null);
    const index = moment === null ? null : this.store.tickAt(moment);
    for (const plot of this.all) plot.read(index);
    if (moment === null) { write(this.said, this.hint); return; }
    const share = (moment - this.seen.from) / (this.seen.to - this.seen.from);
    body.style.setProperty("--x", `${100 * share}%`);
    body.style.setProperty("--t", JSON.stringify(clock(moment)));
    const entry = this.store.decisionAt(this.store.at("run", "", "at", index));
    write(this.said, entry ? [clock(entry.at), entry.what.join(", "), entry.why[0][0]].filter(Boolean).join(" \u00b7 ") : this.hint);
  }

  // Marks a decision on every plot.
  pin(at) {
    document.body.classList.toggle("pinned", at !== null);
    if (at === null || !this.seen) return;
    const share = (at - this.seen.from) / (this.seen.to - this.seen.from);
    document.body.style.setProperty("--pin", `${100 * share}%`);
    for (const { frame } of this.all) frame.querySelector(".pin").classList.toggle("away", share < 0);
  }
}
