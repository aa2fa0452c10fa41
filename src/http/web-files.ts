import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { notFound } from '../errors.ts';
import { assetPath } from '../platform/assets.ts';
import { type Outcome, type Route, route } from './routing/route.ts';
import type { Header } from './server/reply.ts';
import { weighted } from './weighted.ts';

/** What the build made of web/page and of web/console. */
export type WebPage = 'page' | 'console';

export type Encoding = 'br' | 'gzip';

interface WebFile {
  mediaType: string;
  bytes: Buffer;
  /** Made by the build; absent where compressing does not pay. */
  compressed: Readonly<Partial<Record<Encoding, Buffer>>>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The folder of the build: dist/web, or what `npm run build -w web` made. */
export const webFolder = (...parts: string[]): string => join(assetPath('dist/web'), ...parts);

interface ManifestEntry {
  file: string;
  css?: string[];
  isEntry?: boolean;
}

/** The addresses of the script and of the style sheets with which a page begins. */
export function entryOf(page: WebPage): { script: string; styles: string[] } {
  const manifest = JSON.parse(readFileSync(webFolder(page, '.vite', 'manifest.json'), 'utf8')) as Record<
    string,
    ManifestEntry
  >;
  const entry = Object.values(manifest).find(({ isEntry }) => isEntry);
  if (!entry) throw new Error(`the build of ${page} has no entry`);
  return { script: `/${entry.file}`, styles: (entry.css ?? []).map((file) => `/${file}`) };
}

/**
 * GET /assets/{file}: scripts, styles, pictures. Their names change with their content, so that they are kept by
 * browsers for ever. All are held in memory, as the build compressed them.
 */
export function webFilesRoute(): Route {
  const files = new Map((['page', 'console'] as const).flatMap((page) => readAssets(webFolder(page, 'assets'))));
  return route({
    method: 'GET',
    path: '/assets/{file}',
    tag: 'Reference',
    summary: 'A file of the console or of the respondent’s page',
    access: { kind: 'public' },
    limit: 'none',
    ignoresQuery: true,
    reply: null,
    replyStatus: 200,
    handle: async ({ params, header }) => {
      const file = files.get(params['file'] ?? '');
      if (!file) throw notFound('file');
      return sendWebFile(file, header('accept-encoding'), 'public, max-age=31536000, immutable');
    },
  });
}

/** Sends a file in the best form that the client takes. */
export function sendWebFile(
  { mediaType, bytes, compressed }: WebFile,
  acceptEncoding: string | undefined,
  cacheControl: string,
  headers: readonly Header[] = [],
): Outcome {
  const encoding = acceptedEncoding(acceptEncoding, (name) => compressed[name] !== undefined);
  const body = (encoding && compressed[encoding]) ?? bytes;
  return {
    kind: 'stream',
    status: 200,
    totalBytes: body.length,
    source: [body],
    headers: [
      ['content-type', mediaType],
      ['x-content-type-options', 'nosniff'],
      ['cache-control', cacheControl],
      ['vary', 'accept-encoding'],
      ...(encoding ? [['content-encoding', encoding] as const] : []),
      ...headers,
    ],
  };
}

/** The best coding that the client takes, among those that are there. */
export const acceptedEncoding = (
  acceptEncoding: string | undefined,
  isThere: (encoding: Encoding) => boolean = () => true,
): Encoding | undefined => (['br', 'gzip'] as const).find((name) => isThere(name) && takes(acceptEncoding, name));

/** Whether Accept-Encoding (RFC 9110 §12.5.3) names a coding without refusing it. */
const takes = (acceptEncoding: string | undefined, coding: Encoding): boolean =>
  weighted(acceptEncoding).some(({ name, weight }) => name === coding && weight > 0);

function readAssets(folder: string): [string, WebFile][] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => Object.hasOwn(mediaTypes, extname(name)))
    .map((name) => [name, readWebFile(join(folder, name), mediaTypes[extname(name)] ?? '')]);
}

/** A file of the build with its compressed forms. */
export function readWebFile(path: string, mediaType: string): WebFile {
  const form = (ending: string): Buffer | undefined =>
    existsSync(path + ending) ? readFileSync(path + ending) : undefined;
  const [br, gzip] = [form('.br'), form('.gz')];
  return { mediaType, bytes: readFileSync(path), compressed: { ...(br && { br }), ...(gzip && { gzip }) } };
}
