// One plot: lines on a canvas, thinned to what a column of pixels can show, words around it.
const PAD = { x: 6, top: 12, bottom: 4 };
const WIDTHS = { wide: 4, halo: 6, strong: 2.25, light: 1.1 };
const ALPHAS = { wide: 0.45, halo: 0.25 };
let palette = {};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "soft", "line", "c1", "c2", "c3", "c4", "c5", "c6", "bad", "good"];
  palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

class Plot {
  // spec: title, unit, series of {name, style, column, stepped, ahead}, limit, bands, marks, low
  constructor(spec) {
    this.spec = spec;
    this.canvas = make("canvas");
    this.y = make("div", "y");
    this.x = make("div", "x");
    this.empty = make("p", "empty", "not measured");
    this.small = make("small");
    this.outputs = spec.series.map(() => make("output"));
    this.frame = make("div", "frame", this.y, this.canvas, this.empty, make("div", "pin"), make("div", "cross"), this.x);
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "img");
    const legend = make("ul", "", ...spec.series.map((line, place) => this.legend(line, place)));
    if (spec.limit) legend.append(make("li", "limit", make("i"), spec.limit.words));
    const caption = make("figcaption", "", make("h3", "", `${spec.title} `, this.small), legend);
    this.figure = make("figure", `plot ${spec.low ? "low" : ""}`, caption, this.frame);
  }

  legend(line, place) {
    return make("li", line.style, make("i"), `${line.name} `, this.outputs[place]);
  }

  draw(view) {
    const box = this.frame.getBoundingClientRect();
    if (this.pen && (box.bottom < -200 || box.top > innerHeight + 200)) { this.stale = true; return; }
    this.stale = false;
    const { width, height } = this.size(box);
    const axis = this.axis = this.fit(view);
    const pen = this.pen;
    pen.clearRect(-PAD.x, -PAD.top, width + 2 * PAD.x, height + PAD.top + PAD.bottom);
    const place = {
      x: (at) => ((at - view.from) / (view.to - view.from)) * width,
      y: (value) => height * (1 - axis.share(value)),
      width, height,
    };
    this.grid(axis, place);
    if (this.spec.limit) this.bands(view, place);
    pen.save();
    pen.beginPath();
    pen.rect(-PAD.x, -PAD.top, width + 2 * PAD.x, height + PAD.top + PAD.bottom);
    pen.clip();
    for (const line of this.spec.series) this.line(line, view, place);
    pen.restore();
    if (this.spec.limit) this.across(place, axis);
    if (this.spec.marks) this.marks(view, place);
    this.words(axis, view);
  }

  size(box) {
    const ratio = devicePixelRatio || 1;
    const wide = Math.round((box.width + 2 * PAD.x) * ratio), high = Math.round((box.height + PAD.top + PAD.bottom) * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high || !this.pen) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.pen = this.canvas.getContext("2d");
    }
    this.pen.setTransform(ratio, 0, 0, ratio, PAD.x * ratio, PAD.top * ratio);
    return { width: box.width, height: box.height };
  }

  // The axis that holds what is in view; seconds that differ too much get one of decades.
  fit(view) {
    let highest = this.spec.limit?.value ?? 0, any = false;
    const sample = [];
    for (const { column } of this.spec.series) {
      const stride = Math.max(1, Math.floor((view.last - view.first) / 1000));
      for (let index = view.first; index <= view.last; index++) {
        const value = column.values[index];
        if (Number.isNaN(value)) continue;
        any = true;
        if (value > highest) highest = value;
        if (index % stride === 0 && value > 0) sample.push(value);
      }
    }
    this.empty.hidden = any;
    if (this.spec.unit === "s" && sample.length) {
      sample.sort((one, other) => one - other);
      if (highest > 20 * sample[sample.length >> 1]) return wideAxis(sample[0], highest);
    }
    return axisFor(this.spec.unit, highest);
  }

  grid(axis, place) {
    this.pen.strokeStyle = palette.line;
    this.pen.lineWidth = 1;
    this.pen.setLineDash([]);
    this.pen.beginPath();
    for (const [value] of axis.labels) {
      const y = Math.round(place.y(value)) + 0.5;
      this.pen.moveTo(0, y);
      this.pen.lineTo(place.width, y);
    }
    this.pen.stroke();
  }

  // Spans in which the promise was broken.
  bands(view, place) {
    const { values } = this.spec.limit.column, at = view.at, step = view.step;
    this.pen.fillStyle = palette.bad;
    this.pen.globalAlpha = 0.14;
    let start = null, end = 0;
    const flush = () => { if (start !== null) this.pen.fillRect(start, 0, Math.max(1, end - start), place.height); start = null; };
    for (let index = view.first; index <= view.last; index++) {
      if (!(values[index] > this.spec.limit.value)) continue;
      const left = Math.max(0, place.x(at[index] - step[index]));
      if (start !== null && left > end + 0.5) flush();
      start ??= left;
      end = place.x(at[index]);
    }
    flush();
    this.pen.globalAlpha = 1;
  }

  across(place, axis) {
    const y = place.height * (1 - axis.share(this.spec.limit.value));
    this.pen.strokeStyle = palette.bad;
    this.pen.lineWidth = 1.5;
    this.pen.setLineDash([6, 4]);
    this.pen.beginPath();
    this.pen.moveTo(0, y);
    this.pen.lineTo(place.width, y);
    this.pen.stroke();
    this.pen.setLineDash([]);
  }

  line(line, view, place) {
    const styles = line.style.split(" "), pen = this.pen;
    const dense = view.last - view.first > 2 * place.width;
    const paths = dense ? thinned(line, view, place) : plainly(line, view, place);
    pen.strokeStyle = pen.fillStyle = palette[styles[0]];
    if (styles.includes("fill")) {
      pen.globalAlpha = 0.16;
      for (const path of paths) {
        pen.beginPath();
        pen.moveTo(path[0], place.height);
        for (let i = 0; i < path.length; i += 2) pen.lineTo(path[i], path[i + 1]);
        pen.lineTo(path[path.length - 2], place.height);
        pen.fill();
      }
    }
    const width = WIDTHS[styles.find((style) => style in WIDTHS)] ?? 1.75;
    const crowded = view.last - view.first > 600 && !line.stepped;
    pen.globalAlpha = ALPHAS[styles.find((style) => style in ALPHAS)] ?? 1;
    pen.lineWidth = crowded && width < 3 ? Math.min(width, 1.25) : width;
    pen.lineJoin = "round";
    pen.setLineDash(styles.includes("d1") ? [5, 4] : styles.includes("d2") ? [1.5, 3.5] : []);
    pen.beginPath();
    for (const path of paths) {
      if (path.length === 2) { pen.moveTo(path[0] - 1.5, path[1]); pen.lineTo(path[0] + 1.5, path[1]); continue; }
      pen.moveTo(path[0], path[1]);
      for (let i = 2; i < path.length; i += 2) pen.lineTo(path[i], path[i + 1]);
    }
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  marks(view, place) {
    const seen = new Set();
    for (const entry of view.changes) {
      const way = entry.ways[this.spec.marks];
      if (!way || entry.at < view.from) continue;
      const x = place.x(entry.at), spot = `${Math.round(x / 4)} ${way}`;
      if (seen.has(spot)) continue;
      seen.add(spot);
      this.mark(x, way, place.height);
    }
  }

  mark(x, way, height) {
    const pen = this.pen;
    pen.strokeStyle = pen.fillStyle = { out: palette.good, in: palette.bad, moved: palette.c1 }[way] ?? palette.soft;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.4;
    pen.beginPath();
    pen.moveTo(x, -4);
    pen.lineTo(x, height);
    pen.stroke();
    pen.globalAlpha = 1;
    pen.beginPath();
    if (way === "out") { pen.moveTo(x - 4.5, -3); pen.lineTo(x + 4.5, -3); pen.lineTo(x, -10); }
    else if (way === "in") { pen.moveTo(x - 4.5, -10); pen.lineTo(x + 4.5, -10); pen.lineTo(x, -3); }
    else pen.rect(x - 3, -9, 6, 6);
    pen.fill();
  }

  words(axis, view) {
    write(this.small, axis.unit);
    labels(this.y, axis.labels.map(([value, text]) => [100 * (1 - axis.share(value)), text]), "top");
    const place = (at) => (100 * (at - view.from)) / (view.to - view.from);
    labels(this.x, view.axis.labels.map(([at, text]) => [place(at), text]), "left");
    this.x.dataset.unit = view.axis.unit;
  }

  // Values at a tick beside the names of the lines.
  read(index) {
    this.outputs.forEach((output, place) => {
      const value = index === null ? null : this.spec.series[place].column.values[index - (this.spec.series[place].ahead ? 1 : 0)];
      write(output, index === null ? "" : known(value) ? this.form(value) : "\u2013");
    });
  }

  form(value) {
    return { s: duration, "%": percent, J: (joules) => quantity(joules, "J"), W: (watts) => quantity(watts, "W") }[this.spec.unit]?.(value) ?? number(value);
  }

  speak(view) {
    const told = this.spec.series.map(({ name, column }) => {
      const value = column.values[view.last];
      return `${name} ${known(value) ? this.form(value) : UNKNOWN}`;
    });
    this.frame.setAttribute("aria-label", `${this.spec.title}, ${this.spec.unit}: ${told.join(", ")}`);
  }
}

