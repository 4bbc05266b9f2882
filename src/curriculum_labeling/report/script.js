"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);

  // Theme: the system's choice until the reader makes another, which is remembered where storage is allowed.
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("theme", value);
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const shown = () =>
    root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const saved = remembered();
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;
  one("theme").hidden = false;
  one("theme").addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    remembered(root.dataset.theme);
  });

  // Navigation: mark the section being read.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const mark = (id) => {
    for (const [key, link] of links) {
      if (key === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => mark(entry.target.id)),
    { rootMargin: "-15% 0px -75% 0px" },
  );
  for (const id of links.keys()) observer.observe(one(id));

  // Copying the command.
  const copy = one("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(one("command").textContent);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Select it and copy by hand";
      }
    });
  }

  // Gallery: filters, their count, and the words behind a picture.
  const filters = one("filters");
  if (!filters) return;
  filters.hidden = false;
  const shots = all("#gallery .shot");
  const groups = all("#gallery .class");
  const unfiltered = groups.map((group) => group.open);
  const fits = (shot, wanted) =>
    (wanted.label === "" || shot.dataset.class === wanted.label) &&
    (wanted.kind === "" || shot.dataset.kind === wanted.kind) &&
    (wanted.round === "" || shot.dataset.round === wanted.round) &&
    (wanted.verdict === "" || shot.dataset.verdict === wanted.verdict) &&
    Number(shot.dataset.confidence) * 100 >= wanted.low &&
    Number(shot.dataset.confidence) * 100 <= wanted.high;
  const choice = (name) => (filters.elements[name] ? filters.elements[name].value : "");
  const apply = () => {
    const low = Number(choice("low"));
    const high = Number(choice("high"));
    const wanted = { label: choice("label"), kind: choice("kind"), round: choice("round"), verdict: choice("verdict") };
    const active = Object.values(wanted).some((value) => value !== "") || low > 0 || high < 100;
    Object.assign(wanted, { low, high });
    one("range").textContent = low <= high ? `${low} to ${high} %` : "from is above to";
    let count = 0;
    for (const shot of shots) {
      const visible = fits(shot, wanted);
      shot.hidden = !visible;
      count += visible ? 1 : 0;
    }
    for (const strip of all("#gallery .strip")) {
      const left = all(".shot:not([hidden])", strip).length;
      strip.hidden = active && left === 0;
    }
    groups.forEach((group, place) => {
      const left = all(".shot:not([hidden])", group).length;
      group.hidden = active && left === 0;
      group.open = active ? left > 0 : unfiltered[place];
    });
    for (const rest of all("#gallery .rest")) {
      const left = all(".shot:not([hidden])", rest).length;
      rest.hidden = active && left === 0;
      rest.open = active && left > 0;
    }
    one("shown").textContent = count.toLocaleString("en-US");
    one("nothing").hidden = count > 0;
    one("reset").disabled = !active;
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("reset", () => setTimeout(apply));
  filters.addEventListener("submit", (event) => event.preventDefault());
  apply();

  const words = one("words");
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".shot button");
    if (button) {
      one("words-text").textContent = button.title;
      words.hidden = false;
    } else if (event.target.closest("#words-close")) {
      words.hidden = true;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") words.hidden = true;
  });
})();
