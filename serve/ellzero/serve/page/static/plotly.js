// plotly.js is loaded once and last: it is large, and everything but the charts works without it.

let loading = null;

export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const restoreStyles = blockStyles();
    const script = document.createElement("script");
    script.src = "assets/plotly.min.js";
    script.onload = () => {
      restoreStyles();
      resolve(window.Plotly);
    };
    script.onerror = () => reject(new Error("plotly.js could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

/**
 * On loading, plotly.js adds inline styles for its maps, which the content security policy refuses with an error. The
 * page has no maps: while plotly.js loads, its style elements are created as inert templates. Returns what undoes this.
 */
function blockStyles() {
  const create = document.createElement;
  document.createElement = (tag, ...rest) => create.call(document, tag === "style" ? "template" : tag, ...rest);
  return () => delete document.createElement;
}
