// Axes with round numbers, as the report has them.
const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
const clean = (value) => Number(value.toPrecision(12));

function niceStep(span, count) {
  const rough = (span > 0 ? span : 1) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const off = (nice) => Math.abs(Math.log10((nice * size) / rough));
  return clean([1, 2, 2.5, 5, 10].reduce((best, nice) => (off(nice) < off(best) ? nice : best)) * size);
}

function linear(step, highest, factor, unit) {
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  const labels = Array.from({ length: count + 1 }, (_, index) => clean(index * step));
  const high = labels[count];
  return { high, unit, labels: labels.map((value) => [value, number(value / factor)]), share: (value) => value / high };
}

// An axis from zero that holds `highest`; `unit` is s, %, J, or what is counted.
function axisFor(unit, highest) {
  if (unit === "%") return linear(highest <= 1 ? 0.5 : niceStep(highest, 4), Math.max(1, highest), 0.01, "%");
  if (unit === "executors") return linear(Math.max(1, Math.floor(niceStep(highest, 4))), Math.max(2, highest), 1, unit);
  if (unit === "J") {
    const [factor, shown] = highest < 1e4 ? [1, "J"] : highest < 1e7 ? [1e3, "kJ"] : [1e6, "MJ"];
    return linear(niceStep(highest / factor, 4) * factor, highest, factor, shown);
  }
  if (unit !== "s") return linear(niceStep(highest, 4), highest, 1, unit);
  const [factor, shown] = highest < 1 ? [1e-3, "ms"] : highest < 300 ? [1, "s"] : highest < 10800 ? [60, "min"] : [3600, "h"];
  return linear(niceStep(highest / factor, 4) * factor, highest, factor, shown);
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
  const share = (value) => Math.log10(Math.max(value, low) / low) / Math.log10(high / low);
  return { high, unit: "s, log scale", labels: [low, ...between, high].map((value) => [value, number(value)]), share };
}

function timeAxis(from, to, most) {
  const least = (to - from) / most;
  const step = TIME_STEPS.find((one) => one >= least) ?? 86400 * Math.max(1, Math.ceil(least / 86400));
  const labels = [];
  for (let index = Math.ceil(from / step - 1e-9); index <= to / step + 1e-9; index++) labels.push([index * step, clock(index * step, step)]);
  return { labels, unit: step < 1 ? "s" : step >= 3600 ? "h:min" : "min:s" };
}
