// Before the first paint, so that a dark page never flashes white. Not a module: modules wait.
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem("gec.theme"));
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    const font = JSON.parse(localStorage.getItem("gec.font"));
    if (font === "sans") document.documentElement.dataset.font = font;
  } catch {
    // storage is switched off, so the system's scheme stays
  }
})();