function labels(holder, wanted, side) {
  while (holder.childElementCount > wanted.length) holder.lastElementChild.remove();
  while (holder.childElementCount < wanted.length) holder.append(make("span"));
  wanted.forEach(([place, text], index) => {
    const span = holder.children[index];
    write(span, text);
    span.style[side] = `${place.toFixed(2)}%`;
    if (side === "left") span.className = place > 98 ? "end" : "";
  });
}

// Points as flat lists x, y, x, y; a gap begins another list. A stepped value holds until the next.
function plainly(line, view, place) {
  const { values } = line.column, paths = [];
  let path = [];
  for (let index = view.first; index <= view.last; index++) {
    const value = values[index], x = place.x(view.at[index] + (line.ahead ? view.step[index] : 0));
    if (Number.isNaN(value)) {
      if (path.length && line.stepped) path.push(x, path[path.length - 1]);
      if (path.length) paths.push(path);
      path = [];
      continue;
    }
    const y = place.y(value);
    if (line.stepped && path.length) path.push(x, path[path.length - 1]);
    path.push(x, y);
  }
  if (path.length) paths.push(path);
  return paths;
}

// The same picture with the first, lowest, highest and last value of each column of pixels.
function thinned(line, view, place) {
  const { values } = line.column, paths = [];
  let path = [], column = -1, first = 0, low = 0, high = 0, last = 0, filled = false;
  const flush = () => {
    if (!filled) return;
    if (line.stepped && path.length) path.push(column, path[path.length - 1]);
    path.push(column, first);
    if (low !== high) path.push(column, low, column, high, column, last);
    filled = false;
  };
  for (let index = view.first; index <= view.last; index++) {
    const value = values[index];
    if (Number.isNaN(value)) {
      flush();
      if (path.length) paths.push(path);
      path = [];
      continue;
    }
    const x = Math.floor(place.x(view.at[index] + (line.ahead ? view.step[index] : 0))), y = place.y(value);
    if (filled && x === column) {
      if (y < low) low = y;
      if (y > high) high = y;
      last = y;
      continue;
    }
    flush();
    [column, first, low, high, last, filled] = [x, y, y, y, y, true];
  }
  flush();
  if (path.length) paths.push(path);
  return paths;
}
