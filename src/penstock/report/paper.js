// A crosshair on the plot that is pointed at. Without it the page loses nothing but exact values.
"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("data").textContent);
  const round = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const shown = (value, form) => (form === "%" ? `${round(100 * value)} %` : round(value));

  // Index of the last place that is not after `at`, or of the nearest where lines are not stepped.
  function index({ x, stepped }, at) {
    let best = 0;
    x.forEach((place, i) => {
      if (stepped ? place <= at : Math.abs(place - at) < Math.abs(x[best] - at)) best = i;
    });
    return best;
  }

  document.querySelectorAll("figure.plot").forEach((figure, number) => {
    const { from, to, wide, form, lines } = plots[number];
    const frame = figure.querySelector(".frame");
    const outputs = figure.querySelectorAll("output");
    const place = (share) => (wide ? from * (to / from) ** share : from + share * (to - from));
    const share = (at) => (wide ? Math.log(at / from) / Math.log(to / from) : (at - from) / (to - from));
    let last = lines[0].x[0];

    function show(at) {
      const { x } = lines[0];
      last = x[index(lines[0], at)];
      figure.classList.add("hovering");
      frame.style.setProperty("--x", `${100 * share(last)}%`);
      frame.style.setProperty("--t", `"${round(last)}"`);
      lines.forEach((line, i) => {
        const value = line.y[index(line, last)];
        outputs[i].textContent = value == null ? "–" : shown(value, form);
      });
    }

    function hide() {
      figure.classList.remove("hovering");
      outputs.forEach((output) => { output.textContent = ""; });
    }

    function follow(event) {
      const box = frame.getBoundingClientRect();
      show(place(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width))));
    }

    function step(way) {
      const { x } = lines[0];
      const next = x.indexOf(last) + way;
      if (next >= 0 && next < x.length) show(x[next]);
    }

    frame.addEventListener("pointermove", follow);
    frame.addEventListener("pointerdown", follow);
    frame.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    frame.addEventListener("blur", hide);
    frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way) return;
      event.preventDefault();
      step(way);
    });
  });
})();
