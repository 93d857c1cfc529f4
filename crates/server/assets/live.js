// Keeps a page fresh: when something happened the page is fetched again, and what changed is put in
// its place. A page that answers a form stays as it is. Answers are sent without leaving the page.
// Without this script everything can still be read and answered.
(() => {
  "use strict";

  const { body } = document;
  const said = document.getElementById("said");
  // Only a page that can be fetched again names the position that it was made at.
  const isLive = body.dataset.after !== undefined;
  // What takes longer than this is shown to be under way.
  const SLOW_MS = 400;
  const SHOWN_MS = 4000;
  const TRY_AGAIN_MS = 3000;

  // --- Times -----------------------------------------------------------------------------------

  const ago = (at) => {
    const s = Math.floor((Date.now() - at) / 1000);
    const long = Math.abs(s);
    const words = long < 60 ? `${long} s` : long < 3600 ? `${Math.floor(long / 60)} min`
      : long < 172800 ? `${Math.floor(long / 3600)} h` : `${Math.floor(long / 86400)} days`;
    if (s < 0) return `in ${words}`;
    return s < 10 ? "just now" : `${words} ago`;
  };

  const refreshTimes = (root) => {
    for (const time of root.querySelectorAll("time[data-at]")) {
      const words = ago(Number(time.dataset.at));
      if (time.textContent !== words) time.textContent = words;
    }
  };

  // --- Saying something to people --------------------------------------------------------------

  let hush = 0;
  // Stays until something else is to be said, or for a while.
  const say = (words, passes) => {
    clearTimeout(hush);
    said.textContent = words;
    if (passes) hush = setTimeout(() => { said.textContent = ""; }, SHOWN_MS);
  };

  // --- Putting what is new in its place --------------------------------------------------------

  // A form that the operator fills in, or has just sent, is left alone.
  const inUse = (part) => {
    const at = document.activeElement;
    if (part.contains(at) && at.matches("textarea, input, select")) return true;
    if (part.querySelector("form[data-sent]")) return true;
    return [...part.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  };

  const stops = (part) => [part, ...part.querySelectorAll("a, button, summary, input, select, textarea")];

  const replace = (here, fresh) => {
    if (here.dataset.stays || inUse(here)) return;
    for (const details of here.querySelectorAll("details[open][id]")) {
      const same = fresh.querySelector(`#${CSS.escape(details.id)}`);
      if (same) same.open = true;
    }
    if (here.outerHTML === fresh.outerHTML) return;
    const focused = stops(here).indexOf(document.activeElement);
    const put = document.importNode(fresh, true);
    here.replaceWith(put);
    if (focused >= 0) stops(put)[focused]?.focus({ preventScroll: true });
  };

  // An answer that is being written is kept, even when it is no longer needed.
  const settled = (card) => {
    if (card.querySelector(".settled")) return;
    const note = document.createElement("p");
    note.className = "notice settled";
    note.setAttribute("role", "status");
    note.textContent = "This question was settled while you were writing.";
    card.querySelector(".guide form, form")?.before(note);
  };

  const remove = (child) => {
    if (child.dataset.stays) return;
    if (inUse(child)) {
      settled(child);
      return;
    }
    const next = child.nextElementSibling ?? child.previousElementSibling ?? document.getElementById("main");
    const focused = child.contains(document.activeElement);
    child.remove();
    if (focused) next.focus({ preventScroll: true });
  };

  // A list whose children come and go, each by its id.
  const reconcile = (here, fresh) => {
    const wanted = new Set([...fresh.children].map((child) => child.id));
    for (const child of [...here.children]) if (!wanted.has(child.id)) remove(child);
    let after = null;
    for (const child of fresh.children) {
      const known = document.getElementById(child.id);
      if (known) {
        replace(known, child);
      } else {
        const put = document.importNode(child, true);
        put.classList.add("new");
        if (after) after.after(put);
        else here.prepend(put);
      }
      after = document.getElementById(child.id);
    }
  };

  const put = (fresh) => {
    refreshTimes(document);
    refreshTimes(fresh);
    for (const part of fresh.querySelectorAll("[data-part], [data-list]")) {
      const here = document.getElementById(part.id);
      if (!here) continue;
      if (part.dataset.list === undefined) replace(here, part);
      else reconcile(here, part);
    }
    if (document.title !== fresh.title) document.title = fresh.title;
  };

  // --- Fetching --------------------------------------------------------------------------------

  const read = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

  let busy = false;
  let again = false;

  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const slow = setTimeout(() => { body.dataset.busy = "yes"; }, SLOW_MS);
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname === "/login") {
        location.reload();
        return;
      }
      if (answer.ok) put(await read(answer));
    } catch {
      // The next news tries again.
    }
    clearTimeout(slow);
    delete body.dataset.busy;
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  };

  // --- Following -------------------------------------------------------------------------------

  // A browser has few connections to a server, so one tab follows and tells the others.
  const others = "BroadcastChannel" in window ? new BroadcastChannel("unstuck") : null;
  let at = body.dataset.after;
  let leads = false;
  let leaving = false;

  const heard = (message) => {
    if (message.link !== body.dataset.link) {
      body.dataset.link = message.link;
      if (message.link === "off") say("The connection is lost. Trying again.");
      else say("Connected again.", true);
    }
    if (message.at === at) return;
    at = message.at;
    refresh();
  };

  const tell = (message) => {
    heard(message);
    others?.postMessage(message);
  };

  const follow = () => {
    leads = true;
    const source = new EventSource(`/api/v1/news?after=${encodeURIComponent(at)}`);
    source.addEventListener("open", () => tell({ link: "on", at }));
    source.addEventListener("news", (event) => tell({ link: "on", at: event.lastEventId }));
    source.addEventListener("error", () => {
      if (leaving) return;
      tell({ link: "off", at });
      // A browser gives up on a response that is no stream; this page does not. The operator may have to
      // sign in again, which loading tells.
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(follow, TRY_AGAIN_MS);
        refresh();
      }
    });
  };

  const begin = () => {
    if (!others || !navigator.locks) {
      follow();
      return;
    }
    others.addEventListener("message", ({ data }) => {
      if (!data.hello) heard(data);
      else if (leads) others.postMessage({ link: body.dataset.link, at });
    });
    // Kept until the page goes; then the next tab gets it.
    navigator.locks.request("unstuck", () => {
      follow();
      return new Promise(() => {});
    });
    others.postMessage({ hello: true });
  };

  window.addEventListener("pagehide", () => { leaving = true; });
  window.addEventListener("pageshow", (event) => {
    leaving = false;
    if (event.persisted && isLive) refresh();
  });

  // --- Answering -------------------------------------------------------------------------------

  const refuse = (form, notice) => {
    const card = form.closest(".ask");
    card.querySelector(":scope > .notice")?.remove();
    card.prepend(notice);
    notice.tabIndex = -1;
    notice.focus();
  };

  const unsent = () => {
    const notice = document.createElement("div");
    notice.className = "notice bad";
    notice.setAttribute("role", "alert");
    notice.textContent = "That could not be sent. Nothing is lost: try again in a moment.";
    return notice;
  };

  // The answer of the server is the page that a browser without this script would show.
  const answered = async (form, answer) => {
    const fresh = await read(answer);
    const alert = fresh.querySelector("main > .notice[role=alert]");
    if (!answer.ok && !alert) {
      refuse(form, unsent());
      return;
    }
    const card = form.closest(".ask");
    form.reset();
    delete form.dataset.sent;
    if (alert) {
      // What became of the question stands where it was, until the page is left.
      const ended = document.importNode(fresh.querySelector(".ask"), true);
      card.replaceChildren(...ended.childNodes);
      card.prepend(document.importNode(alert, true));
      card.dataset.stays = "yes";
      card.tabIndex = -1;
      card.focus();
      return;
    }
    document.activeElement.blur();
    if (!isLive) {
      // Where a browser without this script would be now.
      location.assign(answer.url);
      return;
    }
    if (location.pathname === new URL(answer.url).pathname) put(fresh);
    else await refresh();
    say("Your answer is taken down.", true);
    (document.querySelector("[data-card]") ?? document.getElementById("main")).focus({ preventScroll: true });
  };

  const send = async (form, button) => {
    const sent = new URLSearchParams(new FormData(form));
    if (button?.name) sent.set(button.name, button.value);
    try {
      const answer = await fetch(form.action, { method: "POST", body: sent, headers: { accept: "text/html" } });
      await answered(form, answer);
    } catch {
      refuse(form, unsent());
    }
    delete form.dataset.sent;
  };

  // One click is enough; a second one of the same form does nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const twice = form.dataset.sent;
    form.dataset.sent = "yes";
    if (twice || form.dataset.stays !== undefined) event.preventDefault();
    if (!twice && form.dataset.stays !== undefined) send(form, event.submitter);
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // --- Keys ------------------------------------------------------------------------------------

  // j and k go from card to card.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea, input, select")) return;
    if (event.key !== "j" && event.key !== "k") return;
    const cards = [...document.querySelectorAll("[data-card]")];
    if (!cards.length) return;
    const here = cards.findIndex((card) => card.contains(document.activeElement));
    const next = event.key === "j" ? Math.min(here + 1, cards.length - 1) : Math.max(here - 1, 0);
    cards[next].focus();
    event.preventDefault();
  });

  setInterval(() => refreshTimes(document), 15000);
  if (isLive) begin();
})();
