import { z } from 'zod';
import { answerKindOf } from '../../domain/path/answer-kinds.ts';
import type { Condition } from '../../domain/path/definition.ts';
import { type Question, type SurveyWithQuestions, visibleOptions } from '../../domain/survey.ts';
import { addSection, arranged } from '../../domain/survey-edits.ts';

/**
 * Sections and conditions of a draft. A draft has no ids yet, so both name questions by their zero-based places, and a
 * condition names options by their texts.
 */
export interface DraftPaths {
  sections?: { title: string; description: string | null; questions: number[] }[] | undefined;
  conditions?: { question: number; onlyIf: { question: number; options: string[] } }[] | undefined;
}

const place = z.number().int().min(0);

/** Schema of a draft's sections and conditions, as they are stored and shown. */
export const draftPathFields = {
  sections: z
    .array(z.strictObject({ title: z.string(), description: z.string().nullable(), questions: z.array(place) }))
    .optional()
    .describe('Only where the draft has sections; `questions` are zero-based places in the list of questions'),
  conditions: z
    .array(
      z.strictObject({
        question: place,
        onlyIf: z.strictObject({ question: place, options: z.array(z.string()) }),
      }),
    )
    .optional()
    .describe('Only where the draft has conditions: a question is asked if one of these options was chosen earlier'),
};

/** What the prompts of drafts say of them. */
export const draftPathPrompt = [
  'If the survey has parts, give "sections" in order, and name the section of each question in "section", zero-based; questions of a section stand side by side. Otherwise leave "sections" empty and "section" null.',
  'If a question makes sense only after certain answers to an earlier one that has options, name that question in "onlyIfQuestion", zero-based, and the texts of those options in "onlyIfOptions". Otherwise leave them null and empty.',
].join('\n');

/** Parts of the reply's schema; flat, because providers support only parts of JSON Schema. */
export const sectionsReply = z.array(z.strictObject({ title: z.string(), description: z.string().nullable() }));
export const questionPathReply = {
  section: z.number().int().nullable(),
  onlyIfQuestion: z.number().int().nullable(),
  onlyIfOptions: z.array(z.string()),
};

/** Accepts what the schema asks for; all of it may be missing. */
export const readSections = z
  .array(z.object({ title: z.string().trim().max(300), description: z.string().trim().max(5000).nullish() }))
  .max(30)
  .nullish();
export const readQuestionPath = {
  section: z.number().int().min(0).nullish(),
  onlyIfQuestion: z.number().int().min(0).nullish(),
  onlyIfOptions: z.array(z.string()).nullish(),
};

interface PathReply {
  sections?: z.output<typeof readSections>;
  questions: readonly { [Key in keyof typeof readQuestionPath]?: z.output<(typeof readQuestionPath)[Key]> }[];
}

/** Reads the sections and conditions of a reply; sections without questions are left out. `wrong`: what is wrong. */
export function readDraftPaths({ sections, questions }: PathReply): { paths: DraftPaths; wrong: string[] } {
  const wrong: string[] = [];
  const read = (sections ?? []).map(({ title, description }, index) => ({
    title,
    description: description || null,
    questions: questions.flatMap(({ section }, question) => (section === index ? [question] : [])),
  }));
  for (const [index, { section }] of questions.entries())
    if (section != null && section >= read.length) wrong.push(`questions.${index}.section: is not one of the sections`);
  const conditions = questions.flatMap(({ onlyIfQuestion, onlyIfOptions }, question) =>
    onlyIfQuestion == null ? [] : [{ question, onlyIf: { question: onlyIfQuestion, options: onlyIfOptions ?? [] } }],
  );
  const used = read.filter((section) => section.questions.length > 0);
  return {
    paths: { ...(used.length > 0 && { sections: used }), ...(conditions.length > 0 && { conditions }) },
    wrong,
  };
}

/**
 * The draft with the questions at these places only, in its order. Sections without questions go, and so do conditions
 * of or on other questions.
 */
export function selectQuestions<Draft extends DraftPaths & { questions: readonly unknown[] }>(
  { sections = [], conditions = [], ...draft }: Draft,
  places: readonly number[],
) {
  const kept = places.toSorted((one, other) => one - other);
  const placeOf = new Map(kept.map((place, index) => [place, index]));
  const moved = (place: number) => placeOf.get(place) ?? [];
  const keptSections = sections
    .map((section) => ({ ...section, questions: section.questions.flatMap(moved) }))
    .filter(({ questions }) => questions.length > 0);
  const keptConditions = conditions.flatMap(({ question, onlyIf }) => {
    const [at, source] = [placeOf.get(question), placeOf.get(onlyIf.question)];
    return at === undefined || source === undefined ? [] : [{ question: at, onlyIf: { ...onlyIf, question: source } }];
  });
  return {
    ...draft,
    questions: kept.flatMap((place) => draft.questions[place] ?? []) as Draft['questions'],
    ...(keptSections.length > 0 && { sections: keptSections }),
    ...(keptConditions.length > 0 && { conditions: keptConditions }),
  };
}

/** The survey of a draft with its sections and conditions. `questions` of the survey are in the draft's order. */
export function withDraftPaths(
  survey: SurveyWithQuestions,
  { sections = [], conditions = [] }: DraftPaths,
  newId: () => string,
): { survey: SurveyWithQuestions; wrong: string[] } {
  const wrong: string[] = [];
  let next = survey;
  let questions = [...survey.questions];
  for (const { title, description, questions: places } of sections) {
    const sectionId = newId();
    next = addSection(next, { title, description }, sectionId);
    questions = questions.map((question, index) => (places.includes(index) ? { ...question, sectionId } : question));
  }
  for (const { question: index, onlyIf } of conditions) {
    const visibleIf = conditionOf(survey.questions[onlyIf.question], onlyIf.options);
    if (typeof visibleIf === 'string') wrong.push(`questions.${index}.${visibleIf}`);
    else questions = questions.map((question, at) => (at === index ? { ...question, visibleIf } : question));
  }
  return { survey: arranged(next, questions), wrong };
}

/** The operator of "one of these options was chosen"; undefined for questions without options to choose. */
function operatorOf({ type }: Question): 'isAnyOf' | 'includesAny' | undefined {
  const kind = answerKindOf(type);
  if (kind === 'choices') return 'includesAny';
  return kind === 'choice' || kind === 'yesNo' || kind === 'points' ? 'isAnyOf' : undefined;
}

/** A string says what is wrong. */
function conditionOf(source: Question | undefined, texts: readonly string[]): Condition | string {
  const operator = source && operatorOf(source);
  if (!source || !operator) return 'onlyIfQuestion: must be an earlier question with options';
  const options = texts.map((text) => visibleOptions(source).find((option) => option.text === text)?.id);
  if (options.length === 0 || options.includes(undefined))
    return `onlyIfOptions: must be options of that question: ${visibleOptions(source)
      .map(({ text }) => text)
      .join(', ')}`;
  return { questionId: source.id, operator, optionIds: options.flatMap((id) => id ?? []) };
}
