// The flow graph with rates and degrees on it, lying for wide screens and standing for narrow ones:
// {names, streams: [{origin, target, probability, selectivity}, ...]}.
const BOX = { width: 188, height: 84 }, EDGE = 2;

// The namespace, without an address on a page that must have none.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;

function shape(tag, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`);

// `show` writes on it: of each module {degree, wish, rate, busy}, and a text along each stream.
class Flow {
  constructor(holder) {
    this.holder = holder;
    this.shape = "";
  }

  build({ names, streams }) {
    const shape = JSON.stringify([names, streams]);
    if (shape === this.shape) return;
    Object.assign(this, { shape, names, streams });
    this.pictures = [false, true].map((standing) => this.picture(standing));
    this.holder.replaceChildren(...this.pictures.map(({ svg }) => svg));
  }

  picture(standing) {
    const { names, streams } = this, places = layout(names, streams, standing), all = [...places.values()];
    const beside = standing ? streams.map(({ origin, target }) => Math.max(places.get(origin).x, places.get(target).x) + BOX.width / 2 + 120) : [];
    const width = Math.max(...all.map(({ x }) => x + BOX.width + EDGE), ...beside), height = Math.max(...all.map(({ y }) => y)) + BOX.height + EDGE;
    const svg = shape("svg", { class: `graph ${standing ? "standing" : "lying"}`, role: "img", "aria-label": "flow graph", viewBox: `0 0 ${width} ${height}`, width });
    if (!standing) svg.style.minWidth = `${Math.round(0.7 * width)}px`;
    const ways = streams.map((stream) => arrow(svg, stream, streams, places, standing));
    const boxes = names.map((name) => box(svg, name, places.get(name)));
    return { svg, ways, boxes };
  }

  show(module, stream) {
    for (const { ways, boxes } of this.pictures) {
      this.names.forEach((name, place) => fill(boxes[place], name, module(name)));
      this.streams.forEach((one, place) => write(ways[place], [stream(one), share(one)].filter(Boolean).join(" \u00b7 ")));
    }
  }
}

function fill(box, name, { degree = "", wish = "", rate = "", busy }) {
  write(box.degree, degree);
  write(box.wish, wish);
  write(box.rate, cut(rate, 26));
  box.busy.setAttribute("width", known(busy) ? (BOX.width - 24) * Math.min(1, Math.max(0, busy)) : 0);
  box.busy.setAttribute("class", busy > 0.9 ? "busy high" : "busy");
  write(box.title, `${name}: ${known(busy) ? `${percent(busy)} busy` : "utilisation unknown"}`);
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
