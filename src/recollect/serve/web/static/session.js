// One session: a window of its transcript that moves while it is scrolled, its outline, finding within it, and keys.
"use strict";

const article = document.querySelector("article.session");
const transcript = article?.querySelector(".transcript");
const base = document.querySelector("[data-base]")?.dataset.base;
const PIECES = 10; // kept in the page at once: the rest is fetched again when the reader comes back

function unitOf(seq) {
  return document.getElementById(String(seq)) ?? document.querySelector(`.unit[data-seqs~="${Number(seq)}"]`);
}

async function part(address) {
  const answer = await fetch(address).catch(() => null);
  if (answer?.status === 401) location.reload();
  if (!answer?.ok) return null;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return [...holder.content.children];
}

// The window

let pinned = false; // while the whole window is replaced, nothing is fetched at its ends

function sentinel(side, address, label) {
  const line = document.createElement("p");
  line.className = "more";
  Object.assign(line.dataset, { more: address, side });
  const link = document.createElement("a");
  link.href = `${base}?at=${address.split("=").pop()}`;
  link.textContent = label;
  line.append(link);
  return line;
}

function keepPlace(change) {
  // What is added or removed above must not move what is read.
  const anchor = [...transcript.querySelectorAll(".unit")].find((unit) => unit.getBoundingClientRect().bottom > 60);
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor?.isConnected) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
}

const watcher = new IntersectionObserver((seen) => {
  if (pinned) return;
  for (const { target, isIntersecting } of seen) if (isIntersecting) extend(target);
}, { rootMargin: "1500px" });

function watchEnds() {
  for (const end of transcript.querySelectorAll(":scope > [data-more]")) watcher.observe(end);
}

async function extend(end) {
  watcher.unobserve(end);
  const added = await part(end.dataset.more);
  if (!added || !end.isConnected) return; // its link stays, and leads to a page that says why
  const isBefore = end.dataset.side === "before";
  const arrived = added.filter((node) => node.matches(".piece") || node.dataset.side === end.dataset.side);
  keepPlace(() => {
    end.replaceWith(...arrived);
    const pieces = [...transcript.querySelectorAll(":scope > .piece")];
    if (pieces.length <= PIECES) return;
    if (isBefore) {
      const gone = pieces.at(-1);
      transcript.querySelector(":scope > [data-side=after]")?.remove();
      gone.replaceWith(sentinel("after", `${base}/events?from=${gone.dataset.first}`, "More of this session"));
    } else {
      transcript.querySelector(":scope > [data-side=before]")?.remove();
      pieces[0].replaceWith(sentinel("before", `${base}/events?before=${pieces[1].dataset.first}`, "Earlier events"));
    }
  });
  watchEnds();
}

async function show(seq, { remember = true } = {}) {
  let unit = unitOf(seq);
  if (!unit) {
    pinned = true;
    const fresh = await part(`${base}/events?at=${seq}`);
    if (fresh) transcript.replaceChildren(...fresh);
    unit = unitOf(seq);
    pinned = false;
    if (!unit) return null;
  }
  for (const one of document.querySelectorAll(".unit.focus")) one.classList.remove("focus");
  unit.classList.add("focus");
  const details = unit.querySelector("details");
  if (details) details.open = true;
  if (remember) history.pushState({ seq }, "", `${base}?at=${seq}#${unit.id}`);
  unit.scrollIntoView({ behavior: "instant" });
  watchEnds();
  return unit;
}

async function renewTail() {
  // A running session: its last piece again, with what was unfolded left so.
  if (!transcript || transcript.querySelector(":scope > [data-side=after]")) return;
  const last = [...transcript.querySelectorAll(":scope > .piece")].at(-1);
  if (!last || getSelection()?.toString()) return;
  const isAtEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 80;
  const fresh = await part(`${base}/events?from=${last.dataset.first}`);
  if (!fresh) return;
  const unfolded = new Set([...last.querySelectorAll("details[open]")].map((one) => one.closest(".unit").id));
  const here = last.querySelector(".here")?.id;
  const arrived = fresh.filter((node) => node.matches(".piece, [data-side=after]"));
  last.replaceWith(...arrived);
  for (const id of unfolded) document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
  if (here) document.getElementById(here)?.classList.add("here");
  if (isAtEnd) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  watchEnds();
  outlineAround(Number.MAX_SAFE_INTEGER);
}

// The outline

const marks = document.querySelector(".outline .marks");

async function outlineAround(seq) {
  const fresh = await part(`${base}/outline?at=${Math.min(seq, 2 ** 31)}`);
  if (fresh) marks.replaceChildren(...fresh);
  followOutline();
}

function topUnit() {
  for (const unit of transcript.querySelectorAll(".unit")) {
    if (unit.getBoundingClientRect().bottom > 90) return unit;
  }
  return null;
}

let asking = false;

async function followOutline() {
  const top = topUnit();
  if (!top) return;
  const seq = Number(top.id);
  const links = [...marks.querySelectorAll("a[data-seq]:not(.fix)")];
  const [earlier, later] = [marks.querySelector("li.more:first-child a"), marks.querySelector("li.more:last-child a")];
  const isOutside = links.length && ((earlier && seq < Number(links[0].dataset.seq))
    || (later && seq > Number(links.at(-1).dataset.seq)));
  if (isOutside && !asking) {
    asking = true;
    await outlineAround(seq);
    asking = false;
    return;
  }
  const current = links.findLast((link) => Number(link.dataset.seq) <= seq) ?? null;
  if (current?.getAttribute("aria-current")) return;
  marks.querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (!current) return;
  current.setAttribute("aria-current", "true");
  const [frame, line] = [marks.parentElement, current.getBoundingClientRect()];
  const box = frame.getBoundingClientRect();
  if (line.top < box.top || line.bottom > box.bottom) frame.scrollTop += line.top - box.top - box.height / 3;
}

