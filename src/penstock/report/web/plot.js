// A figure: lines, points or candlesticks on a canvas, with axes, a legend and values around it.
//
// It draws data, which pages embed as JSON (penstock.report.figures writes it) and the live page hands
// over as columns that grow:
//   title, unit    above the figure; the unit chooses axis and words: s, %, J, W, executors, rows, ...
//   x              {scale: "time" | "linear" | "log" | "day", unit, from, to, offset}; offset: seconds ahead of UTC
//   y              "fit": from zero, seconds of very different size in decades, shares up to all of it;
//                  "chart": from zero, unless all values are close to each other; "log"; "narrow"
//   series         [{name, style, x, y, stepped}]: numbers, null in y is a gap; style: c1 to c6 or ink for
//                  the colour, and any of fill, wide, halo, strong, light, d1, d2
//   limit          {value, words}: a line across
//   bands          [[from, to], ...] with bands_words in the legend; during: {from, to, words}
//   marks          [[at, kind], ...]: out, in, moved, set or unmet
//   points         [{name, style, x, y, x_half, y_half}]: with the halves of their intervals
//   sticks         {length, bars: [[start, open, high, low, close], ...], ahead: {bid, ask}}
//   names          of bars, one for each value of each series, instead of a plot
//   style          "low" for one of less height; group: figures of one group share their crosshair
const PAD = { x: 6, top: 12, bottom: 4 };
const WIDTHS = { wide: 4, halo: 6, strong: 2.25, light: 1.1 };
const ALPHAS = { wide: 0.45, halo: 0.25 };
let palette = {};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "soft", "line", "c1", "c2", "c3", "c4", "c5", "c6", "bad", "good"];
  palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const column = (given) => (Array.isArray(given) ? { values: Float64Array.from(given, (value) => value ?? NaN), length: given.length } : given);
const swatch = (style, ...words) => make("li", style, make("i"), ...words);

