/**
 * A body as JSON, written the same however its keys are ordered: the answers by themselves behind the other fields, as they are usually written: without
 * white space, and each with its question first. So nearly all of it is at hand where the answers need not be parsed.
 */
export function canonicalBody(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return canonical(body, 0);
  return canonicalBodyWith(body, canonical((body as { answers?: unknown }).answers, 1));
}

/** The same of a body whose answers are at hand as such a text, whatever they are in `body`. */
export function canonicalBodyWith(body: object, answersText: string): string {
  const { answers, ...fields } = body as Readonly<Record<string, unknown>>;
  return canonical(fields, 0) + answersText;
}

/** Whether what a part of a body was read from is the text that it counts as. */
export const isCanonical = (part: unknown, text: string): boolean => canonical(part, 0) === text;

/** As a former version wrote a body. */
export const legacyCanonicalBody = (body: unknown): string => canonical(body, 0, byCodeUnits);

const maxDepth = 16;
const firstKey = 'questionId';

/** Deeper nesting is never valid; cut off here, it cannot exhaust the stack either. */
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
