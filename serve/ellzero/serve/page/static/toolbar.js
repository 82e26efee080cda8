// The theme, and the link to the present view.

import { byId, say } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : system.matches;
}

/** The button that switches light and dark; `repaint` is called whenever the colours have changed. */
export function initTheme(repaint) {
  const button = byId("theme");
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  const changed = () => {
    show();
    repaint();
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("ellzero-theme", theme);
    } catch {
      // A browser that keeps nothing forgets it when the page is left.
    }
    changed();
  });
  system.addEventListener("change", changed);
  show();
}

/** The button that copies the link that `address` gives. */
export function initCopyLink(address) {
  const button = byId("copy-link");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(address());
      button.textContent = "Copied";
      say("The link was copied.");
      setTimeout(() => (button.textContent = "Copy link"), 2000);
    } catch {
      // Browsers give the clipboard to https and localhost only; elsewhere the link is there to be taken.
      byId("link-box").hidden = false;
      byId("link").value = address();
      byId("link").select();
    }
  });
}
