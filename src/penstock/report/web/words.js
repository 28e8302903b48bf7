// Values as text, as `penstock.core.words` writes them; a test holds both equal.
const UNKNOWN = "unknown";
const significant = (value, digits = 3) => Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: 15 });
const decimal = (value, digits) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function number(value) {
  const size = Math.abs(value);
  if (size >= 999.5e6) return `${significant(value / 1e9)} G`;
  if (size >= 999500) return `${significant(value / 1e6)} M`;
  if (size >= 9999.5) return `${significant(value / 1e3)} k`;
  return size >= 999.5 ? Math.round(value).toLocaleString("en") : significant(value);
}

function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${significant(seconds * 1e6)} us`;
  if (size < 1) return `${significant(seconds * 1e3)} ms`;
  if (size < 60) return `${significant(seconds)} s`;
  return size < 3600 ? `${significant(seconds / 60)} min` : `${significant(seconds / 3600)} h`;
}

// What is nearly nothing or nearly all does not round to it.
function percent(share) {
  const hundredths = 100 * share;
  if (hundredths > 0 && hundredths < 0.005) return "<0.01 %";
  if (hundredths >= 99.995 && hundredths < 100) return ">99.99 %";
  const close = (hundredths > 0 && hundredths < 0.1) || (hundredths > 99.9 && hundredths < 100);
  return `${Number(hundredths.toFixed(close ? 2 : 1))} %`;
}

function quantity(value, unit) {
  for (const [least, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"]]) {
    if (Math.abs(Number(value.toPrecision(3))) >= least) return `${significant(value / least)} ${prefix}${unit}`;
  }
  return `${significant(value)} ${unit}`;
}

const two = (n) => String(n).padStart(2, "0");

// A moment of the run, as fine as the steps between moments need.
function clock(at, step = 1) {
  if (step < 1) return significant(at, 6);
  const s = Math.round(at), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  if (step >= 3600) return `${h}:${two(m)}`;
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

// Seconds since midnight as a clock on the wall shows them.
function timeOfDay(at) {
  const thousandths = Math.round(1000 * at) % 86400000, s = Math.floor(thousandths / 1000), rest = thousandths % 1000;
  const shown = `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return rest ? `${shown}.${String(rest).padStart(3, "0")}`.replace(/0+$/, "") : shown;
}

const FORMS = { s: duration, "%": percent, J: (joules) => quantity(joules, "J"), W: (watts) => quantity(watts, "W") };
const valueIn = (unit, value) => (known(value) ? (FORMS[unit] ?? number)(value) : "\u2013");
const plural = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
const known = (value) => value !== undefined && value !== null && !Number.isNaN(value);

// An element with classes, text and children; text is never markup.
function make(tag, classes = "", ...children) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...children);
  return element;
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const find = (id) => document.getElementById(id);
