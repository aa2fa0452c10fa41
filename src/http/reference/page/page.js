// Shows the reference. The document lies beside this folder, so the page works behind any prefix.
const documentUrl = new URL('../api/v1/openapi.json', document.currentScript.src);

fetch(documentUrl)
  .then((reply) => {
    if (!reply.ok) throw new Error(`the document gave ${reply.status}`);
    return reply.json();
  })
  .then((spec) => {
    // Calls made from this page go to where it came from.
    const base = documentUrl.href.replace(/\/openapi\.json$/, '');
    const root = new URL('../../', documentUrl).href.replace(/\/$/, '');
    spec.servers = [{ url: base }];
    for (const path of Object.values(spec.paths)) if (path.servers) path.servers = [{ url: root }];
    window.reference = SwaggerUIBundle({
      spec,
      dom_id: '#reference',
      deepLinking: true,
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      filter: true,
      persistAuthorization: false,
      validatorUrl: null,
    });
  })
  .catch((error) => {
    document.getElementById('reference').textContent = `The reference could not be loaded: ${error.message}`;
  });
