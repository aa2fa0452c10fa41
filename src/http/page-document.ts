import { createHash } from 'node:crypto';
import { type Appearance, frameAncestorsOf } from '../domain/appearance.ts';
import { createSemaphore } from '../platform/semaphore.ts';
import { createWorkerThread } from '../platform/worker-thread.ts';
import { escaped, type PageFrame, renderDocument } from './page-html.ts';
import type { PageState, PageSurvey } from './page-state.ts';
import { pageStyleOf } from './page-style.ts';
import type { PageRequest } from './page-worker.ts';
import type { Outcome } from './routing/route.ts';
import { acceptedEncoding, entryOf } from './web-files.ts';

export interface PageDocumentOptions {
  status: number;
  retryAfterSeconds?: number | undefined;
  /** How the survey wants to look; undefined: the page's own look. */
  appearance?: Appearance | undefined;
  /** Origins whose pages may show this one in a frame, besides the service's own; those of the appearance by default. */
  allowedOrigins?: readonly string[] | undefined;
  /** Calls of the page are allowed; false for a preview, from which nothing may leave. */
  mayCall?: boolean;
}

/** Characters up to which a page is made where the requests are: it takes some milliseconds. */
const maxSizeInline = 100_000;
/** Counted for the markup of a question, and of each option, row and cell of a MATRIX, in characters. */
const [questionMarkup, itemMarkup] = [500, 100];
/** Questions of which each point is a button. */
const [scales, scaleMarkup] = [new Set(['NPS', 'RATING_SCALE']), 2500];
/** Large pages that wait to be made; a respondent who finds so many is asked to come back in some seconds. */
const largePages = {
  // One is compressed while the next one is made.
  concurrency: 2,
  maxQueued: 30,
  retryAfterSeconds: 5,
  queueFullMessage: 'Too many pages are being made',
};

/**
 * The respondent's page as a document: it is readable without its script, which then goes on with the state that lies
 * beside it as JSON.
 */
export function createPageDocument() {
  const entry = entryOf('page');
  const turns = createSemaphore(largePages);
  const { run } = createWorkerThread<PageRequest, Uint8Array>({
    script: new URL('./page-worker.js', import.meta.url),
    name: 'The thread that makes pages',
    heartbeatTimeoutMs: 30_000,
  });
  const links = [
    ...entry.styles.map((file) => `<link rel="stylesheet" href="${file}">`),
    `<script type="module" src="${entry.script}"></script>`,
  ].join('');

  return {
    build: entry.script,
    async send(state: PageState, acceptEncoding: string | undefined, options: PageDocumentOptions): Promise<Outcome> {
      const { appearance, allowedOrigins = appearance?.allowedOrigins, mayCall = true } = options;
      const style = appearance ? pageStyleOf(appearance) : '';
      const encoding = acceptedEncoding(acceptEncoding);
      const frame: PageFrame = {
        head: `${links}${style === '' ? '' : `<style>${style}</style>`}`,
        // The colours behind the questions are made for dark text.
        isLight: appearance?.backgroundColor != null,
        encoding,
      };
      const bytes = isLarge(state)
        ? await turns.run(() => run({ state: JSON.stringify(state), frame }))
        : await renderDocument(state, frame);
      return {
        kind: 'bytes',
        status: options.status,
        bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        headers: [
          ['content-type', 'text/html; charset=utf-8'],
          ['cache-control', 'no-store'],
          ['vary', 'accept-encoding, accept-language'],
          ['referrer-policy', 'no-referrer'],
          ['content-security-policy', contentSecurityPolicy(style, allowedOrigins, mayCall)],
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
function contentSecurityPolicy(style: string, allowedOrigins: readonly string[] | undefined, mayCall: boolean): string {
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
    frameAncestorsOf(allowedOrigins),
  ].join('; ');
}

/** Whether its texts, with what placeholders may insert, and its conditions are too long for a page made inline. */
export function isLarge({ form }: PageState): boolean {
  if (!form) return false;
  const values = [form.metadata, form.invitation ?? {}].flatMap((given) => Object.values(given));
  const longestValue = Math.max(0, ...values.map((value) => escaped(value).length));
  let size = 0;
  for (const { text, markup, times, conditions } of pageParts(form.survey)) {
    const placeholders = text.split('{{').length - 1;
    size += times * (markup + escaped(text).length + placeholders * longestValue);
    if (conditions) size += JSON.stringify(conditions).length;
    if (size > maxSizeInline) return true;
  }
  return false;
}

interface PagePart {
  text: string;
  /** About how many characters of markup stand around the text. */
  markup: number;
  /** How often the text is shown. */
  times: number;
  /** They lie beside the page, for its script. */
  conditions?: object | null | undefined;
}

function* pageParts(survey: PageSurvey): Generator<PagePart> {
  yield { text: `${survey.title}${survey.description ?? ''}`, markup: 0, times: 1 };
  for (const { title, description, visibleIf } of survey.sections)
    yield { text: `${title}${description ?? ''}`, markup: 0, times: 1, conditions: visibleIf };
  for (const { type, text, description, options, settings, visibleIf, skips } of survey.questions) {
    const { rows = [] } = settings;
    const markup = scales.has(type) ? scaleMarkup : questionMarkup;
    yield { text: `${text}${description ?? ''}`, markup, times: 1, conditions: [visibleIf, skips] };
    for (const row of rows) yield { text: row.text ?? '', markup: itemMarkup, times: 1, conditions: row.visibleIf };
    // A MATRIX shows its options in each row.
    for (const option of options)
      yield { text: option.text, markup: itemMarkup, times: 1 + rows.length, conditions: option.visibleIf };
  }
}
