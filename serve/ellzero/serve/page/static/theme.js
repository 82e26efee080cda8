// Before the first paint: the theme that was chosen here earlier. Without a choice the system's holds.
try {
  const chosen = localStorage.getItem("ellzero-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing follows the system.
}
