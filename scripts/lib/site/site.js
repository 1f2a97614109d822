// SPDX-License-Identifier: GPL-3.0-or-later
// Search over all pages, the menu of small screens, copying of commands, and the heading that is being read.
// Everything can be read without it. It asks for one more file of the site, the index, when somebody searches.
"use strict";
(function () {
  const root = document.documentElement, up = document.body.dataset.up;
  const field = document.getElementById("search"), list = document.getElementById("found");
  const count = document.getElementById("count"), MOST = 30;
  let entries = null, chosen = -1, loading = false;
  root.classList.add("script");

  const menu = document.getElementById("menu"), nav = document.getElementById("nav");
  menu.addEventListener("click", () => {
    const open = nav.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
    if (open) nav.querySelector("a").focus();
  });

  function load() {
    if (loading) return;
    loading = true;
    const script = document.createElement("script");
    script.src = up + "search-index.js";
    script.onload = () => {
      const pages = window.collsimIndex.pages;
      entries = window.collsimIndex.entries.map(([page, anchor, heading, text]) => ({
        href: up + pages[page][0] + (anchor ? "#" + anchor : ""), page: pages[page][1], heading, text,
        low: { page: pages[page][1].toLowerCase(), heading: heading.toLowerCase(), text: text.toLowerCase() },
      }));
      search();
    };
    script.onerror = () => { count.textContent = "The index of the search is not there."; };
    document.head.append(script);
  }

  // A word in a heading counts more than in a page's name, and that more than in a text; whole words and beginnings more than parts.
  function worth(text, word, most) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    const edge = /[^\p{L}\p{N}]/u;
    for (let place = at; place >= 0; place = text.indexOf(word, place + 1)) {
      if (place === 0 || edge.test(text[place - 1])) {
        const end = place + word.length;
        return end === text.length || edge.test(text[end]) ? most : 0.7 * most;
      }
    }
    return 0.3 * most;
  }

  function find(words) {
    const found = [];
    entries.forEach((entry, order) => {
      let sum = 0;
      for (const word of words) {
        const got = worth(entry.low.heading, word, 8) + worth(entry.low.page, word, 3) + worth(entry.low.text, word, 2);
        if (!got) return;
        sum += got;
      }
      if (words.length > 1 && entry.low.text.includes(words.join(" "))) sum += 4;
      found.push({ entry, sum, order });
    });
    return found.sort((a, b) => b.sum - a.sum || a.order - b.order);
  }

  // The text around the first word, with all words marked; made of nodes, so that a text is never taken for markup.
  function marked(text, words, most) {
    const low = text.toLowerCase();
    const first = Math.min(...words.map((word) => low.indexOf(word)).filter((at) => at >= 0), text.length);
    const from = first > most / 3 && first < text.length ? text.indexOf(" ", first - Math.floor(most / 3)) + 1 : 0;
    const piece = text.slice(from, from + most), lowPiece = piece.toLowerCase(), made = document.createDocumentFragment();
    if (from > 0) made.append("… ");
    for (let at = 0; at < piece.length;) {
      let next = piece.length, length = 0;
      for (const word of words) {
        const place = lowPiece.indexOf(word, at);
        if (place >= 0 && (place < next || (place === next && word.length > length))) { next = place; length = word.length; }
      }
      made.append(piece.slice(at, next));
      if (length) {
        const mark = document.createElement("mark");
        mark.textContent = piece.slice(next, next + length);
        made.append(mark);
      }
      at = next + Math.max(length, 1);
      if (!length) break;
    }
    if (from + most < text.length) made.append(" …");
    return made;
  }

  function line(name, content) {
    const made = document.createElement("div");
    made.className = name;
    made.append(content);
    return made;
  }

  function show(found, words) {
    list.replaceChildren(...found.slice(0, MOST).map(({ entry }, number) => {
      const item = document.createElement("li"), link = document.createElement("a");
      item.id = "found-" + number;
      item.setAttribute("role", "option");
      link.href = entry.href;
      link.tabIndex = -1;
      link.append(line("where", entry.page), line("heading", marked(entry.heading, words, 120)), line("snippet", marked(entry.text, words, 170)));
      item.append(link);
      item.addEventListener("click", close);
      return item;
    }));
    count.textContent = found.length ? found.length + (found.length > 1 ? " places" : " place") + " found" : "Nothing found";
    if (!found.length) list.append(line("snippet", "Nothing has all of these words."));
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    choose(found.length ? 0 : -1);
  }

  function choose(number) {
    const items = list.querySelectorAll("[role=option]");
    if (items[chosen]) items[chosen].setAttribute("aria-selected", "false");
    chosen = items.length ? (number + items.length) % items.length : -1;
    if (chosen < 0) { field.removeAttribute("aria-activedescendant"); return; }
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", items[chosen].id);
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function search() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    if (!entries) return load();
    show(find(words), words);
  }

  field.addEventListener("focus", load);
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) search(); else choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0 && !list.hidden) {
      list.querySelectorAll("[role=option]")[chosen].querySelector("a").click();
      field.blur();
    } else if (event.key === "Escape") {
      if (list.hidden) field.blur();
      close();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.addEventListener("click", (event) => { if (!event.target.closest("search")) close(); });
  document.addEventListener("focusin", (event) => { if (!event.target.closest("search")) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });

  // What can be scrolled sideways is reached by the keyboard.
  function reach() {
    for (const box of document.querySelectorAll("pre, .table")) {
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", box.tagName === "PRE" ? "Code" : "Table");
      }
    }
  }
  reach();
  window.addEventListener("resize", reach);

  // Of a session the commands are copied, without what they print.
  if (navigator.clipboard) {
    for (const box of document.querySelectorAll(".code")) {
      const button = document.createElement("button"), commands = box.querySelectorAll(".command");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", () => {
        const text = commands.length ? [...commands].map((one) => one.textContent.slice(2)).join("\n") : box.querySelector("pre").textContent;
        navigator.clipboard.writeText(text).then(() => {
          button.textContent = "Copied";
          setTimeout(() => { button.textContent = "Copy"; }, 1500);
        });
      });
      box.append(button);
    }
  }

  const links = new Map([...document.querySelectorAll("#toc a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const headings = [...links.keys()].map((name) => document.getElementById(name)).filter(Boolean);
  let now = null;
  function follow() {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const next = links.get((passed[passed.length - 1] || headings[0]).id);
    if (next === now) return;
    if (now) now.classList.remove("now");
    next.classList.add("now");
    now = next;
    const aside = document.getElementById("toc");
    if (getComputedStyle(aside).position === "sticky") {
      const at = next.offsetTop - aside.clientHeight / 2;
      aside.scrollTop = at;
    }
  }
  if (headings.length) {
    let asked = false;
    document.addEventListener("scroll", () => {
      if (!asked) requestAnimationFrame(() => { asked = false; follow(); });
      asked = true;
    }, { passive: true });
    follow();
  }
  const contents = document.querySelector("#toc details");
  if (contents && matchMedia("(max-width: 1240px)").matches) contents.open = false;
  const current = nav.querySelector("[aria-current]");
  if (current && current.offsetTop > nav.clientHeight) nav.scrollTop = current.offsetTop - nav.clientHeight / 2;
})();
