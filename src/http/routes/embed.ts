import { type Route, route } from '../routing/route.ts';
import { readWebFile, sendWebFile, webFolder } from '../web-files.ts';

/** GET /embed.js: the script by which other sites embed a survey. Its name is kept by their pages for ever. */
export function embedRoute(): Route {
  const file = readWebFile(webFolder('embed', 'embed.js'), 'text/javascript; charset=utf-8');
  return route({
    method: 'GET',
    path: '/embed.js',
    tag: 'Reference',
    summary: 'The script that embeds a survey into a page of another site',
    access: { kind: 'public' },
    limit: 'none',
    ignoresQuery: true,
    reply: null,
    replyMediaType: 'text/javascript',
    replyStatus: 200,
    handle: async ({ header }) =>
      // A new version reaches all sites within minutes, and at once where it is asked for again.
      sendWebFile(file, header('accept-encoding'), 'public, max-age=300', [
        // Pages with Cross-Origin-Embedder-Policy need this to load it.
        ['cross-origin-resource-policy', 'cross-origin'],
      ]),
  });
}
