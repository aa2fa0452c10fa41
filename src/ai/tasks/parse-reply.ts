import type { z } from 'zod';
import { messageOf } from '../../platform/zod-messages.ts';

/** A model's reply as read: a value, or its mistakes in words that the model can act on. */
export type ParsedReply<T> = { value: T } | { wrong: readonly string[] };

/** Parses and validates the text of a reply. */
export function parseReplyText<T>(text: string, task: { read(reply: unknown): ParsedReply<T> }): ParsedReply<T> {
  let reply: unknown;
  try {
    const json = withoutFence(text.trim());
    // Cleaning every string is slow and rarely needed.
    const isStorable = json.isWellFormed() && !json.includes('\\u');
    reply = !isStorable
      ? JSON.parse(json, (_key, value: unknown) => (typeof value === 'string' ? storable(value) : value))
      : JSON.parse(json);
  } catch {
    return { wrong: ['the reply is not JSON, or was cut off because it is too long'] };
  }
  return task.read(reply);
}

const fence = '```';

/** Some models wrap their JSON in a Markdown fence. */
function withoutFence(text: string): string {
  if (!text.startsWith(fence)) return text;
  const from = text.startsWith('json', fence.length) ? fence.length + 'json'.length : fence.length;
  return text.slice(from, text.endsWith(fence) ? -fence.length : undefined).trim();
}

/** Removes what PostgreSQL cannot store: NUL and unpaired surrogates. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/**
 * Validates a reply, or a part of one. Each mistake begins with its path; where the kind is wrong it names the kind
 * that was given.
 */
export function parseReply<T extends z.ZodType>(schema: T, reply: unknown): ParsedReply<z.output<T>> {
  const read = schema.safeParse(reply, {
    error: (issue) => messageOf(issue) + (issue.code === 'invalid_type' ? insteadOf(issue.expected, issue.input) : ''),
  });
  if (read.success) return { value: read.data };
  return {
    wrong: read.error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'the reply'}: ${message}`),
  };
}

const kinds: Readonly<Record<string, string>> = { string: 'a text', number: 'a number', boolean: 'true or false' };

/** Names the kind of a value; nothing where it is missing, or of the right kind (a number that is not whole). */
function insteadOf(expected: string, input: unknown): string {
  if (input === undefined || (expected === 'int' && typeof input === 'number')) return '';
  return `, not ${input === null ? 'null' : Array.isArray(input) ? 'a list' : (kinds[typeof input] ?? 'an object')}`;
}

/** The numbers that have several entries which differ: nobody can tell which of them is meant. */
export function contradictedNumbers(entries: readonly { n: number }[]): ReadonlySet<number> {
  const entryOf = new Map<number, string>();
  return new Set(
    entries.flatMap((entry) => {
      const text = JSON.stringify(entry);
      const before = entryOf.get(entry.n) ?? text;
      entryOf.set(entry.n, text);
      return before === text ? [] : [entry.n];
    }),
  );
}