class Plot {
  constructor(spec) {
    this.spec = { y: "fit", points: [], bands: [], marks: [], ...spec };
    this.series = (spec.series ?? []).map((line) => ({ ...line, x: column(line.x), y: column(line.y) }));
    this.right = spec.sticks ? 26 : PAD.x;
    this.canvas = make("canvas");
    this.canvas.style.width = `calc(100% + ${PAD.x + this.right}px)`;
    this.y = make("div", "y");
    this.x = make("div", "x");
    this.empty = make("p", "empty", spec.sticks ? "no bars" : "not measured");
    this.small = make("small");
    this.outputs = this.series.map(() => make("output"));
    this.frame = make("div", "frame", this.y, this.canvas, this.empty, make("div", "pin"), make("div", "cross"), this.x);
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "img");
    this.labels = spec.points?.map(({ name, style }) => make("b", `point ${style}`, make("span", "", name))) ?? [];
    this.frame.append(...this.labels);
    const caption = make("figcaption", "", make("h3", "", `${spec.title} `, this.small), make("ul", "", ...this.legend()));
    const kind = spec.points ? "scatter" : spec.sticks ? "candles" : "";
    this.figure = make("figure", ["plot", spec.style, kind].filter(Boolean).join(" "), caption, this.frame);
    this.speak();
  }

  legend() {
    const { limit, during, bands, bands_words: words, sticks } = this.spec;
    const lines = this.series.map(({ style, name }, place) => swatch(style, `${name} `, this.outputs[place]));
    if (limit) lines.push(swatch("limit", limit.words));
    if (during) lines.push(swatch("during", during.words));
    if (words && bands.length) lines.push(swatch("bands", words));
    return sticks ? [...lines, ...this.sticks(sticks)] : lines;
  }

  // The axis along x: as given, or as the live page wants it.
  across(narrow) {
    const { scale, unit, from, to, offset } = this.spec.x;
    if (scale === "time") return timeAxis(from, to, narrow ? 5 : 10);
    if (scale === "day") return dayAxis(from, to, offset, 5);
    if (scale === "log") return decadeAxis(this.series.flatMap(({ x }) => [...x.values]), unit);
    return this.spec.points.length ? axisFor(unit, to) : spanAxis(from, to, unit);
  }

  draw(view, box) {
    view = this.view = view ?? { axis: this.across(box.width < 500) };
    if (view.lazy && this.pen && (box.bottom < -200 || box.top > innerHeight + 200)) { this.stale = true; return; }
    this.stale = false;
    const { width, height } = this.size(box), axis = (this.axis = this.fit(view.axis)), pen = this.pen;
    const place = { x: (at) => view.axis.share(at) * width, y: (value) => height * (1 - axis.share(value)), width, height };
    pen.clearRect(-PAD.x, -PAD.top, width + PAD.x + this.right, height + PAD.top + PAD.bottom);
    if (this.spec.during) this.shade([[this.spec.during.from, this.spec.during.to]], palette.c4, place);
    this.grid(axis, place);
    this.shade(this.given("bands", view), palette.bad, place);
    pen.save();
    pen.beginPath();
    pen.rect(-PAD.x, -PAD.top, width + PAD.x + this.right, height + PAD.top + PAD.bottom);
    pen.clip();
    for (const line of this.series) this.line(line, view.axis, place);
    for (const point of this.spec.points) this.interval(point, place);
    if (this.spec.sticks) this.candles(this.spec.sticks, place);
    pen.restore();
    if (this.spec.limit) this.limit(place);
    this.marks(this.given("marks", view), view.axis, place);
    this.words(axis, view.axis, width);
    this.spec.points.forEach(({ x, y }, index) => Object.assign(this.labels[index].style, { left: `${place.x(x)}px`, top: `${place.y(y)}px` }));
    this.spec.points.forEach((point, index) => this.label(index, place.x(point.x) > place.width / 2 ? "left" : "right"));
  }

  given(what, view) {
    const given = this.spec[what];
    return typeof given === "function" ? given(view.axis) : given;
  }

  size(box) {
    const ratio = devicePixelRatio || 1;
    const wide = Math.round((box.width + PAD.x + this.right) * ratio), high = Math.round((box.height + PAD.top + PAD.bottom) * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high || !this.pen) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.pen = this.canvas.getContext("2d");
    }
    this.pen.setTransform(ratio, 0, 0, ratio, PAD.x * ratio, PAD.top * ratio);
    return { width: box.width, height: box.height };
  }

  // The axis up, for what is in view.
  fit(across) {
    const { unit, y, limit, sticks, points } = this.spec;
    if (sticks) { this.empty.hidden = sticks.bars.length > 0; return prices(sticks); }
    const { any, low, high, sample } = extent(this.series, across);
    const highest = Math.max(any ? high : 0, limit?.value ?? 0, ...points.map((point) => point.y + (point.y_half ?? 0)));
    this.empty.hidden = any || points.length > 0;
    if (unit === "%" && points.length && points.every((point) => point.y <= 1)) return axisFor(unit, Math.min(highest, 1));
    if (y === "log" && low > 0) return decadeAxis(this.series.flatMap((line) => [...line.y.values].filter((value) => value > 0)), unit);
    if (y === "chart" && any && low > 0.5 * high) return narrowAxis(low, highest, unit);
    if (y === "fit" && unit === "%") return wholeAxis(highest);
    if (y === "fit" && unit === "s" && sample.length) {
      sample.sort((one, other) => one - other);
      if (highest > 20 * sample[sample.length >> 1]) return wideAxis(sample[Math.floor(sample.length / 1000)], highest);
    }
    return axisFor(unit, highest);
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

  shade(spans, colour, place) {
    this.pen.fillStyle = colour;
    this.pen.globalAlpha = 0.15;
    for (const [from, to] of spans) {
      const left = Math.max(0, place.x(from)), right = Math.min(place.width, place.x(to));
      if (right >= 0) this.pen.fillRect(left, 0, Math.max(1, right - left), place.height);
    }
    this.pen.globalAlpha = 1;
  }

  limit(place) {
    const y = place.y(this.spec.limit.value);
    this.pen.strokeStyle = palette.bad;
    this.pen.lineWidth = 1.5;
    this.pen.setLineDash([6, 4]);
    this.stroke([[0, y, place.width, y]]);
  }

  line(line, across, place) {
    const styles = line.style.split(" "), pen = this.pen, [first, last] = within(line, across);
    const paths = (last - first > 2 * place.width ? thinned : plainly)(line, first, last, place);
    pen.strokeStyle = pen.fillStyle = palette[styles[0]];
    if (styles.includes("fill")) this.fill(paths, place.height);
    const width = WIDTHS[styles.find((style) => style in WIDTHS)] ?? 1.75, crowded = last - first > 600 && !line.stepped;
    pen.globalAlpha = ALPHAS[styles.find((style) => style in ALPHAS)] ?? 1;
    pen.lineWidth = crowded && width < 3 ? Math.min(width, 1.25) : width;
    pen.lineJoin = "round";
    pen.setLineDash(styles.includes("d1") ? [5, 4] : styles.includes("d2") ? [1.5, 3.5] : []);
    this.stroke(paths);
    pen.globalAlpha = 1;
  }

  fill(paths, ground) {
    this.pen.globalAlpha = 0.16;
    for (const path of paths) {
      this.pen.beginPath();
      this.pen.moveTo(path[0], ground);
      for (let i = 0; i < path.length; i += 2) this.pen.lineTo(path[i], path[i + 1]);
      this.pen.lineTo(path[path.length - 2], ground);
      this.pen.fill();
    }
  }

  // Strokes flat lists x, y, x, y; a value alone between gaps is a dot.
  stroke(paths) {
    const { pen } = this;
    pen.beginPath();
    for (const path of paths) {
      if (path.length === 2) { pen.moveTo(path[0] - 1.5, path[1]); pen.lineTo(path[0] + 1.5, path[1]); continue; }
      pen.moveTo(path[0], path[1]);
      for (let i = 2; i < path.length; i += 2) pen.lineTo(path[i], path[i + 1]);
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  marks(marks, across, place) {
    const seen = new Set();
    for (const [at, kind] of marks) {
      if (at < across.low) continue;
      const x = place.x(at), spot = `${Math.round(x / 4)} ${kind}`;
      if (!seen.has(spot)) this.mark(x, kind, place.height);
      seen.add(spot);
    }
  }

  mark(x, kind, height) {
    const { pen } = this;
    pen.strokeStyle = pen.fillStyle = { out: palette.good, in: palette.bad, unmet: palette.bad, moved: palette.c1 }[kind] ?? palette.soft;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.4;
    this.stroke([[x, -4, x, height]]);
    pen.globalAlpha = 1;
    if (kind === "unmet") { pen.lineWidth = 2; this.stroke([[x - 4, height - 4, x + 4, height + 4], [x - 4, height + 4, x + 4, height - 4]]); return; }
    const shapes = { out: [-4.5, -3, 4.5, -3, 0, -10], in: [-4.5, -10, 4.5, -10, 0, -3], moved: [0, -11, 4.5, -6.5, 0, -2, -4.5, -6.5] };
    const shape = shapes[kind] ?? [-3, -9, 3, -9, 3, -3, -3, -3];
    pen.beginPath();
    for (let i = 0; i < shape.length; i += 2) pen.lineTo(x + shape[i], shape[i + 1]);
    pen.closePath();
    if (kind !== "moved") { pen.fill(); return; }
    pen.lineWidth = 1.5;
    pen.stroke();
  }

  // The interval of a point, as a cross.
  interval({ style, x, y, x_half: wide = 0, y_half: high = 0 }, place) {
    this.pen.strokeStyle = palette[style.split(" ")[0]];
    this.pen.lineWidth = 1.5;
    const inside = (share) => Math.min(1, Math.max(0, share / place.height)) * place.height;
    this.stroke([[place.x(x - wide), place.y(y), place.x(x + wide), place.y(y)], [place.x(x), inside(place.y(y - high)), place.x(x), inside(place.y(y + high))]]);
  }

  // The name of a point on the side where it covers no other.
  label(index, otherwise) {
    const span = this.labels[index].firstChild;
    const before = this.labels.slice(0, index).map((other) => other.firstChild.getBoundingClientRect());
    const dots = this.labels.map((other) => other.getBoundingClientRect()), frame = this.frame.getBoundingClientRect();
    for (const [side, lift] of [["right", 0], ["left", 0], ["above", 1], ["above", 2], ["above", 3], ["above", 4], ["above", 5], ["above", 6]]) {
      span.className = side;
      span.style.setProperty("--lift", lift);
      const box = span.getBoundingClientRect();
      const covers = (other) => other !== dots[index] && box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
      if (box.left >= frame.left && box.right <= frame.right + 4 && box.top >= frame.top - 8 && ![...before, ...dots].some(covers)) return;
    }
    span.className = otherwise;
  }

  // What the legend says of candlesticks: the bar that is pointed at, and the forecast.
  sticks({ bars, ahead }) {
    const axis = prices(this.spec.sticks), digits = (axis.labels[0][1].split(".")[1] ?? "").length + 1;
    this.bar = make("output", "bar");
    this.digits = digits;
    const off = (price) => (bars.length && (price < axis.low || price > axis.high) ? ", off the scale" : "");
    return [make("li", "", this.bar), ...Object.entries(ahead).map(([side, price]) => swatch(side, `${side} ${decimal(price, digits)}${off(price)}`))];
  }

  // Thin from the lowest to the highest price, broad from the first to the last; hollow where it rises.
  candles({ length, bars, ahead }, place) {
    const { pen } = this, room = place.x(length) - place.x(0), broad = Math.min(0.7 * room, place.width / 30);
    for (const [start, open, high, low, close] of bars) {
      const x = place.x(start + length / 2), top = place.y(Math.max(open, close)), bottom = place.y(Math.min(open, close));
      pen.strokeStyle = pen.fillStyle = close >= open ? palette.good : palette.bad;
      pen.lineWidth = 1.25;
      this.stroke([[x, place.y(high), x, top], [x, bottom, x, place.y(low)]]);
      pen.beginPath();
      pen.rect(x - broad / 2, top, broad, bottom - top);
      if (close < open) pen.fill();
      pen.stroke();
    }
    if (bars.length) this.forecast(ahead, place);
  }

  // A dot for the bid and a ring for the ask, beside the last bar; beyond the axis at its end.
  forecast(ahead, place) {
    const { pen } = this, within = (price) => Math.min(this.axis.high, Math.max(this.axis.low, price));
    pen.strokeStyle = pen.fillStyle = palette.ink;
    for (const [side, price] of Object.entries(ahead)) {
      pen.beginPath();
      pen.arc(place.width + 14, place.y(within(price)), side === "ask" ? 5 : 2.5, 0, 2 * Math.PI);
      if (side === "ask") { pen.lineWidth = 1.5; pen.stroke(); } else pen.fill();
    }
  }

  words(axis, across, width) {
    write(this.small, this.spec.points.length ? `${axis.unit} over ${across.unit}` : axis.unit);
    const shown = !this.spec.sticks || this.spec.sticks.bars.length > 0;
    labels(this.y, shown ? axis.labels.map(([value, text]) => [100 * (1 - axis.share(value)), text]) : [], "top");
    labels(this.x, shown ? apart(across, width).map(([at, text]) => [100 * across.share(at), text]) : [], "left");
    this.x.dataset.unit = across.unit;
    if (this.spec.sticks) this.frame.style.setProperty("--chars", Math.max(...axis.labels.map(([, text]) => text.length)));
  }

  // Values at a place along x, beside the names of the lines; null takes them away.
  read(at) {
    this.series.forEach((line, place) => write(this.outputs[place], at === null ? "" : valueIn(this.spec.unit, valueAt(line, at))));
    if (this.bar) write(this.bar, at === null ? "" : this.barAt(at));
  }

  barAt(at) {
    const { length, bars } = this.spec.sticks, bar = bars.findLast(([start]) => start <= at);
    if (!bar || at > bar[0] + length) return "";
    const [start, ...four] = bar, names = ["open", "high", "low", "close"];
    return `${timeOfDay((start + this.spec.x.offset) % DAY)} ${four.map((price, index) => `${names[index]} ${decimal(price, this.digits)}`).join(", ")}`;
  }

  // What a screen reader says: what is drawn and, on the live page, the newest values.
  speak(newest = false) {
    const { title, unit, points, sticks } = this.spec;
    const value = ({ y }) => (newest ? ` ${known(y.values[y.length - 1]) ? valueIn(unit, y.values[y.length - 1]) : UNKNOWN}` : "");
    const names = [...this.series.map((line) => `${line.name}${value(line)}`), ...points.map((point) => point.name)];
    if (sticks) names.push(plural(sticks.bars.length, "bar"));
    this.frame.setAttribute("aria-label", [`${title}${unit ? `, ${unit}` : ""}`, names.join(", ")].filter(Boolean).join(": "));
  }
}

// Draws figures after all were measured: measuring after each would lay out the page as often.
function drawAll(plots, view = null) {
  const boxes = plots.map(({ frame }) => frame.getBoundingClientRect());
  plots.forEach((plot, index) => plot.draw(view, boxes[index]));
}

// What is in view of some lines: whether anything, the lowest, the highest, and a sample above zero.
function extent(series, across) {
  let any = false, low = Infinity, high = -Infinity;
  const sample = [];
  for (const line of series) {
    const [first, last] = within(line, across), stride = Math.max(1, Math.floor((last - first) / 1000)), { values } = line.y;
    for (let index = first; index <= last; index++) {
      const value = values[index];
      if (Number.isNaN(value)) continue;
      any = true;
      if (value > high) high = value;
      if (value < low) low = value;
      if (index % stride === 0 && value > 0) sample.push(value);
    }
  }
  return { any, low, high, sample };
}

// Index of the last of sorted numbers that is not after a place, -1 where there is none.
function before({ values, length }, place) {
  let low = 0, high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= place) low = middle + 1; else high = middle;
  }
  return low - 1;
}

