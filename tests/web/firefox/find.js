// SPDX-License-Identifier: MIT
//
// Elements by the steps of a locator. This function runs inside a page: it is sent there as text,
// and sees nothing of this file.

/** @param {any[]} steps @returns {Element[]} */
export function elementsOf(steps) {
  const ROLES = {
    alert: "[role=alert]",
    button: "button, [role=button], summary",
    cell: "td, [role=cell]",
    checkbox: "input[type=checkbox]",
    columnheader: "th, [role=columnheader]",
    combobox: "select, [role=combobox]",
    dialog: "dialog, [role=dialog]",
    grid: "[role=grid]",
    heading: "h1, h2, h3, h4, h5, h6",
    img: "img, [role=img]",
    link: "a[href]",
    list: "ul, ol",
    listbox: "[role=listbox]",
    listitem: "li",
    menu: "[role=menu]",
    navigation: "nav, [role=navigation]",
    option: "option, [role=option]",
    radio: "input[type=radio]",
    region: "section[aria-label], [role=region]",
    row: "tr, [role=row]",
    search: "[role=search], search",
    searchbox: "input[type=search]",
    status: "output, [role=status]",
    table: "table",
    textbox: "input:not([type]), input[type=text], textarea",
  };
  const clean = text => (text ?? "").replace(/\s+/g, " ").trim();
  const matches = (text, wanted, exact) => {
    if (wanted === undefined || wanted === null) return true;
    if (wanted.source !== undefined) return new RegExp(wanted.source, wanted.flags).test(clean(text));
    return exact
      ? clean(text) === clean(wanted)
      : clean(text).toLowerCase().includes(clean(wanted).toLowerCase());
  };
  const isShown = one =>
    one.getClientRects().length > 0 &&
    getComputedStyle(one).visibility === "visible" &&
    !one.closest("[aria-hidden=true]");
  const contents = one =>
    [...one.childNodes]
      .map(node =>
        node.nodeType === 3
          ? node.data
          : node.nodeType === 1 && node.getAttribute("aria-hidden") !== "true"
            ? (node.getAttribute("aria-label") ?? node.getAttribute("alt") ?? contents(node)) +
              (getComputedStyle(node).display.startsWith("inline") ? "" : " ")
            : "",
      )
      .join("");
  const nameOf = one => {
    const by = one.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map(id => document.getElementById(id)?.textContent).join(" ");
    const label = one.labels?.[0] ?? null;
    return (
      one.getAttribute("aria-label") ||
      one.getAttribute("alt") ||
      (label && contents(label)) ||
      contents(one) ||
      one.getAttribute("placeholder") ||
      one.title
    );
  };
  const roleOf = one => one.getAttribute("role");
  const inside = (one, css) => [...one.querySelectorAll(css)];
  const elements = (roots, step) => {
    const all = css => [...new Set(roots.flatMap(root => inside(root, css)))];
    if (step.nth !== undefined) return [roots.at(step.nth)].filter(one => one);
    if (step.keep) return roots;
    if (step.xpath === "..") return [...new Set(roots.map(root => root.parentElement))];
    if (step.css) return all(step.css);
    if (step.role)
      return all(ROLES[step.role] ?? `[role=${step.role}]`).filter(
        one =>
          (roleOf(one) ?? step.role) === step.role &&
          isShown(one) &&
          matches(nameOf(one), step.name, step.exact),
      );
    if (step.label !== undefined)
      return all("input, select, textarea, [aria-label]").filter(one =>
        matches(nameOf(one), step.label, step.exact),
      );
    if (step.placeholder !== undefined)
      return all("[placeholder]").filter(one =>
        matches(one.placeholder, step.placeholder, step.exact),
      );
    if (step.text !== undefined)
      return all("*").filter(
        one =>
          matches(one.textContent, step.text, step.exact) &&
          ![...one.children].some(child => matches(child.textContent, step.text, step.exact)),
      );
    throw new Error("a step of a kind that is not known: " + JSON.stringify(step));
  };
  const walk = (roots, list) =>
    list.reduce(
      (found, step) =>
        elements(found, step).filter(
          one =>
            matches(one.textContent, step.hasText, false) &&
            (!step.has || walk([one], step.has).length > 0),
        ),
      roots,
    );
  return walk([document], steps);
}
