import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Appearance, frameAncestorsOf } from '../domain/appearance.ts';
import type { PageState } from './page-state.ts';
import { pageStyleOf } from './page-style.ts';
import type { Outcome } from './routing/route.ts';
import { acceptedEncoding, entryOf, webFolder } from './web-files.ts';

/** What the build makes of web/page/renderer.tsx. */
interface PageRenderer {
  /** The body as HTML, the title of the window, and the state with the page's own words for the script. */
  renderPage(state: PageState): { body: string; title: string; state: object };
}

export interface PageDocumentOptions {
  status: number;
  retryAfterSeconds?: number | undefined;
  /** How the survey wants to look; undefined: the page's own look. */
  appearance?: Appearance | undefined;
  /** Calls of the page are allowed; false for a preview, from which nothing may leave. */
  mayCall?: boolean;
}

const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 6 }),
};

/**
 * The respondent's page as a document: it is readable without its script, which then goes on with the state that lies
 * beside it as JSON.
 */
export function createPageDocument() {
  const entry = entryOf('page');
  let loading: Promise<PageRenderer> | undefined;
  const load = (): Promise<PageRenderer> => {
    loading ??= import(pathToFileURL(webFolder('page-renderer', 'renderer.js')).href) as Promise<PageRenderer>;
    return loading;
  };
  const links = [
    ...entry.styles.map((file) => `<link rel="stylesheet" href="${file}">`),
    `<script type="module" src="${entry.script}"></script>`,
  ].join('');

  return {
    build: entry.script,
    async send(state: PageState, acceptEncoding: string | undefined, options: PageDocumentOptions): Promise<Outcome> {
      const { appearance, mayCall = true } = options;
      const { body, title, state: given } = (await load()).renderPage(state);
      const style = appearance ? pageStyleOf(appearance) : '';
      // The colours behind the questions are made for dark text.
      const theme = appearance?.backgroundColor ? ' data-theme="light"' : '';
      const html = `<!doctype html><html lang="${escaped(state.language)}" dir="${state.direction}"${theme}><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">${links}${style === '' ? '' : `<style>${style}</style>`}</head><body><div id="page">${body}</div><script id="state" type="application/json">${scriptJson(given)}</script></body></html>`;
      const bytes = Buffer.from(html);
      const encoding = acceptedEncoding(acceptEncoding);
      return {
        kind: 'bytes',
        status: options.status,
        bytes: encoding ? await compressors[encoding](bytes) : bytes,
        headers: [
          ['content-type', 'text/html; charset=utf-8'],
          ['cache-control', 'no-store'],
          ['vary', 'accept-encoding, accept-language'],
          ['referrer-policy', 'no-referrer'],
          ['content-security-policy', contentSecurityPolicy(style, appearance, mayCall)],
          ['x-page-build', entry.script],
          ...(encoding ? [['content-encoding', encoding] as const] : []),
          ...(options.retryAfterSeconds === undefined
            ? []
            : [['retry-after', String(options.retryAfterSeconds)] as const]),
        ],
      };
    },
  };
}

export type PageDocument = ReturnType<typeof createPageDocument>;

/** Scripts and styles of this host only. The one style sheet within the document is named by its hash. */
function contentSecurityPolicy(style: string, appearance: Appearance | undefined, mayCall: boolean): string {
  const hash = style === '' ? '' : ` 'sha256-${createHash('sha256').update(style).digest('base64')}'`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${hash}`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    `connect-src ${mayCall ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    frameAncestorsOf(appearance),
  ].join('; ');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? '');

/** JSON that cannot end the element in which it stands. */
const scriptJson = (value: object): string => JSON.stringify(value).replace(/</g, '\\u003c');