const within = ({ x }, across) => [Math.max(0, before(x, across.low)), Math.min(x.length - 1, before(x, across.high) + 1)];

// The value that a stepped line has at a place; of others the nearest. `ahead` moves a line to the right.
function valueAt({ x, y, stepped, ahead }, at) {
  const index = before(x, at);
  if (ahead) return index < 1 ? null : y.values[index - 1];
  if (index < 0) return stepped || !x.length ? null : y.values[0];
  const next = !stepped && index + 1 < x.length && x.values[index + 1] - at < at - x.values[index];
  return y.values[next ? index + 1 : index];
}

// An axis for all bars, and for a forecast that is not further off than they are apart.
function prices({ bars, ahead }) {
  if (!bars.length) return narrowAxis(0, 1);
  const low = Math.min(...bars.map((bar) => bar[3])), high = Math.max(...bars.map((bar) => bar[2]));
  const room = high - low || Math.abs(high) / 50, near = Object.values(ahead).filter((price) => price >= low - room && price <= high + room);
  return narrowAxis(Math.min(low, ...near), Math.max(high, ...near));
}

// Labels that do not touch.
function apart(across, width) {
  let end = -Infinity;
  return across.labels.filter(([at, text]) => {
    const half = 3.4 * text.length, x = across.share(at) * width - (across.share(at) > 0.97 ? half : 0);
    if (x - half < end + 8) return false;
    end = x + half;
    return true;
  });
}

