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
    this.cross = new Crosshair(this.all, document.body, this.onPoint);
  }

  groups() {
    const { store } = this, modules = store.those("module"), queries = store.those("query");
    const x = store.column("run", "", "at");
    const line = (of, name, measure, title, style, more) => ({ name: title, style, x, y: store.column(of, name, measure), ...more });
    const some = (series) => series.filter(({ y }) => y?.known);
    const groups = [["Rows", this.rows(line, some, modules, queries)], ["Executors", this.executors(line, some, modules)], ["Load", this.load(line, some, modules, queries)], ["Cost and energy", this.spent(line, some)]];
    return groups.map(([title, specs]) => [title, specs.filter((spec) => spec.series.length)]).filter(([, specs]) => specs.length);
  }

  rows(line, some, modules, queries) {
    const { store } = this, sources = store.settings.sources.filter((name) => modules.includes(name));
    const rates = sources.map((name) => ({
      title: `Rate at ${name}`, unit: "rows/s",
      series: some([line("module", name, "arrival_rate", "arrival", "c1 wide"), line("module", name, "processed_rate", "processed", "c2 light"), line("module", name, "forecast", "forecast", "c4 d1", { ahead: store.column("run", "", "step") })]),
    }));
    const [of, names] = queries.length ? ["query", queries] : ["module", modules];
    const waiting = some(names.map((name, index) => line(of, name, "backlog", name, colour(index))));
    if (waiting.length > 1) waiting.unshift({ ...waiting[0], name: "in all", style: "ink", y: store.sum(of, names, "backlog") });
    const latency = some([line("run", "", "p50", "p50", "c3 light"), line("run", "", "p95", "p95", "c1 strong")]);
    const limit = store.settings.slo === null ? null : { value: store.settings.slo, words: `SLO for p95: ${duration(store.settings.slo)}` };
    return [...rates, { title: "Backlog", unit: "rows", series: waiting }, { title: "Latency, end to end", unit: "s", series: latency, limit, bands: (axis) => (limit ? store.above("p95", limit.value, axis) : []) }];
  }

  executors(line, some, modules) {
    const shared = { title: "Shared by all modules", unit: "executors", style: "low", series: some([line("run", "", "pool", "running", "c1 fill", { stepped: true })]) };
    const each = modules.map((name) => ({
      title: name, unit: "executors", style: "low", marks: (axis) => store.changes(name, axis),
      series: some([line("module", name, "wanted", "wanted", "ink halo", { stepped: true }), line("module", name, "requested", "requested", "c2", { stepped: true }), line("module", name, "running", "running", "c1 fill", { stepped: true })]),
    }));
    return [shared, ...each];
  }

  load(line, some, modules, queries) {
    const [of, names] = queries.length ? ["query", queries] : ["module", modules];
    const busy = some(modules.map((name, index) => line("module", name, "utilisation", name, colour(index))));
    const batches = some(names.map((name, index) => line(of, name, "batch_duration", name, colour(index))));
    return [{ title: "Utilisation", unit: "%", style: "low", series: busy }, { title: "Batch duration", unit: "s", style: "low", series: batches }];
  }

  spent(line, some) {
    return [
      { title: "Cost", unit: "", style: "low", series: some([line("run", "", "cost", "cost", "c3 fill")]) },
      { title: "Executor-seconds", unit: "", style: "low", series: some([line("run", "", "executor_seconds", "executor-seconds", "c1 fill")]) },
      { title: "Energy", unit: "J", style: "low", series: some([line("run", "", "joules", "energy", "c2 fill")]) },
      { title: "Power", unit: "W", style: "low", series: some([line("run", "", "watts", "power", "c2")]) },
    ];
  }

  view() {
    const { store } = this, [start, end] = store.span();
    const step = store.at("run", "", "step", store.length - 1) ?? 0;
    const foresees = this.all.some(({ series }) => series.some((line) => line.ahead));
    const to = end + (foresees ? step : 0), from = this.window ? Math.max(start, to - this.window) : start;
    return { axis: timeAxis(from, to, this.holder.clientWidth < 600 ? 5 : 10), lazy: true };
  }

  draw() {
    this.offer();
    const view = this.seen = this.view();
    drawAll(this.all, view);
    const now = performance.now();
    if (now - (this.spoken ?? -1e9) > 2000) {
      this.spoken = now;
      for (const plot of this.all) plot.speak(true);
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

  // Shows the crosshair at a moment with the values of its step, or takes it away.
  point(moment) {
    const { store } = this, at = moment === null ? null : store.at("run", "", "at", store.tickAt(moment));
    this.cross.show(moment, clock(moment ?? 0), at);
    const entry = at === null ? null : store.decisionAt(at);
    write(this.said, entry ? spoken(entry) : this.hint);
  }

  // Marks a decision on every plot.
  pin(at) {
    document.body.classList.toggle("pinned", at !== null);
    if (at === null || !this.seen) return;
    const share = this.seen.axis.share(at);
    document.body.style.setProperty("--pin", `${100 * share}%`);
    for (const { frame } of this.all) frame.querySelector(".pin").classList.toggle("away", share < 0);
  }
}
