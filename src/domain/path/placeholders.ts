import type { KeySubject } from './definition.ts';

/** Placeholders in texts: `{{question:ID}}`, `{{question:ID:row:ROWID}}`, `{{metadata:key}}`, `{{invitation:key}}`. */
export type Placeholder = { source: string; fallback: string } & PlaceholderSubject;

export type PlaceholderSubject =
  | { questionId: string; rowId?: string }
  | KeySubject
  /** Begins like a placeholder, but is none. */
  | { isMalformed: true };

const pattern = /\{\{\s*(question|metadata|invitation)\s*:([^{}|]*)(?:\|([^{}]*))?\}\}/g;

/** A text's parts in order: plain texts and placeholders. Other double braces are plain text. */
export function partsOf(text: string): (string | Placeholder)[] {
  if (!text.includes('{{')) return [text];
  const parts: (string | Placeholder)[] = [];
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    const [source, kind = '', body = '', fallback = ''] = match;
    parts.push(text.slice(last, match.index), { source, fallback, ...subjectOf(kind, body.trim()) });
    last = match.index + source.length;
  }
  return [...parts, text.slice(last)].filter((part) => part !== '');
}

export const placeholdersIn = (text: string): Placeholder[] =>
  partsOf(text).filter((part) => typeof part !== 'string') as Placeholder[];

/** A wording as it reads where nothing can be inserted: placeholders by what stands in for a missing value. */
export const readable = (text: string): string =>
  partsOf(text)
    .map((part) => (typeof part === 'string' ? part : part.fallback || '…'))
    .join('');

function subjectOf(kind: string, body: string): PlaceholderSubject {
  if (body === '') return { isMalformed: true };
  if (kind === 'metadata') return { metadata: body };
  if (kind === 'invitation') return { invitation: body };
  const [questionId = '', row, rowId, ...further] = body.split(':').map((part) => part.trim());
  if (questionId === '' || further.length > 0) return { isMalformed: true };
  if (row === undefined) return { questionId };
  return row === 'row' && rowId ? { questionId, rowId } : { isMalformed: true };
}