function labels(holder, wanted, side) {
  while (holder.childElementCount > wanted.length) holder.lastElementChild.remove();
  while (holder.childElementCount < wanted.length) holder.append(make("span"));
  wanted.forEach(([place, text], index) => {
    const span = holder.children[index];
    write(span, text);
    span.style[side] = `${place.toFixed(2)}%`;
    if (side === "left") span.className = place > 97 ? "end" : "";
  });
}

// Points as flat lists x, y, x, y; a gap begins another list. A stepped value holds until the next.
function plainly(line, first, last, place) {
  const { values } = line.y, at = line.x.values, ahead = line.ahead?.values, paths = [];
  let path = [];
  for (let index = first; index <= last; index++) {
    const value = values[index], x = place.x(at[index] + (ahead ? ahead[index] : 0));
    if (line.stepped && path.length) path.push(x, path[path.length - 1]);
    if (Number.isNaN(value)) {
      if (path.length) paths.push(path);
      path = [];
    } else path.push(x, place.y(value));
  }
  if (path.length) paths.push(path);
  return paths;
}

// The same picture with the first, lowest, highest and last value of each column of pixels.
function thinned(line, first, last, place) {
  const { values } = line.y, at = line.x.values, ahead = line.ahead?.values, paths = [];
  let path = [], pixel = -1, start = 0, low = 0, high = 0, end = 0, filled = false;
  const flush = () => {
    if (!filled) return;
    if (line.stepped && path.length) path.push(pixel, path[path.length - 1]);
    path.push(pixel, start);
    if (low !== high) path.push(pixel, low, pixel, high, pixel, end);
    filled = false;
  };
  for (let index = first; index <= last; index++) {
    const value = values[index];
    if (Number.isNaN(value)) {
      flush();
      if (path.length) paths.push(path);
      path = [];
      continue;
    }
    const x = Math.floor(place.x(at[index] + (ahead ? ahead[index] : 0))), y = place.y(value);
    if (filled && x === pixel) {
      if (y < low) low = y;
      if (y > high) high = y;
      end = y;
      continue;
    }
    flush();
    [pixel, start, low, high, end, filled] = [x, y, y, y, y, true];
  }
  flush();
  if (path.length) paths.push(path);
  return paths;
}

