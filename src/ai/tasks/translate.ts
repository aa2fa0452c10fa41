import { z } from 'zod';
import { isPlainText } from '../../domain/questions/text-checks.ts';
import { placeholderDifferences } from '../../domain/translation/placeholders.ts';
import type { Untranslated } from '../../domain/translation/untranslated.ts';
import type { Task } from './ask.ts';
import { type ParsedReply, parseReply } from './parse-reply.ts';
import { translatePrompt, translateVersion } from './prompts/translate.ts';

export interface TranslateOptions {
  title: string;
  from: string;
  to: string;
}

const stringsReplySchema = z.object({
  strings: z.array(
    z.object({ n: z.number(), text: z.string().trim().min(1).refine(isPlainText, 'holds a NUL character') }),
  ),
});

/** Asks for a batch of strings in another language; gives their translations in the same order. */
export function translateTask(strings: readonly Untranslated[], { title, from, to }: TranslateOptions): Task<string[]> {
  return {
    name: 'translation',
    version: translateVersion,
    tier: 'high',
    system: translatePrompt,
    data: { survey: title, from, to, strings: strings.map(({ text }, index) => ({ n: index + 1, text })) },
    schema: z.strictObject({ strings: z.array(z.strictObject({ n: z.number().int(), text: z.string() })) }),
    read: (reply) => readStrings(reply, strings),
    // A character can be a token in scripts that the model knows little of.
    maxOutputTokens: 1000 + strings.reduce((sum, { text }) => sum + text.length * 2 + 20, 0),
  };
}

function readStrings(reply: unknown, strings: readonly Untranslated[]): ParsedReply<string[]> {
  const read = parseReply(stringsReplySchema, reply);
  if ('wrong' in read) return read;
  const byNumber = new Map(read.value.strings.map(({ n, text }) => [n, text]));
  const wrong = strings.flatMap((source, index) =>
    faultsOf(source, byNumber.get(index + 1)).map((fault) => `n ${index + 1}: ${fault}`),
  );
  return wrong.length > 0 ? { wrong } : { value: strings.map((_, index) => byNumber.get(index + 1) ?? '') };
}

function faultsOf({ text: source, maxLength }: Untranslated, text: string | undefined): string[] {
  if (text === undefined) return ['is missing'];
  if (text.length > maxLength) return [`is longer than ${maxLength} characters`];
  return placeholderDifferences(source, text).map(
    (placeholder) => `the placeholder ${placeholder} must stand there as often as in the source`,
  );
}
