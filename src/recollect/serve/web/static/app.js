// Search while typing, endless lists, the outline beside a transcript, and keys. Every page works without it.
"use strict";

const DEBOUNCE_MS = 25; // a request that is not needed any more is cancelled

function searchWhileTyping(input) {
  const results = document.getElementById("results");
  let timer = 0;
  let running = null;
  async function ask(query) {
    running?.abort();
    running = new AbortController();
    const address = `?q=${encodeURIComponent(query)}`;
    try {
      const answer = await fetch(`/results${address}`, { signal: running.signal });
      if (answer.status === 401) location.reload(); // the server was started again: the page says what to do
      if (!answer.ok) return;
      results.innerHTML = await answer.text();
      history.replaceState(null, "", query ? `/${address}` : "/");
      document.title = query ? `${query} · Recollect` : "Recollect";
    } catch (error) {
      if (error.name !== "AbortError") results.replaceChildren(stopped());
    }
  }
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(input.value.trim()), DEBOUNCE_MS);
  });
  const end = input.value.length;
  input.setSelectionRange(end, end);
}

function stopped() {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = "The page is not served any more. Run `recollect ui` again.";
  return note;
}

function fetchMoreWhenSeen(root) {
  const watcher = new IntersectionObserver(async (seen) => {
    for (const { target } of seen.filter((one) => one.isIntersecting)) {
      watcher.unobserve(target);
      const answer = await fetch(target.dataset.more).catch(() => null);
      if (!answer?.ok) continue; // its link stays, and leads to a page that says why
      const holder = document.createElement(target.tagName === "TR" ? "tbody" : "div");
      holder.innerHTML = await answer.text();
      const added = [...holder.childNodes];
      target.replaceWith(...added);
      watch(added.filter((node) => node.nodeType === Node.ELEMENT_NODE));
    }
  }, { rootMargin: "1200px" });
  function watch(nodes) {
    for (const node of nodes) if (node.dataset.more) watcher.observe(node);
  }
  watch([...root.querySelectorAll("[data-more]")]);
}

function followOutline(outline) {
  const links = [...outline.querySelectorAll("a[data-seq]")];
  let waiting = false;
  function update() {
    waiting = false;
    let top = null;
    for (const unit of document.querySelectorAll(".unit")) {
      if (unit.getBoundingClientRect().top > 120) break;
      top = Number(unit.id);
    }
    let current = null;
    for (const link of links) {
      link.removeAttribute("aria-current");
      if (top !== null && Number(link.dataset.seq) <= top) current = link;
    }
    current?.setAttribute("aria-current", "true");
    current?.scrollIntoView({ block: "nearest" });
  }
  addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(update);
    waiting = true;
  }, { passive: true });
  outline.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-seq]");
    const unit = link && document.getElementById(link.dataset.seq);
    if (!unit) return; // not loaded: the link itself leads there
    event.preventDefault();
    history.pushState(null, "", `#${unit.id}`);
    unit.scrollIntoView();
  });
  update();
}

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  const here = items.findIndex((item) => item.classList.contains("here"));
  const next = items[Math.max(0, Math.min(items.length - 1, here < 0 ? 0 : here + step))];
  items[here]?.classList.remove("here");
  next?.classList.add("here");
  next?.scrollIntoView({ block: "nearest" });
  next?.querySelector("a, summary")?.focus({ preventScroll: true });
}

function showKeys() {
  document.getElementById("keys").showModal();
}

function listenToKeys(search) {
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping) event.target.blur();
    if (isTyping) return;
    if (event.key === "/") {
      event.preventDefault();
      if (search) search.focus();
      else location.href = "/";
    } else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "?") showKeys();
  });
  document.querySelector("[data-keys]").addEventListener("click", showKeys);
}

const search = document.querySelector("[data-live]");
if (search) searchWhileTyping(search);
fetchMoreWhenSeen(document);
const outline = document.querySelector(".outline");
if (outline) followOutline(outline);
listenToKeys(search);