// A bar for each value, those of one name together.
function bars({ title, unit, names, series }) {
  const highest = Math.max(...series.flatMap((line) => line.y.filter(known))) || 1;
  const bar = (line, value) => {
    const shape = make("i");
    shape.style.setProperty("--share", `${(100 * value) / highest}%`);
    return make("div", line.style, shape, `${valueIn(unit, value)} `, make("small", "", line.name));
  };
  const rows = names.flatMap((name, place) => [
    make("dt", "", name), make("dd", "", ...series.filter((line) => known(line.y[place])).map((line) => bar(line, line.y[place]))),
  ]);
  const caption = title ? [make("figcaption", "", make("h3", "", `${title} `, make("small", "", unit)))] : [];
  return make("figure", "bars", ...caption, make("dl", "", ...rows));
}

// A crosshair that figures share: `onPoint` gets the place that is pointed at, and calls `show` to show it.
class Crosshair {
  constructor(plots, holder, onPoint) {
    Object.assign(this, { plots, holder, onPoint, last: null });
    for (const plot of plots) this.listen(plot);
  }

  listen(plot) {
    const { frame } = plot, hide = () => this.onPoint(null);
    const follow = (event) => {
      const box = frame.getBoundingClientRect();
      this.point(plot, plot.view.axis.at(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width))));
    };
    frame.addEventListener("pointermove", follow);
    frame.addEventListener("pointerdown", follow);
    frame.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    frame.addEventListener("blur", hide);
    frame.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!way) return;
      event.preventDefault();
      this.step(plot, way);
    });
  }

  // Over anything but time only places that have a value can be pointed at.
  point(plot, at) {
    const snaps = ["linear", "log"].includes(plot.spec.x?.scale) && plot.series.length;
    this.last = snaps ? nearest(plot.series[0].x, at) : at;
    this.onPoint(this.last);
  }

  step(plot, way) {
    const { axis } = plot.view, x = plot.series[0]?.x;
    if (["linear", "log"].includes(plot.spec.x?.scale) && x) {
      const next = this.last === null ? 0 : before(x, this.last) + way;
      this.point(plot, x.values[Math.min(x.length - 1, Math.max(0, next))]);
    } else this.point(plot, axis.at(Math.min(1, Math.max(0, (this.last === null ? 1 : axis.share(this.last)) + way / 200))));
  }

  show(at, words, read = at) {
    this.holder.classList.toggle("hovering", at !== null);
    for (const plot of this.plots) plot.read(read);
    if (at === null || !this.plots.length) return;
    const [{ view }] = this.plots;
    this.holder.style.setProperty("--x", `${100 * view.axis.share(at)}%`);
    this.holder.style.setProperty("--t", JSON.stringify(words));
  }
}

function nearest(x, at) {
  const index = Math.max(0, before(x, at)), next = Math.min(x.length - 1, index + 1);
  return x.values[x.values[next] - at < at - x.values[index] ? next : index];
}
