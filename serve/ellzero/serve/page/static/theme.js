// Runs before the first paint: apply the theme that was chosen earlier. Without a choice the page follows the system.
try {
  const theme = localStorage.getItem("ellzero-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the page follows the system.
}
