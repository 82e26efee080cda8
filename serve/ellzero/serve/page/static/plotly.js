// plotly.js, fetched once and after everything else: it is large, and all but the charts works without it.

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const allowStyles = refuseStyles();
    const script = document.createElement("script");
    script.src = "assets/plotly.min.js";
    script.onload = () => {
      allowStyles();
      resolve(window.Plotly);
    };
    script.onerror = () => reject(new Error("plotly.js could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

/**
 * plotly.js puts the styles of its maps inline as it starts, which the page's content security policy refuses with an
 * error. The page has no maps: until plotly.js has started, its style elements are inert ones.
 */
function refuseStyles() {
  const create = document.createElement;
  document.createElement = (tag, ...rest) => create.call(document, tag === "style" ? "template" : tag, ...rest);
  return () => delete document.createElement;
}
