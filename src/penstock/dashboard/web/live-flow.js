// The flow graph of the live page: at each tick the executors, rates and backlogs that were measured.
class LiveFlow extends Flow {
  constructor(store, holder) {
    super(holder);
    this.store = store;
  }

  // Modules and streams; of an application that was attached to, its queries and what they feed.
  build() {
    const queries = this.store.those("query"), { modules, streams, links } = this.store.settings;
    this.of = queries.length ? "query" : "module";
    if (!queries.length) return super.build({ names: modules.map(({ name }) => name), streams });
    const ways = links.filter((pair) => pair.every((name) => queries.includes(name)));
    return super.build({ names: queries, streams: ways.map(([origin, target]) => ({ origin, target, probability: 1, selectivity: 1 })) });
  }

  // Writes the values of a tick on it, and says when that was.
  show(index) {
    super.show((name) => this.module(name, index), (stream) => {
      const rate = this.rate(stream, index);
      return known(rate) ? `${number(rate)} rows/s` : "";
    });
    return this.store.at("run", "", "at", index);
  }

  // What crosses a stream: what its target takes in, where that has no other; else what its origin lets go.
  rate(stream, index) {
    const inputs = this.streams.filter(({ target }) => target === stream.target).length;
    if (inputs === 1) return this.store.at(this.of, stream.target, "arrival_rate", index);
    return this.store.at(this.of, stream.origin, "processed_rate", index) * stream.selectivity * stream.probability;
  }

  module(name, index) {
    const value = (measure) => this.store.at(this.of, name, measure, index);
    const running = value("running"), wanted = value("wanted"), rate = value("arrival_rate"), backlog = value("backlog");
    const shown = known(running) ? running : wanted;
    return {
      degree: known(shown) ? plural(shown, known(running) ? "executor" : "share") : "",
      wish: known(running) && known(wanted) && wanted !== running ? ` \u2192 ${wanted}` : "",
      rate: [known(rate) ? `${number(rate)} rows/s` : "", known(backlog) ? `${number(backlog)} wait` : ""].filter(Boolean).join(" \u00b7 "),
      busy: value("utilisation"),
    };
  }
}
