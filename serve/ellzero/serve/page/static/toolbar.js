// The buttons at the top: the theme, and a link to the current view.

import { announce, byId } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : system.matches;
}

/** Set up the button that switches between light and dark; `repaint` is called whenever the colours have changed. */
export function initTheme(repaint) {
  const button = byId("theme");
  const showState = () => button.setAttribute("aria-pressed", String(isDark()));
  const update = () => {
    showState();
    repaint();
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("ellzero-theme", theme);
    } catch {
      // Without storage, the choice lasts until the page is left.
    }
    update();
  });
  system.addEventListener("change", update);
  showState();
}

/** Set up the button that copies the link that `getLink` returns. */
export function initCopyLink(getLink) {
  const button = byId("copy-link");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(getLink());
      button.textContent = "Copied";
      announce("The link was copied.");
      setTimeout(() => (button.textContent = "Copy link"), 2000);
    } catch {
      // Browsers allow the clipboard on https and localhost only; elsewhere, show the link to be copied by hand.
      byId("link-box").hidden = false;
      byId("link").value = getLink();
      byId("link").select();
    }
  });
}
