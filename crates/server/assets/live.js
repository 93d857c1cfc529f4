// Keeps a page fresh: when something happened the page is fetched again, and what changed is put in
// its place. Without this script everything can still be read and answered.
(() => {
  "use strict";

  const said = document.getElementById("said");
  const live = document.body.dataset.live;
  let waiting = null;
  let again = false;

  const ago = (at) => {
    const s = Math.floor((Date.now() - at) / 1000);
    const long = Math.abs(s);
    const words = long < 60 ? `${long} s` : long < 3600 ? `${Math.floor(long / 60)} min`
      : long < 172800 ? `${Math.floor(long / 3600)} h` : `${Math.floor(long / 86400)} days`;
    if (s < 0) return `in ${words}`;
    return s < 10 ? "just now" : `${words} ago`;
  };

  const refreshTimes = () => {
    for (const time of document.querySelectorAll("time[data-at]")) {
      const words = ago(Number(time.dataset.at));
      if (time.textContent !== words) time.textContent = words;
    }
  };

  // What somebody is about to fill in is left alone.
  const inUse = (part) => {
    if (part.contains(document.activeElement) && document.activeElement.matches("textarea, input, select")) {
      return true;
    }
    return [...part.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  };

  const isOpen = (part) => new Set([...part.querySelectorAll("details[open][id]")].map((d) => d.id));

  const put = (fresh) => {
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const here = document.getElementById(part.id);
      if (!here || here.dataset.part === undefined || inUse(here)) continue;
      const open = isOpen(here);
      for (const details of part.querySelectorAll("details[id]")) {
        if (open.has(details.id)) details.open = true;
      }
      if (here.outerHTML === part.outerHTML) continue;
      const focused = here.contains(document.activeElement) ? document.activeElement.id : "";
      here.replaceWith(document.importNode(part, true));
      if (focused) document.getElementById(focused)?.focus();
    }
    if (document.title !== fresh.title) document.title = fresh.title;
    refreshTimes();
  };

  const refresh = async () => {
    if (waiting) {
      again = true;
      return;
    }
    waiting = fetch(location.href, { headers: { accept: "text/html" }, redirect: "follow" });
    try {
      const answer = await waiting;
      if (answer.redirected && new URL(answer.url).pathname === "/login") {
        location.reload();
        return;
      }
      if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // The next news tries again.
    }
    waiting = null;
    if (again) {
      again = false;
      refresh();
    }
  };

  const tell = (words) => {
    if (said) said.textContent = words;
  };

  const follow = () => {
    const source = new EventSource("/api/v1/news");
    let lost = false;
    source.addEventListener("open", () => {
      document.body.dataset.link = "on";
      if (lost) refresh();
      if (lost) tell("Connected again.");
      lost = false;
    });
    source.addEventListener("news", refresh);
    source.addEventListener("error", () => {
      document.body.dataset.link = "off";
      if (!lost) tell("The connection is lost. Trying again.");
      lost = true;
      // A browser gives up on an answer that is no stream; we do not.
      if (source.readyState === EventSource.CLOSED) {
        source.close();
        setTimeout(follow, 3000);
      }
    });
  };

  // One click answers; a second one of the same form does nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // j and k go from card to card.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea, input, select")) return;
    if (event.key !== "j" && event.key !== "k") return;
    const cards = [...document.querySelectorAll("[data-card]")];
    if (!cards.length) return;
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    const next = event.key === "j" ? Math.min(at + 1, cards.length - 1) : Math.max(at - 1, 0);
    cards[next].focus();
    event.preventDefault();
  });

  setInterval(refreshTimes, 15000);
  if (live) follow();
})();
