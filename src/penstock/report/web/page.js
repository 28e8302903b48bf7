// A page that does not change: draws its flow graph and its figures where their data stand.
const data = (holder) => JSON.parse(holder.querySelector('script[type="application/json"]').textContent);
const plots = [], groups = new Map();

for (const holder of document.querySelectorAll("figure[data-figure]")) {
  const spec = data(holder);
  const plot = spec.names ? { figure: bars(spec) } : new Plot(spec);
  holder.replaceWith(plot.figure);
  if (spec.names) continue;
  plots.push(plot);
  const group = spec.group ?? plot;
  groups.set(group, [...(groups.get(group) ?? []), plot]);
}

for (const holder of document.querySelectorAll(".graphs")) {
  const { boxes, ...graph } = data(holder), flow = new Flow(holder);
  flow.build(graph);
  flow.show((name) => boxes[name] ?? {}, () => "");
}

// The decision that was in force at a moment, in place of the hint above the plots.
const said = document.querySelector(".said"), hint = said?.textContent;
const decided = [...document.querySelectorAll("tr[data-at]:not(.hold)")];
function tell(at) {
  const row = at === null ? null : decided.findLast((one) => Number(one.dataset.at) <= at);
  if (said) write(said, row ? [...row.cells].map((cell) => cell.textContent.trim()).join(" \u00b7 ") : hint);
}

for (const [group, members] of groups) {
  const shared = group !== members[0], { scale, offset } = members[0].spec.x;
  const words = (at) => (scale === "time" ? clock(at, members[0].view.axis.high < 10 ? 0.1 : 1) : scale === "day" ? timeOfDay(Math.floor(at + offset) % DAY) : number(at));
  const cross = new Crosshair(members, shared ? document.body : members[0].figure, (at) => {
    cross.show(at, at === null ? "" : words(at));
    if (group === "run") tell(at);
  });
}

function redraw() {
  readPalette();
  drawAll(plots);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", redraw);
addEventListener("beforeprint", redraw);
redraw();
document.documentElement.dataset.drawn = plots.length;
