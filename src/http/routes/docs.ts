import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { notFound } from '../../errors.ts';
import { assetPath } from '../../platform/assets.ts';
import { type Outcome, type Route, route } from '../routing/route.ts';
import type { Header } from '../server/reply.ts';

export interface DocsRoutesDeps {
  /** The document in JSON; called at every request. */
  openApiText(): Promise<string>;
}

const common = { method: 'GET', tag: 'Reference', access: { kind: 'public' }, reply: null, replyStatus: 200 } as const;

/** GET /openapi.json, below the base address. */
export function openApiRoute({ openApiText }: DocsRoutesDeps): Route {
  return route({
    ...common,
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    description: 'OpenAPI 3.1, without the usual envelope.',
    limit: 'api',
    replyMediaType: 'application/json',
    handle: async () => ({
      kind: 'text',
      status: 200,
      text: await openApiText(),
      mediaType: 'application/json; charset=utf-8',
      headers: [['cache-control', 'no-cache']],
    }),
  });
}

/** The reference page and its files, at the root. The page loads nothing from other hosts. */
export function docsRoutes(): Route[] {
  const loadAsset = createAssetLoader();
  const page = (path: string, folder: string) =>
    route({
      ...common,
      path,
      summary: 'The reference as a page',
      limit: 'none',
      ignoresQuery: true,
      replyMediaType: 'text/html',
      handle: async () =>
        asset({ mediaType: 'text/html; charset=utf-8', bytes: pageBytes(folder) }, [
          ['content-security-policy', contentSecurityPolicy],
          ['referrer-policy', 'no-referrer'],
        ]),
    });
  return [
    page('/docs', 'docs/'),
    page('/docs/', ''),
    route({
      ...common,
      path: '/docs/{file}',
      summary: 'A file of the reference page',
      limit: 'none',
      ignoresQuery: true,
      handle: async ({ params }) => asset(loadAsset(params['file'] ?? '')),
    }),
  ];
}

/** Scripts and styles only from this host and never inline; images may also be data URLs in styles. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Asset {
  mediaType: string;
  bytes: Buffer;
}

const pageFile = (name: string): string => assetPath(`src/http/reference/page/${name}`);
const packageFile = (name: string): string => createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`);

/** The files that are served; nothing else in their folders is. */
const files: Readonly<Record<string, { mediaType: string; path(): string }>> = {
  'page.js': { mediaType: 'text/javascript; charset=utf-8', path: () => pageFile('page.js') },
  'page.css': { mediaType: 'text/css; charset=utf-8', path: () => pageFile('page.css') },
  'swagger-ui.css': { mediaType: 'text/css; charset=utf-8', path: () => packageFile('swagger-ui.css') },
  'swagger-ui-bundle.js': {
    mediaType: 'text/javascript; charset=utf-8',
    path: () => packageFile('swagger-ui-bundle.js'),
  },
  'favicon-32x32.png': { mediaType: 'image/png', path: () => packageFile('favicon-32x32.png') },
};

/** Reads each file once. */
function createAssetLoader(): (name: string) => Asset {
  const loaded = new Map<string, Asset>();
  return (name) => {
    const file = Object.hasOwn(files, name) ? files[name] : undefined;
    if (!file) throw notFound('file');
    const known = loaded.get(name) ?? { mediaType: file.mediaType, bytes: readFileSync(file.path()) };
    loaded.set(name, known);
    return known;
  };
}

function pageBytes(folder: string): Buffer {
  const html = readFileSync(pageFile('page.html'), 'utf8');
  return Buffer.from(
    html
      .replaceAll('{{folder}}', folder)
      .replaceAll('{{document}}', `${folder === '' ? '../' : ''}api/v1/openapi.json`),
  );
}

function asset({ mediaType, bytes }: Asset, headers: readonly Header[] = []): Outcome {
  return {
    kind: 'stream',
    status: 200,
    totalBytes: bytes.length,
    source: [bytes],
    headers: [
      ['content-type', mediaType],
      ['x-content-type-options', 'nosniff'],
      ['cache-control', 'no-cache'],
      ...headers,
    ],
  };
}
