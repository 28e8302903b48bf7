// The flow graph with rates and degrees on it, lying for wide screens and standing for narrow ones.
const BOX = { width: 188, height: 84 }, EDGE = 2;

function shape(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`);

class Flow {
  constructor(store, holder) {
    this.store = store;
    this.holder = holder;
    this.shape = "";
  }

  // Modules and streams; of an application that was attached to, its queries and what they feed.
  graph() {
    const queries = this.store.those("query"), { modules, streams, links } = this.store.settings;
    if (!queries.length) return { of: "module", names: modules.map(({ name }) => name), streams };
    const ways = links.filter((pair) => pair.every((name) => queries.includes(name)));
    return { of: "query", names: queries, streams: ways.map(([origin, target]) => ({ origin, target, probability: 1, selectivity: 1 })) };
  }

  build() {
    const graph = this.graph(), shape = JSON.stringify(graph);
    if (shape === this.shape) return;
    this.shape = shape;
    this.drawn = { ...graph, pictures: [false, true].map((standing) => this.picture(graph, standing)) };
    this.holder.replaceChildren(...this.drawn.pictures.map(({ svg }) => svg));
  }

  picture({ names, streams }, standing) {
    const places = layout(names, streams, standing), all = [...places.values()];
    const beside = standing ? streams.map(({ origin, target }) => Math.max(places.get(origin).x, places.get(target).x) + BOX.width / 2 + 120) : [];
    const width = Math.max(...all.map(({ x }) => x + BOX.width + EDGE), ...beside), height = Math.max(...all.map(({ y }) => y)) + BOX.height + EDGE;
    const svg = shape("svg", { class: `graph ${standing ? "standing" : "lying"}`, role: "img", "aria-label": "flow graph", viewBox: `0 0 ${width} ${height}`, width });
    if (!standing) svg.style.minWidth = `${Math.round(0.7 * width)}px`;
    const ways = streams.map((stream) => arrow(svg, stream, streams, places, standing));
    const boxes = names.map((name) => box(svg, name, places.get(name)));
    return { svg, ways, boxes };
  }

  // Writes the values of a tick on it.
  show(index) {
    const { of, names, streams, pictures } = this.drawn, { store } = this;
    for (const { ways, boxes } of pictures) {
      names.forEach((name, place) => this.fill(boxes[place], of, name, index));
      streams.forEach((stream, place) => {
        const rate = this.rate(of, stream, streams, index);
        write(ways[place], [known(rate) ? `${number(rate)} rows/s` : "", share(stream)].filter(Boolean).join(" \u00b7 "));
      });
    }
    return store.at("run", "", "at", index);
  }

  // What crosses a stream: what its target takes in, where that has no other; else what its origin lets go.
  rate(of, stream, streams, index) {
    const inputs = streams.filter(({ target }) => target === stream.target).length;
    if (inputs === 1) return this.store.at(of, stream.target, "arrival_rate", index);
    return this.store.at(of, stream.origin, "processed_rate", index) * stream.selectivity * stream.probability;
  }

  fill(box, of, name, index) {
    const value = (measure) => this.store.at(of, name, measure, index);
    const running = value("running"), wanted = value("wanted"), rate = value("arrival_rate"), backlog = value("backlog"), busy = value("utilisation");
    const shown = known(running) ? running : wanted;
    write(box.degree, known(shown) ? `${plural(shown, known(running) ? "executor" : "share")}` : "");
    write(box.wish, known(running) && known(wanted) && wanted !== running ? ` \u2192 ${wanted}` : "");
    write(box.rate, [known(rate) ? `${number(rate)} rows/s` : "", known(backlog) ? `${number(backlog)} wait` : ""].filter(Boolean).join(" \u00b7 "));
    box.busy.setAttribute("width", known(busy) ? (BOX.width - 24) * Math.min(1, Math.max(0, busy)) : 0);
    box.busy.setAttribute("class", busy > 0.9 ? "busy high" : "busy");
    write(box.title, `${name}: ${known(busy) ? `${percent(busy)} busy` : "utilisation unknown"}`);
  }
}

// Each box further along than all that feed it, siblings side by side.
function layout(names, streams, standing) {
  const depth = new Map(names.map((name) => [name, 0]));
  for (let round = 0; round < names.length; round++) {
    for (const { origin, target } of streams) depth.set(target, Math.min(names.length, Math.max(depth.get(target), depth.get(origin) + 1)));
  }
  const rows = Map.groupBy ? Map.groupBy(names, (name) => depth.get(name)) : names.reduce((found, name) => found.set(depth.get(name), [...(found.get(depth.get(name)) ?? []), name]), new Map());
  const widest = Math.max(...[...rows.values()].map((row) => row.length));
  const levels = [...rows.keys()].sort((one, other) => one - other), places = new Map();
  levels.forEach((level, along) => rows.get(level).forEach((name, index) => {
    const beside = index + (widest - rows.get(level).length) / 2;
    places.set(name, standing && widest === 1
      ? { x: EDGE, y: EDGE + along * (BOX.height + 44) }
      : standing ? { x: EDGE + beside * (BOX.width + 14), y: EDGE + along * (BOX.height + 52) } : { x: EDGE + along * (BOX.width + 116), y: EDGE + beside * (BOX.height + 18) });
  }));
  return places;
}

function share({ probability, selectivity }) {
  return [probability < 1 ? percent(probability) : "", selectivity !== 1 ? `\u00d7${number(selectivity)}` : ""].filter(Boolean).join(" ");
}

function arrow(svg, stream, streams, places, standing) {
  const from = places.get(stream.origin), to = places.get(stream.target);
  const start = standing ? [from.x + BOX.width / 2, from.y + BOX.height] : [from.x + BOX.width, from.y + BOX.height / 2];
  const end = standing ? [to.x + BOX.width / 2, to.y - 7] : [to.x - 7, to.y + BOX.height / 2];
  const middle = standing ? (start[1] + end[1]) / 2 : (start[0] + end[0]) / 2;
  const bend = standing ? `C${start[0]} ${middle} ${end[0]} ${middle}` : `C${middle} ${start[1]} ${middle} ${end[1]}`;
  svg.append(shape("path", { class: "way", d: `M${start}${bend} ${end}` }));
  svg.append(shape("path", { class: "head", d: standing ? `M${end[0] - 5} ${end[1]}h10l-5 7z` : `M${end[0]} ${end[1] - 5}v10l7 -5z` }));
  // Beside the end that fewer streams share.
  const joins = streams.filter(({ target }) => target === stream.target).length > 1;
  const [x, y] = standing ? (joins ? [start[0] + 10, start[1] + 15] : [end[0] + 10, end[1] - 5])
    : [middle, joins ? start[1] + (end[1] > start[1] ? -9 : 18) : end[1] + (end[1] > start[1] ? 18 : -9)];
  const words = shape("text", { class: "rate", x, y });
  svg.append(words);
  return words;
}

function box(svg, name, { x, y }) {
  const group = shape("g"), title = shape("title", {}, name), degree = shape("tspan"), wish = shape("tspan", { class: "wish" });
  const line = shape("text", { class: "soft", x: x + 12, y: y + 43 }), rate = shape("text", { class: "soft", x: x + 12, y: y + 61 });
  line.append(degree, wish);
  const trough = { x: x + 12, y: y + BOX.height - 12, height: 3, rx: 1.5 };
  const busy = shape("rect", { class: "busy", width: 0, ...trough });
  group.append(title, shape("rect", { class: "box", x, y, width: BOX.width, height: BOX.height, rx: 8 }), shape("text", { class: "name", x: x + 12, y: y + 24 }, cut(name, 20)), line, rate);
  group.append(shape("rect", { class: "trough", width: BOX.width - 24, ...trough }), busy);
  svg.append(group);
  return { title, degree, wish, rate, busy };
}
