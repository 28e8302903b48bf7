// From the server to the page: all of it once, then what is new, drawn at most once a frame.
const STATES = { live: ["live", "good live"], finished: ["finished", ""], stopped: ["did not finish", "bad"], waiting: ["waiting", ""] };
const LINKS = { open: ["connected", "good"], wait: ["connecting", ""], lost: ["no connection, trying again", "bad"], bye: ["server stopped", "bad"] };
const store = new Store();
let moment = null, dirty = false, pointed = false, source = null, retry = 1000, timer = 0;
let down = "lost";  // what to say without a connection: a server that said goodbye has stopped

const tiles = new Tiles(store, find("tiles"));
const flow = new LiveFlow(store, find("graph"));
const plots = new Plots(store, find("plots"), (at) => { moment = at; pointed = true; if (at === null) dirty = true; wake(); });
const decisions = new Decisions(store, find("decisions"), (at) => plots.pin(at));

function wake() {
  if (!wake.asked) wake.asked = requestAnimationFrame(frame);
}

function frame() {
  wake.asked = 0;
  if (dirty) render();
  if (pointed || dirty) point();
  dirty = pointed = false;
}

function render() {
  header();
  const begun = Boolean(store.settings);
  find("main").hidden = !begun;
  find("waiting").hidden = begun || store.now.state !== "waiting";
  if (!begun || !store.length) return;
  tiles.show();
  flow.build();
  plots.build();
  plots.draw();
  decisions.show();
  document.documentElement.dataset.ticks = store.length;
  if (!render.done) performance.mark("drawn");
  render.done = true;
}

function point() {
  if (!store.length) return;
  plots.point(moment);
  const at = flow.show(moment === null ? store.length - 1 : store.tickAt(moment));
  write(find("flow-at"), moment === null ? (store.now.state === "live" ? "now" : "at the end") : `at ${clock(at)}`);
}

function header() {
  const { state, trouble, outcome } = store.now;
  badge(find("state"), STATES[state] ?? ["loading", ""]);
  if (store.settings) {
    write(find("title"), store.settings.title);
    write(find("subtitle"), store.settings.subtitle);
    document.title = `${store.settings.title} \u00b7 ${STATES[state]?.[0] ?? ""}`;
  }
  for (const [id, text] of [["trouble", trouble], ["outcome", outcome]]) {
    find(id).hidden = !text;
    write(find(id), text ?? "");
  }
}

function badge(element, [text, tone]) {
  write(element, text);
  element.className = `state ${tone}`;
}

const linked = (how) => badge(find("link"), LINKS[how]);

function take(message) {
  const run = store.run, whole = store.take(message);
  if (store.run !== run) decisions.clear();
  dirty = true;
  wake();
  return whole;
}

// All of the run, then a stream of what is new; after any failure from the place that was reached.
async function begin() {
  clearTimeout(timer);
  source?.close();
  try {
    const answer = await fetch("run.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    take(await answer.json());
    follow();
  } catch {
    again(begin);
  }
}

function follow() {
  source?.close();
  source = new EventSource(`events?run=${encodeURIComponent(store.run ?? "")}&after=${store.length}`);
  source.onopen = () => { retry = 1000; down = "lost"; linked("open"); };
  source.onmessage = (event) => { if (!take(JSON.parse(event.data))) begin(); };
  source.addEventListener("bye", () => { down = "bye"; again(begin); });
  source.onerror = () => again(store.run ? follow : begin);
}

function again(how) {
  source?.close();
  linked(down);
  clearTimeout(timer);
  timer = setTimeout(how, retry);
  retry = Math.min(8000, 1.5 * retry);
}

function redraw() {
  readPalette();
  dirty = true;
  wake();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
addEventListener("scroll", () => { if (plots.all.some((plot) => plot.stale)) redraw(); }, { passive: true });
readPalette();
linked("wait");
begin();
