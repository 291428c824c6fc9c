// Search while typing, endless lists, and keys. Every page works without it.
"use strict";

const DEBOUNCE_MS = 15; // while an answer is awaited; a request that is not needed any more is cancelled
const PAUSE_MS = 250; // what belongs to results is asked for when nobody types any more

function searchWhileTyping(input) {
  const results = document.getElementById("results");
  let timer = 0;
  let running = null;
  async function ask(query) {
    running?.abort();
    const mine = running = new AbortController();
    results.ariaBusy = "true";
    const address = `?q=${encodeURIComponent(query)}`;
    try {
      const answer = await fetch(`/results${address}`, { signal: mine.signal });
      if (answer.status === 401) location.reload(); // the server was started again: the page says what to do
      if (!answer.ok) return;
      results.innerHTML = await answer.text();
      results.ariaBusy = null;
      timer = setTimeout(() => fetchMoreWhenSeen(results), PAUSE_MS);
      history.replaceState(null, "", query ? `/${address}` : "/");
      document.title = query ? `${query} · Recollect` : "Recollect";
    } catch (error) {
      if (error.name !== "AbortError") results.replaceChildren(stopped());
    } finally {
      if (running === mine) running = null;
    }
  }
  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (running) timer = setTimeout(() => ask(input.value.trim()), DEBOUNCE_MS);
    else ask(input.value.trim());
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
      if (!answer?.ok) {
        delete target.dataset.more; // its link is shown, and leads to a page that says why
        continue;
      }
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
  watch([...root.querySelectorAll("[data-more]:not([data-side])")]); // those with sides belong to a transcript
}

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  const here = items.findIndex((item) => item.classList.contains("here"));
  const seen = items.findIndex((item) => item.getBoundingClientRect().top > 40);
  const next = items[Math.max(0, Math.min(items.length - 1, here < 0 ? seen : here + step))];
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
    if (isTyping || document.querySelector("dialog[open]")) return;
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
listenToKeys(search);
