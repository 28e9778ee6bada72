// Light or dark? A script of its own, before the page is drawn: it would flash otherwise.
const chosen = (() => {
  try {
    return localStorage.getItem("tellwhen-theme");
  } catch {
    return null; // storage is switched off
  }
})();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
