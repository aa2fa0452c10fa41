/**
 * Canonical JSON of a body, independent of key order: the other fields first, then the answers, without white space and
 * each with `questionId` first. Most clients write answers like this, so the fast reader can reuse their bytes without
 * parsing. '' for a body with so many values that it was never accepted, and so is no repeat: anybody may send it.
 */
export function canonicalBody(body: unknown): string {
  if (hasTooManyValues(body)) return '';
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return canonical(body, 0);
  return canonicalBodyWith(body, canonical((body as { answers?: unknown }).answers, 1));
}

/** Canonical JSON of a body whose answers are given as canonical text; `body.answers` is ignored. */
export function canonicalBodyWith(body: object, answersText: string): string {
  const { answers, ...fields } = body as Readonly<Record<string, unknown>>;
  return canonical(fields, 0) + answersText;
}

/** Whether a parsed part of a body was already written in canonical form. */
export const isCanonical = (part: unknown, text: string): boolean => canonical(part, 0) === text;

/**
 * Canonical form of earlier versions, with all keys in code unit order; stored idempotency records still contain its
 * hash.
 */
export const legacyCanonicalBody = (body: unknown): string =>
  hasTooManyValues(body) ? '' : canonical(body, 0, byCodeUnits);

const maxDepth = 16;
const firstKey = 'questionId';

/** Cuts nesting deeper than 16, which is never valid, so that it cannot exhaust the stack. */
function canonical(value: unknown, depth: number, order = questionIdFirst): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (depth > maxDepth) return '…';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1, order)).join(',')}]`;
  const object = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(object)
    .sort(order)
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key], depth + 1, order)}`)
    .join(',')}}`;
}

function questionIdFirst(one: string, other: string): number {
  if (one === firstKey || other === firstKey) return one === firstKey ? -1 : 1;
  return byCodeUnits(one, other);
}

function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : 1;
}

/** An accepted answer takes some seventy bytes, so that the largest body has at most twelve thousand values. */
const maxValues = 20_000;
/** More than any object of an accepted body has. */
const maxFields = 100;

function hasTooManyValues(body: unknown): boolean {
  const open: unknown[] = [body];
  let values = 0;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    // Names are read in half the time of values, of which there may be tens of thousands.
    if (!Array.isArray(value) && Object.keys(value).length > maxFields) return true;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    values += inner.length;
    if (values > maxValues) return true;
    for (const item of inner) open.push(item);
  }
  return false;
}
