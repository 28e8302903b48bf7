// A crosshair over all plots at once. Without it the page loses nothing but the exact values.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const figures = [...document.querySelectorAll("figure.plot")];
  const said = document.querySelector(".said");
  const hint = said?.textContent;
  const decisions = [...document.querySelectorAll("tr[data-at]:not(.hold)")];
  const length = data.to - data.from;

  const round = (value) => value.toLocaleString("en", { maximumSignificantDigits: value < 1000 ? 3 : 4 });
  const duration = (s) => (s < 1 ? `${round(s * 1000)} ms` : s < 300 ? `${round(s)} s` : `${round(s / 60)} min`);
  const forms = { "s": duration, "%": (share) => `${round(100 * share)} %` };
  const two = (n) => String(n).padStart(2, "0");

  function clock(at) {
    if (length < 10) return `${round(at)} s`;
    const s = Math.round(at), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
  }

  // Index of the last time that is not after `at`.
  function before(times, at) {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= at) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  function valueAt({ t, v, stepped }, at) {
    const index = before(t, at);
    if (index < 0) return stepped ? null : v[0];
    const next = index + 1 < t.length && !stepped && t[index + 1] - at < at - t[index];
    return v[next ? index + 1 : index];
  }

  function show(share) {
    const at = data.from + share * length;
    document.body.classList.add("hovering");
    document.body.style.setProperty("--x", `${100 * share}%`);
    document.body.style.setProperty("--t", `"${clock(at)}"`);
    figures.forEach((figure, index) => {
      const { form, series } = data.plots[index];
      figure.querySelectorAll("output").forEach((output, line) => {
        const value = valueAt(series[line], at);
        output.textContent = value == null ? "–" : (forms[form] ?? round)(value);
      });
    });
    say(at);
  }

  function say(at) {
    const row = decisions.findLast((row) => Number(row.dataset.at) <= at);
    if (said) said.textContent = row ? [...row.cells].map((cell) => cell.textContent).join(" · ") : hint;
  }

  function hide() {
    document.body.classList.remove("hovering");
    document.querySelectorAll("output").forEach((output) => { output.textContent = ""; });
    if (said) said.textContent = hint;
  }

  const clamp = (share) => Math.min(1, Math.max(0, share));
  let last = 1;
  for (const frame of document.querySelectorAll(".frame")) {
    const follow = (event) => {
      const box = frame.getBoundingClientRect();
      show(last = clamp((event.clientX - box.left) / box.width));
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
      show(last = clamp(last + way / 200));
    });
  }
})();
