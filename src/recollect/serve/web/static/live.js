// What changes while a page is open: running sessions, new ones. The stream is taken up again by itself when the server
// was started again; a page that nobody looks at closes its stream, because a browser has only six for a server.
"use strict";

const rendered = document.currentScript.dataset.mark; // of the memory when the page was made: nothing since is missed

function openStream(onChange, notice) {
  let source = null;
  let mark = rendered;
  function open() {
    if (source || document.hidden) return;
    source = new EventSource("/live");
    source.onmessage = (event) => {
      notice.hidden = true;
      if (event.data !== mark) onChange();
      mark = event.data;
    };
    source.onerror = async () => {
      notice.hidden = false;
      if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again
      close();
      const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
      if (answer?.status === 401) location.reload(); // the page that says what to do
      else setTimeout(open, 2000);
    };
  }
  function close() {
    source?.close();
    source = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  open();
}

function noticeOfBreak() {
  const notice = document.createElement("p");
  notice.className = "broken";
  notice.setAttribute("role", "status");
  notice.textContent = "The page is not served at the moment; it goes on by itself when it is. `recollect ui` serves it.";
  notice.hidden = true;
  document.body.append(notice);
  return notice;
}

async function fetchPart(address) {
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) return null;
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}

async function renewRows(rows) {
  // The first page again, in place: rows further down stay as they are until they are loaded anew.
  const address = new URL(location.href);
  address.pathname = "/sessions/rows";
  const fresh = await fetchPart(address);
  if (!fresh) return;
  const named = (row) => row.dataset.uid;
  const arrived = [...fresh.querySelectorAll("tr[data-uid]")];
  const known = new Set(arrived.map(named));
  const here = document.querySelector(".here")?.dataset.uid;
  const later = [...rows.querySelectorAll("tr[data-uid]")].slice(arrived.length).filter((row) => !known.has(named(row)));
  const more = rows.querySelector("[data-more]");
  rows.replaceChildren(...arrived, ...later, ...(more ? [more] : []));
  for (const row of arrived) if (named(row) === here) row.classList.add("here");
}

const liveRows = document.querySelector("[data-live-rows]");
const running = document.querySelector("article.session[data-running]");
if (liveRows) openStream(() => renewRows(liveRows), noticeOfBreak());
else if (running) openStream(() => document.dispatchEvent(new CustomEvent("recollect:changed")), noticeOfBreak());
