import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { PageState } from './page-state.ts';
import { type Encoding, webFolder } from './web-files.ts';

/** The build makes it of web/page/renderer.tsx. */
interface PageRenderer {
  /** The body as HTML, the title of the window, and the state with the page's own words for the script. */
  renderPage(state: PageState): { body: string; title: string; state: object };
}

/** The parts of a page besides its state. */
export interface PageFrame {
  /** Links and style sheets, as HTML. */
  head: string;
  /** Whatever the device prefers. */
  isLight: boolean;
  encoding: Encoding | undefined;
}

const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 6 }),
};

let loading: Promise<PageRenderer> | undefined;
function loadRenderer(): Promise<PageRenderer> {
  loading ??= import(pathToFileURL(webFolder('page-renderer', 'renderer.js')).href) as Promise<PageRenderer>;
  return loading;
}

/** The bytes of the page: HTML with the state beside it, compressed. */
export async function renderDocument(state: PageState, { head, isLight, encoding }: PageFrame): Promise<Uint8Array> {
  const { body, title, state: given } = (await loadRenderer()).renderPage(state);
  const theme = isLight ? ' data-theme="light"' : '';
  const html = `<!doctype html><html lang="${escaped(state.language)}" dir="${state.direction}"${theme}><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">${head}</head><body><div id="page">${body}</div><script id="state" type="application/json">${scriptJson(given)}</script></body></html>`;
  const bytes = Buffer.from(html);
  return encoding ? compressors[encoding](bytes) : bytes;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? '');

/** JSON that cannot end the element in which it stands. */
const scriptJson = (value: object): string => JSON.stringify(value).replace(/</g, '\\u003c');
