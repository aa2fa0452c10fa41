import { z } from 'zod';
import { defineQuestion, newQuestionBody } from '../../domain/questions/question-definition.ts';
import { registry } from '../../domain/questions/registry.ts';
import { questionTypeNames } from '../../domain/questions/type-names.ts';
import type { ProviderName } from '../../settings.ts';
import type { Task } from './ask.ts';
import { type ParsedReply, parseReply } from './parse-reply.ts';
import { generateSurveyPrompt, generateSurveyVersion } from './prompts/generate-survey.ts';

export type DraftQuestion = z.output<typeof newQuestionBody>;

export interface DraftSurvey {
  title: string;
  description: string | null;
  questions: DraftQuestion[];
}

/** What the model is asked for: flat, so that every provider's subset of JSON Schema can say it. */
export const questionReply = z.strictObject({
  type: z.enum(questionTypeNames),
  text: z.string(),
  description: z.string().nullable(),
  isRequired: z.boolean(),
  options: z.array(z.string()),
  rows: z.array(z.string()),
  min: z.number().nullable(),
  max: z.number().nullable(),
  step: z.number().nullable(),
});

const wording = z
  .union([z.string(), z.object({ text: z.string() }).transform(({ text }) => text)])
  .pipe(z.string().trim().min(1).max(500));

/** What is taken: what was asked for, and near misses whose meaning is plain. */
const readQuestion = z.object({
  type: z.enum(questionTypeNames),
  text: z.string().trim().min(1).max(2000),
  description: z.string().trim().max(5000).nullish(),
  isRequired: z.boolean().default(false),
  options: z.array(wording).max(200).nullish(),
  rows: z.array(wording).max(200).nullish(),
  min: z.number().nullish(),
  max: z.number().nullish(),
  step: z.number().nullish(),
  settings: z.record(z.string(), z.unknown()).nullish(),
});
const readSurvey = z.object({
  title: z.string().trim().min(1).max(300),
  description: z.string().trim().max(5000).nullish(),
  questions: z.array(readQuestion),
});

/** What a job gives: the draft, or the survey that was stored from it. */
export interface GeneratedSurvey {
  surveyId: string | null;
  draft: DraftSurvey | null;
  provider: ProviderName;
  model: string;
}

const generated = z.object({
  surveyId: z.string().nullable(),
  draft: z
    .object({ title: z.string(), description: z.string().nullable(), questions: z.array(newQuestionBody) })
    .nullable(),
  provider: z.enum(['openai', 'anthropic', 'gemini', 'azure']),
  model: z.string(),
});

/** Reads what a job has kept. */
export const readGenerated = (kept: unknown): GeneratedSurvey => generated.parse(kept);

const tokensPerQuestion = 300;

/** Asks for a survey with exactly `questionCount` questions, each of which the service would take from an author. */
export function generateSurveyTask(description: string, questionCount: number): Task<DraftSurvey> {
  return {
    name: 'survey',
    version: generateSurveyVersion,
    tier: 'high',
    system: generateSurveyPrompt(questionCount),
    data: { description, questionCount },
    schema: z.strictObject({
      title: z.string(),
      description: z.string().nullable(),
      questions: z.array(questionReply).min(questionCount).max(questionCount),
    }),
    read: (reply) => readDraft(reply, { atLeast: questionCount, atMost: questionCount }),
    maxOutputTokens: 2000 + questionCount * tokensPerQuestion,
  };
}

/** A draft with so many questions, each of which the service would take; what is over the most is left out. */
export function readDraft(
  reply: unknown,
  { atLeast, atMost }: { atLeast: number; atMost: number },
): ParsedReply<DraftSurvey> {
  const read = parseReply(readSurvey, reply);
  if ('wrong' in read) return read;
  const questions = read.value.questions.slice(0, atMost).map(toDraft);
  const wrong = questions.flatMap((question, index) =>
    issuesOf(question).map((finding) => `questions.${index}.${finding}`),
  );
  if (questions.length < atLeast)
    wrong.push(
      `questions: there must be ${atLeast === atMost ? 'exactly' : 'at least'} ${atLeast}, there are ${questions.length}`,
    );
  return wrong.length > 0
    ? { wrong }
    : { value: { title: read.value.title, description: read.value.description || null, questions } };
}

/** Leaves out what the type does not have. */
function toDraft({
  type,
  text,
  description,
  isRequired,
  options,
  rows,
  min,
  max,
  step,
  settings,
}: z.output<typeof readQuestion>): DraftQuestion {
  const { optionSource, hasRows } = registry[type];
  const takesOptions = optionSource === 'author' || (optionSource === 'default' && (options?.length ?? 0) > 1);
  const own = fittingSettings(type, { ...settings, min, max, step });
  const rowTexts = rows && rows.length > 0 ? rows : z.array(wording).catch([]).parse(settings?.['rows']);
  return {
    type,
    text,
    isRequired,
    ...(description && { description }),
    ...(takesOptions && { options: distinct(options ?? []) }),
    ...((hasRows || Object.keys(own).length > 0) && {
      settings: { ...own, ...(hasRows && { rows: distinct(rowTexts) }) },
    }),
  };
}

/** Of the settings that a model thought of, those that the type takes; none if they make no sense together. */
function fittingSettings(type: DraftQuestion['type'], given: Record<string, unknown>): Record<string, unknown> {
  const { rows: _, ...rest } = given;
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  const first = registry[type].settings.safeParse(said);
  if (first.success) return said;
  const faulty = new Set(
    first.error.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0])])),
  );
  const left = Object.fromEntries(Object.entries(said).filter(([key]) => !faulty.has(key)));
  return registry[type].settings.safeParse(left).success ? left : {};
}

function distinct(texts: readonly string[]): { text: string }[] {
  return [...new Set(texts)].map((text) => ({ text }));
}

function issuesOf(question: DraftQuestion): string[] {
  const defined = defineQuestion(question, { id: '', surveyId: '', order: 0, newId: () => '' });
  return 'issues' in defined ? defined.issues.map(({ path, message }) => `${path}: ${message}`) : [];
}
