import { z } from 'zod';
import { registry } from '../../domain/questions/registry.ts';
import { type QuestionTypeName, questionTypeNames } from '../../domain/questions/type-names.ts';
import {
  conditionInput as conditionSchema,
  optionsFromInput as optionsFromSchema,
  skipsInput as skipsSchema,
} from '../../domain/survey-paths/path-inputs.ts';
import { countSchema, idSchema } from './common.ts';

export const questionTypeSchema = z.enum(questionTypeNames).meta({
  id: 'QuestionType',
  description: 'The question type; see the table in the description of the Questions tag.',
});

/** Only in replies with `includeHidden`. */
const isHidden = z
  .literal(true)
  .optional()
  .describe('It was removed from the survey; only present with `includeHidden`, and only if true');

/** Path features of an option or row; each only if it is set. */
const itemPathFields = {
  visibleIf: conditionSchema.optional().describe('Shown to a respondent only if this holds'),
  isAnchored: z
    .literal(true)
    .optional()
    .describe('Keeps its place when the others are shuffled, and stays under `optionsFrom` without a counterpart'),
};

/** Path features of a question. */
const questionPathFields = {
  sectionId: idSchema.nullable().describe('Its section; null: before the first one'),
  isAnchored: z.boolean().describe('Keeps its place when the questions of its section are shuffled'),
  visibleIf: conditionSchema.nullable().describe('Asked only if this holds; null: always'),
  skips: skipsSchema,
  optionsFrom: optionsFromSchema.nullable(),
};

const pointSchema = z.number().int().optional().describe('LIKERT_SCALE: its point, where it is not its place from 1');

export const optionSchema = z
  .strictObject({
    id: idSchema,
    text: z.string().describe('The label'),
    value: z.string().describe('The stored value, unique in the question'),
    point: pointSchema,
    ...itemPathFields,
    isHidden,
  })
  .meta({ id: 'Option', description: 'An option of a question; answers name its `id`.' });

export const matrixRowSchema = z
  .strictObject({ id: idSchema, text: z.string(), value: z.string(), ...itemPathFields, isHidden })
  .meta({ id: 'MatrixRow', description: 'A row of a MATRIX; answers name its `id` as `rowId`.' });

export const questionReferenceSchema = z
  .strictObject({
    kind: z.enum(['visibleIf', 'skip', 'optionsFrom', 'text', 'closingText', 'quota']),
    sectionId: idSchema.optional().describe('The section that names it'),
    questionId: idSchema.optional().describe('The question that names it'),
    optionId: idSchema.optional().describe('The option of that question which names it'),
    rowId: idSchema.optional().describe('The row of that question which names it'),
    language: z.string().optional().describe('Of a text in a translation'),
    quotaId: idSchema.optional(),
    quotaName: z.string().optional(),
    field: z.string().describe('The path in what names it, such as `skips.0`'),
    path: z.string().describe('The path in the survey, such as `questions.ID.skips.0.if.questionId`'),
    message: z.string().describe('What would be wrong with it'),
  })
  .meta({
    id: 'QuestionReference',
    description: 'A place that names a question: one that names neither section nor question belongs to the survey.',
  });

export const sectionSchema = z
  .strictObject({
    id: idSchema,
    title: z.string().describe('May be empty'),
    description: z.string().nullable(),
    order: countSchema.describe('Zero-based place among the sections'),
    isShuffled: z
      .boolean()
      .describe('Whether its questions are shown in an order that follows from the id of the response'),
    isAnchored: z.boolean().describe('Keeps its place when the sections are shuffled'),
    visibleIf: conditionSchema.nullable().describe('Shown only if this holds; null: always'),
  })
  .meta({ id: 'Section', description: 'A page of a survey. Its questions name it as `sectionId`.' });

export const questionSettingsSchema = z.record(z.string(), z.unknown()).meta({
  id: 'QuestionSettings',
  description:
    'The settings depend on the type. Those with a default are always shown, others if they are set. The rows of a MATRIX are `rows`.',
});

