import type { z } from 'zod';
import { messageOf } from '../../platform/zod-messages.ts';

/** What was made of a model's reply: a value, or what is wrong in words that the model can act on. */
export type ParsedReply<T> = { value: T } | { wrong: readonly string[] };

/** Holds a reply, or a part of one, against a schema. Each mistake begins with its place, and where the kind is wrong says of which kind it is. */
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

/** Nothing where a value is missing, or is of the kind and wrong in another way (a number that is not whole). */
function insteadOf(expected: string, input: unknown): string {
  if (input === undefined || (expected === 'int' && typeof input === 'number')) return '';
  return `, not ${input === null ? 'null' : Array.isArray(input) ? 'a list' : (kinds[typeof input] ?? 'an object')}`;
}
