import { type Outcome, type Route, route } from '../routing/route.ts';
import { readWebFile, sendWebFile, webFolder } from '../web-files.ts';

/** The addresses of the console's views. Each is answered with the same page, whose script shows the view. */
const addresses = [
  '/',
  '/sign-in',
  '/account',
  '/surveys',
  '/surveys/{survey}',
  '/surveys/{survey}/{view}',
  '/surveys/{survey}/{view}/{item}',
  '/webhooks',
  '/webhooks/{endpoint}',
  '/people',
  '/keys',
  '/audit',
  '/ai',
  '/service',
];

/** Scripts and styles of this host only, and nothing in other pages' frames. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The console. Its page is never kept by browsers, so that a new build is seen at the next reload. */
export function consoleRoutes(): Route[] {
  const page = readWebFile(webFolder('console', 'index.html'), 'text/html; charset=utf-8');
  const send = (acceptEncoding: string | undefined): Outcome =>
    sendWebFile(page, acceptEncoding, 'no-cache', [
      ['content-security-policy', contentSecurityPolicy],
      ['referrer-policy', 'no-referrer'],
    ]);
  return addresses.map((path) =>
    route({
      method: 'GET',
      path,
      tag: 'Reference',
      summary: 'The console',
      access: { kind: 'public' },
      limit: 'none',
      ignoresQuery: true,
      reply: null,
      replyMediaType: 'text/html',
      replyStatus: 200,
      handle: async ({ header }) => send(header('accept-encoding')),
    }),
  );
}
