import { z } from 'zod';
import { validationProblem } from '../errors.ts';
import { definedFields } from '../platform/defined-fields.ts';
import { parseUrl } from '../platform/parse-url.ts';
import { colorIssues } from './contrast.ts';
import { isPlainText, notPlainText } from './questions/text-checks.ts';

/** How the respondent's page shows a survey, and what follows after the last question. */

export const pageModes = ['SECTION', 'QUESTION'] as const;
/** What a page shows at once: a section or a question. */
export type PageMode = (typeof pageModes)[number];

/** A picture above the survey. Its bytes are stored apart; `hash` names them in their public address. */
export interface Logo {
  hash: string;
  width: number;
  height: number;
}

export interface Appearance {
  pageMode: PageMode;
  /** `#rrggbb`, of buttons, marks and focus; null: the page's own colour. */
  primaryColor: string | null;
  /** `#rrggbb`, behind the questions; null: the page's own colour. */
  backgroundColor: string | null;
  /** Shown when a response is complete; may have placeholders. */
  closingText: string | null;
  /** Where a respondent is sent after a complete response. */
  redirectUrl: string | null;
  /** Origins whose pages may show the survey in a frame; `*`: any. */
  allowedOrigins: readonly string[];
  logo: Logo | null;
}

export const defaultAppearance: Appearance = {
  pageMode: 'SECTION',
  primaryColor: null,
  backgroundColor: null,
  closingText: null,
  redirectUrl: null,
  allowedOrigins: [],
  logo: null,
};

const colorField = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1f5fbf')
  .transform((color) => color.toLowerCase())
  .nullable();

const maxUrlLength = 2000;

/** The address in its normal form; undefined unless it is http(s) and names neither user nor password. */
function webAddress(text: string): URL | undefined {
  const url = parseUrl(text);
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
}

/** `abort` in the fields below keeps an overlong text from being read as an address. */
const redirectField = z
  .string()
  .max(maxUrlLength, { abort: true })
  .refine((text) => (webAddress(text)?.href.length ?? Number.POSITIVE_INFINITY) <= maxUrlLength, {
    error: `must be an http or https address of at most ${maxUrlLength} characters without user and password`,
  })
  .transform((text) => webAddress(text)?.href ?? text)
  .nullable();

/** Only what can stand in a Content-Security-Policy as it is: other hosts could add sources or directives to it. */
const originPattern = /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/;

/** Scheme, host and port, as browsers write them; undefined if the text says more or less than an origin. */
function originOf(text: string): string | undefined {
  const url = webAddress(text);
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === '';
  return isBare && originPattern.test(url.origin) ? url.origin : undefined;
}

const originField = z
  .string()
  .max(300, { abort: true })
  .refine((text) => text === '*' || originOf(text) !== undefined, {
    error: 'must be an origin such as https://www.example.org, or *',
  })
  .transform((text) => originOf(text) ?? text);

const maxAllowedOrigins = 20;

/** `appearance` of a survey in the bodies of calls: each field replaces the former one. */
export const appearanceInput = z
  .strictObject({
    pageMode: z.enum(pageModes).describe('What a page shows at once: a section, the default, or a question'),
    primaryColor: colorField.describe('Buttons, marks and focus; the white text on it needs a contrast of 4.5:1'),
    backgroundColor: colorField.describe('Behind the questions; the dark texts on it need a contrast of 4.5:1'),
    closingText: z
      .string()
      .max(5000)
      .refine(isPlainText, notPlainText)
      .nullable()
      .describe('Shown when a response is complete; may have placeholders of all questions'),
    redirectUrl: redirectField.describe(
      'An http or https address to which a respondent is sent at the end of a complete response',
    ),
    allowedOrigins: z
      .array(originField)
      .max(maxAllowedOrigins)
      .transform((origins) => [...new Set(origins)])
      .refine((origins) => !origins.includes('*') || origins.length === 1, '* stands alone')
      .describe('Origins whose pages may embed the survey, such as `https://www.example.org`; `*` alone: any'),
  })
  .partial();

/** The appearance with the given fields. Throws VALIDATION_ERROR for colours without contrast. */
export function changedAppearance(
  current: Appearance | undefined,
  given: z.output<typeof appearanceInput>,
): Appearance {
  const next: Appearance = { ...defaultAppearance, ...current, ...definedFields(given) };
  const issues = colorIssues(next);
  if (issues.length > 0) throw validationProblem(issues);
  return next;
}

/** The directive of a Content-Security-Policy that says which pages may show the survey in a frame. */
export function frameAncestorsOf(allowedOrigins: readonly string[] = defaultAppearance.allowedOrigins): string {
  // The console of this host previews the page.
  return `frame-ancestors ${allowedOrigins.includes('*') ? '*' : ["'self'", ...allowedOrigins].join(' ')}`;
}
