// The colour theme, set by a script of its own before the page is drawn, so that the page does not flash.
const chosen = (() => {
  try {
    return localStorage.getItem("tellwhen-theme");
  } catch {
    return null; // storage is switched off
  }
})();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
