import { z } from 'zod';
import { placeholdersApart } from '../domain/placeholders.ts';
import { changeQuestion } from '../domain/question-definition.ts';
import { aspects, changeOf, meaningful, type Suggestion } from '../domain/suggestion.ts';
import { visibleOptions, visibleRows, type Question } from '../domain/survey.ts';
import { optimiseQuestionPrompt, optimiseQuestionVersion } from './prompts/optimise-question.ts';
import { readBy, type ReplyReading } from './read-reply.ts';
import type { Task } from './structured.ts';

const suggestionReply = z.strictObject({
  aspect: z.enum(aspects), problem: z.string(), text: z.string(), options: z.array(z.strictObject({ value: z.string().nullable(), text: z.string() })),
});

const readable = z.object({
  suggestions: z.array(z.object({
    aspect: z.enum(aspects),
    problem: z.string().trim().min(1).max(1000),
    text: z.string().trim().min(1).max(2000),
    options: z.array(z.object({ value: z.string().nullish().transform((value) => value ?? null), text: z.string().trim().min(1).max(500) })).max(200).nullish(),
  })),
});

const suggestionsAtMost = 5;

/** Asks what could be better in a question. Every suggestion that comes back can be applied as it is; none is an answer too. */
export function optimiseQuestionTask(question: Question, survey: { title: string; language: string }): Task<Suggestion[]> {
  const { type, text, description } = question;
  const options = visibleOptions(question).map((option) => ({ value: option.value, text: option.text }));
  return {
    name: 'suggestions', version: optimiseQuestionVersion, tier: 'low', system: optimiseQuestionPrompt,
    data: { survey: survey.title, language: survey.language, question: { type, text, description, options, rows: visibleRows(question).map((row) => row.text) } },
    schema: z.strictObject({ suggestions: z.array(suggestionReply) }),
    read: (reply) => readSuggestions(reply, question),
    maxOutputTokens: 3000 + options.length * 200,
  };
}

function readSuggestions(reply: unknown, question: Question): ReplyReading<Suggestion[]> {
  const read = readBy(readable, reply);
  if ('wrong' in read) return read;
  const found = read.value.suggestions.slice(0, suggestionsAtMost).flatMap(({ options, ...rest }) => meaningful(question, { ...rest, options: options ?? undefined }) ?? []);
  const wrong = found.flatMap((suggestion, index) => faultsOf(question, suggestion).map((fault) => `suggestions.${index}.${fault}`));
  return wrong.length > 0 ? { wrong } : { value: found };
}

function faultsOf(question: Question, suggestion: Suggestion): string[] {
  const apart = placeholdersApart(question.text, suggestion.text).map((placeholder) => `text: the placeholder ${placeholder} must stand there as often as before`);
  const changed = changeQuestion(question, changeOf(question, suggestion), { hasAnswers: false, newId: () => '' });
  return [...apart, ...('findings' in changed ? changed.findings.map(({ path, message }) => `${path}: ${message}`) : [])];
}
