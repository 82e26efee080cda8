// The description names no server, which means the root of the host. What is tried out goes to where this page came from
// instead: it may lie below a path of a proxy.
const server = { url: new URL(".", location.href).href.replace(/\/$/, "") };

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
  responseInterceptor: (response) => {
    if (response.ok && response.url.endsWith("/openapi.json")) {
      response.text = JSON.stringify({ ...JSON.parse(response.text), servers: [server] });
    }
    return response;
  },
});
