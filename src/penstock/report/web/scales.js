// Axes with round numbers: {labels: [[value, text], ...], unit, low, high, share, at}, where `share` says
// how far along a value lies, from 0 to 1, and `at` which value lies there.
const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
const COUNTED = ["executors", "nodes", "cores", "step", "iteration"];
const DAY = 86400;
const clean = (value) => Number(value.toPrecision(12));

function linear(low, high, labels, unit) {
  return { low, high, labels, unit, share: (value) => (value - low) / (high - low), at: (share) => low + share * (high - low) };
}

function logarithmic(low, high, labels, unit) {
  const span = Math.log(high / low);
  return { low, high, labels, unit, share: (value) => Math.log(Math.max(value, low) / low) / span, at: (share) => low * Math.exp(share * span) };
}

function niceStep(span, count) {
  const rough = (span > 0 ? span : 1) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const off = (nice) => Math.abs(Math.log10((nice * size) / rough));
  return clean([1, 2, 2.5, 5, 10].reduce((best, nice) => (off(nice) < off(best) ? nice : best)) * size);
}

// In what a value is shown: the size of one, and its name.
function shownIn(unit, highest) {
  if (unit === "%") return [0.01, "%"];
  if (unit === "J") return highest < 1e4 ? [1, "J"] : highest < 1e7 ? [1e3, "kJ"] : [1e6, "MJ"];
  if (unit !== "s") return [1, unit];
  return highest < 1 ? [1e-3, "ms"] : highest < 300 ? [1, "s"] : highest < 10800 ? [60, "min"] : [3600, "h"];
}

// From zero to what holds `highest`.
function axisFor(unit, highest) {
  const [factor, shown] = shownIn(unit, highest);
  let step = niceStep(highest / factor, 4) * factor;
  if (COUNTED.includes(unit)) [step, highest] = [Math.max(1, Math.floor(niceStep(highest, 4))), Math.max(2, highest)];
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  const values = Array.from({ length: count + 1 }, (_, index) => clean(index * step));
  return linear(0, values[count], values.map((value) => [value, number(value / factor)]), shown);
}

// Shares of a whole: all of it has room, and more where there is more.
function wholeAxis(highest) {
  return highest > 1 ? axisFor("%", highest) : linear(0, 1, [[0, "0"], [0.5, "50"], [1, "100"]], "%");
}

// Values that differ little, such as prices: need not begin at zero.
function narrowAxis(low, high, unit = "") {
  const size = Math.max(Math.abs(low), Math.abs(high)), [factor, shown] = shownIn(unit, size);
  let step = niceStep(Math.max(high - low > 1e-9 * size ? high - low : size / 50, 1e-12), 4);
  if (COUNTED.includes(unit)) step = Math.max(1, Math.floor(step));
  let first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  if (first >= last) [first, last] = [first - 1, first + 1];
  const values = Array.from({ length: last - first + 1 }, (_, index) => clean((first + index) * step));
  const labels = values.map((value) => [value, decimal(value / factor, decimals(step / factor))]);
  return linear(values[0], values[values.length - 1], labels, shown);
}

// Digits after the point that multiples of a round step need.
const decimals = (step) => Math.min(12, (step.toFixed(12).replace(/0+$/, "").split(".")[1] ?? "").length);

// From one value to another, with round numbers between them.
function spanAxis(low, high, unit) {
  high = high > low ? high : low + 1;
  let step = niceStep(high - low, 4);
  if (COUNTED.includes(unit)) step = Math.max(1, Math.floor(step));
  const labels = [];
  for (let index = Math.ceil(low / step - 1e-9); index <= high / step + 1e-9; index++) labels.push([clean(index * step), number(clean(index * step))]);
  return linear(low, high, labels, unit);
}

// Seconds of very different size, a tenfold at a time.
function wideAxis(lowest, highest) {
  const steps = [];
  for (let power = Math.floor(Math.log10(lowest)) - 1; power <= Math.ceil(Math.log10(highest)) + 1; power++) {
    for (const digit of [1, 2, 5]) steps.push(Number(`${digit}e${power}`));
  }
  const low = steps.filter((step) => step <= lowest).pop();
  const high = steps.find((step) => step >= highest && step > low);
  const between = steps.filter((step) => Number.isInteger(Math.log10(step)) && step > low && step < high);
  return logarithmic(low, high, [low, ...between, high].map((value) => [value, number(value)]), "s, log scale");
}

// Each tenfold takes the same room; a label for each of few values, or for each tenfold.
function decadeAxis(values, unit) {
  const all = [...new Set(values)].sort((one, other) => one - other), low = all[0], high = all[all.length - 1];
  const powers = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) powers.push(Number(`1e${power}`));
  const every = Math.max(1, Math.floor(powers.length / 6));
  const marks = all.length <= 8 ? all : powers.filter((_, index) => index % every === 0);
  const factor = unit === "%" ? 0.01 : 1;
  return logarithmic(low, high > low ? high : 10 * low, marks.map((mark) => [mark, number(clean(mark / factor))]), `${unit}, log scale`);
}

function timeAxis(from, to, most) {
  to = to > from ? to : from + 1;
  const [step, moments] = timeSteps(from, to, most);
  return linear(from, to, moments.map((at) => [at, clock(at, step)]), step < 1 ? "s" : step >= 3600 ? "h:min" : "min:s");
}

function timeSteps(from, to, most) {
  const least = (to - from) / most;
  const step = TIME_STEPS.find((one) => one >= least) ?? DAY * Math.max(1, Math.ceil(least / DAY)), moments = [];
  for (let index = Math.ceil(from / step - 1e-9); index <= to / step + 1e-9; index++) moments.push(index * step);
  return [step, moments];
}

// Seconds since 1970 as times of day, in a place so many seconds ahead of UTC.
function dayAxis(from, to, offset, most) {
  const midnight = Math.floor((from + offset) / DAY) * DAY - offset;
  const [, moments] = timeSteps(from - midnight, to - midnight, most);
  return linear(from, to, moments.map((at) => [at + midnight, timeOfDay(at)]), "");
}