// Finding within the session

const finder = article?.querySelector("form.find");
const told = finder?.querySelector("output");
let found = { text: "", seqs: [], at: -1, isWhole: true, stop: null };

function paint() {
  if (!CSS.highlights) return;
  CSS.highlights.delete("found");
  if (!found.text) return;
  const ranges = [];
  const texts = document.createTreeWalker(transcript, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const text = node.data.toLowerCase();
    for (let at = text.indexOf(found.text); at >= 0; at = text.indexOf(found.text, at + found.text.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(node.length, at + found.text.length));
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function tellFound() {
  const count = found.seqs.length;
  const sum = `${count}${found.isWhole ? "" : "+"}`;
  const place = found.at < 0 ? "" : `${found.at + 1} of `;
  told.textContent = !found.text ? "" : count ? `${place}${sum} event${count === 1 ? "" : "s"}` : found.isWhole ? "nothing" : "…";
}

async function find(text) {
  found.stop?.abort();
  const stop = new AbortController();
  found = { text: text.toLowerCase(), seqs: [], at: -1, isWhole: !text, stop };
  tellFound();
  paint();
  for (let from = 0; text && from !== null;) {
    try {
      const answer = await fetch(`${base}/find?q=${encodeURIComponent(text)}&from=${from}`, { signal: stop.signal });
      if (answer.status === 401) location.reload();
      if (!answer.ok) return;
      const some = await answer.json();
      found.seqs.push(...some.seqs);
      from = some.next_seq;
      found.isWhole = from === null;
    } catch {
      return; // another text is looked for
    }
    tellFound();
    if (found.at < 0 && found.seqs.length) await step(1, nearest());
  }
}

function nearest() {
  const seq = Number(topUnit()?.id ?? 0);
  const after = found.seqs.findIndex((one) => one >= seq);
  return after < 0 ? 0 : after;
}

async function step(by, to = null) {
  const count = found.seqs.length;
  if (!count) return;
  found.at = to ?? (found.at + by + count) % count;
  tellFound();
  const seq = found.seqs[found.at];
  const unit = await show(seq, { remember: false });
  paint();
  if (!unit) return;
  const range = [...(CSS.highlights?.get("found") ?? [])].find((one) => unit.contains(one.startContainer));
  if (range) scrollBy({ top: range.getBoundingClientRect().top - innerHeight / 3, behavior: "instant" });
  else told.textContent += `; in the part of #${seq} that is not shown`;
}

function listenToFinder() {
  const input = finder.querySelector("input");
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(input.value.trim()), 120);
  });
  finder.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") closeFinder();
  });
  finder.addEventListener("click", (event) => {
    const by = event.target.closest("[data-step]")?.dataset.step;
    if (by) step(Number(by));
  });
}

function openFinder() {
  finder.hidden = false;
  finder.querySelector("input").focus();
  finder.querySelector("input").select();
}

function closeFinder() {
  finder.hidden = true;
  finder.querySelector("input").value = "";
  find("");
}

// Keys

function currentUnit() {
  return document.querySelector(".unit.here") ?? document.querySelector(".unit:focus-within")
    ?? document.querySelector(".unit.focus") ?? (transcript ? topUnit() : document.querySelector(".unit"));
}

async function copyCitation(unit) {
  const uid = document.querySelector("[data-uid]").dataset.uid;
  const cited = `${uid}#${unit.id}`;
  await navigator.clipboard.writeText(cited);
  const toast = document.querySelector(".toast");
  toast.textContent = `Copied ${cited}`;
  setTimeout(() => { toast.textContent = ""; }, 3000);
}

addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const unit = currentUnit();
  if (event.key === "f" && finder) {
    event.preventDefault();
    openFinder();
  } else if (event.key === "n" && finder) step(1);
  else if (event.key === "p" && finder) step(-1);
  else if (event.key === "r" && unit) location.href = `${base}/event/${unit.id}#record`;
  else if (event.key === "c" && unit) copyCitation(unit);
  else if (event.key === "o" && unit) unit.querySelector("details")?.toggleAttribute("open");
});

document.querySelector("[data-copy]")?.addEventListener("click", () => copyCitation(currentUnit()));

if (article) {
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      followOutline();
    });
  }, { passive: true });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-seq], a[data-outline]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.outline) outlineAround(Number(link.dataset.outline));
    else show(link.dataset.seq);
  });
  const addressed = () => /^#\d+$/.test(location.hash) && location.hash.slice(1);
  addEventListener("popstate", () => addressed() && show(addressed(), { remember: false }));
  document.addEventListener("recollect:changed", renewTail);
  new MutationObserver(paint).observe(transcript, { childList: true });
  listenToFinder();
  if (addressed() && !document.getElementById(addressed())) show(addressed(), { remember: false }); // of a call's result
  requestAnimationFrame(() => setTimeout(() => { // after the first paint: this asks where everything lies
    watchEnds();
    if (marks.querySelector("li.more")) outlineAround(Number(addressed() || 0)); // its first lines came with the page
    else followOutline();
  }));
}