const wordingFields = {
  id: idSchema,
  type: questionTypeSchema,
  text: z.string().describe('The wording'),
  description: z.string().nullable(),
  isRequired: z.boolean(),
  order: countSchema.describe('Zero-based place in the survey'),
  options: z.array(optionSchema).describe('In the order shown; empty for types without options'),
  settings: questionSettingsSchema,
};
const fields = { ...wordingFields, ...questionPathFields };

type TypedQuestion = { type: QuestionTypeName; settings: Record<string, unknown>; options: readonly unknown[] };

/** Checks settings and options against the definition of the question type. */
function checkTypeRules(
  { type, settings, options }: TypedQuestion,
  context: z.core.$RefinementCtx,
  rowSchema: z.ZodType = matrixRowSchema,
): void {
  const { rows, ...rest } = settings;
  const { hasRows, optionSource, settings: own } = registry[type];
  const report = (path: (string | number)[], message: string) =>
    void context.addIssue({ code: 'custom', path, message });
  if (!own.safeParse(hasRows ? rest : settings).success) report(['settings'], `these are no settings of ${type}`);
  if (hasRows && !z.array(rowSchema).min(1).safeParse(rows).success) report(['settings', 'rows'], 'must be rows');
  if (optionSource === 'none' && options.length > 0) report(['options'], `${type} has no options`);
  if (optionSource !== 'none' && options.length === 0) report(['options'], `${type} has options`);
}

export const questionSchema = z
  .strictObject({ ...fields, surveyId: idSchema, isHidden })
  .superRefine((question, context) => checkTypeRules(question, context))
  .meta({ id: 'Question', description: 'A question of a survey.' });

const labelSchema = z
  .strictObject({
    id: idSchema,
    text: z.string(),
    point: pointSchema,
    ...itemPathFields,
  })
  .meta({ id: 'Label', description: 'An option or row as a respondent sees it; answers name its `id`.' });

/** As `questionPathFields`, but only what is set. */
const publicPathFields = {
  sectionId: idSchema.optional().describe('Its section; left out: before the first one'),
  isAnchored: z.literal(true).optional().describe('Keeps its place when the questions of its section are shuffled'),
  visibleIf: conditionSchema.optional().describe('Asked only if this holds'),
  skips: skipsSchema.optional(),
  optionsFrom: z
    .strictObject({
      questionId: idSchema,
      which: z.enum(['selected', 'notSelected']),
      matches: z
        .array(z.strictObject({ optionId: idSchema, from: idSchema }))
        .describe('Each option (row, for a MATRIX) with the option of the earlier question that it stands for'),
    })
    .optional()
    .describe('Only the options (rows, for a MATRIX) that an earlier question leaves'),
};

const publicFields = { ...wordingFields, options: z.array(labelSchema) };

export const publicQuestionSchema = z
  .strictObject({
    ...publicFields,
    ...publicPathFields,
    fileKinds: z
      .string()
      .optional()
      .describe('FILE_UPLOAD: its `mimeTypes` as people know them, such as `PNG, PDF`; left out: it names none'),
  })
  .superRefine((question, context) => checkTypeRules(question, context, labelSchema))
  .meta({ id: 'PublicQuestion', description: 'A question as a respondent sees it.' });

export const publicSectionSchema = z
  .strictObject({
    id: idSchema,
    title: z.string().describe('May be empty'),
    description: z.string().nullable(),
    isShuffled: z.boolean(),
    isAnchored: z.boolean(),
    visibleIf: conditionSchema.nullable(),
  })
  .meta({ id: 'PublicSection', description: 'A page of a survey as a respondent sees it.' });

/** A question of a respondent's path: its options and rows are those that are offered, in the order shown. */
export const pathQuestionSchema = z
  .strictObject(publicFields)
  .superRefine((question, context) => checkTypeRules(question, context, labelSchema))
  .meta({ id: 'PathQuestion', description: 'A question on a path, with the options and rows that are offered.' });
