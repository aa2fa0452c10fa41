import { z } from 'zod';
import type { ValidationIssue } from '../../errors.ts';
import { boundedRecord } from '../../platform/bounded-record.ts';
import { validate } from '../../platform/zod-messages.ts';
import { type MatrixRow, type Option, type Question, visibleOptions, visibleRows } from '../survey.ts';
import { conditionInput, optionsFromInput, skipsInput } from '../survey-paths/path-inputs.ts';
import type { QuestionType } from './contract.ts';
import {
  mergeOptions,
  type OptionInput,
  type OptionMerge,
  optionInput,
  rewordOptions,
  rowInput,
  wordingSchema,
} from './option-list.ts';
import { freePoints, keepPoints, shownPoints } from './ordered-options.ts';
import { registry } from './registry.ts';
import { noSlots } from './slot-allocation.ts';
import { isPlainText, notPlainText } from './text-checks.ts';
import { type QuestionTypeName, questionTypeNames } from './type-names.ts';

/** No type has more than a dozen settings. */
const settingsInput = boundedRecord(z.string(), z.unknown(), { maxProperties: 50, noun: 'settings' });
/** Request schema: settings of a new question. */
export const newSettings = settingsInput.describe('Depends on the type; the rows of a MATRIX are `settings.rows`');
/** Request schema: settings of a changed question. */
export const changedSettings = settingsInput.describe(
  'Omitted settings stay unchanged; with another type those that mean the same in both and were no defaults (a scale as a whole), unless it cannot have them together; null resets a setting to its default',
);

const fields = {
  type: z.enum(questionTypeNames),
  text: wordingSchema(2000),
  description: z.string().max(5000).refine(isPlainText, notPlainText).nullable(),
  isRequired: z.boolean(),
  order: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .describe('Zero-based position; default, and for positions past the end: last'),
  options: z.array(optionInput).max(200),
  settings: newSettings,
  sectionId: z.string().max(200).nullable().describe('Its section; null, the default: before the first one'),
  isAnchored: z.boolean().describe('Keeps its place when the questions of its section are shuffled; default: false'),
  visibleIf: conditionInput.nullable().describe('Asked only if this holds; null, the default: always'),
  skips: skipsInput,
  optionsFrom: optionsFromInput
    .nullable()
    .describe('Only the options (rows, for a MATRIX) that an earlier question leaves; null, the default: all'),
};

/** Body of `POST …/questions`. */
export const newQuestionBody = z.strictObject(fields).partial().required({ type: true, text: true });
/** Body of `PUT …/questions/{id}`: any of the fields. */
export const questionChangeBody = z
  .strictObject({ ...fields, settings: changedSettings })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field');

const rowsInput = z.array(rowInput).min(1).max(200);

export type DefinitionResult = { question: Question } | { issues: ValidationIssue[] };
export type ChangeResult = DefinitionResult | { hasResponses: string };

/**
 * Creates a question from an author's input, with generated option ids; `allocateSlots` must still assign its
 * positions.
 */
export function defineQuestion(
  input: z.output<typeof newQuestionBody>,
  place: { id: string; surveyId: string; order: number; newId(): string },
): DefinitionResult {
  const type = registry[input.type];
  const issues: ValidationIssue[] = [];
  const settings = readQuestionSettings(type, input.settings ?? {}, issues);
  const options = defineOptions(type, input.options, { existing: [], newId: place.newId, issues });
  const rows = settings.rows
    ? mergeOptions(settings.rows, { existing: [], newId: place.newId, issues, path: 'settings.rows' })
    : [];
  const question: Question = {
    id: place.id,
    surveyId: place.surveyId,
    type: input.type,
    text: input.text,
    description: input.description ?? null,
    isRequired: input.isRequired ?? false,
    order: place.order,
    options,
    rows,
    settings: settings.own,
    slots: noSlots,
    isHidden: false,
  };
  return checkDefinition(withPathFields(question, input), issues);
}

type PathFields = Pick<
  z.output<typeof questionChangeBody>,
  'sectionId' | 'isAnchored' | 'visibleIf' | 'skips' | 'optionsFrom'
>;

/** The question with the given section, conditions and skips; what is left out of `given` stays. */
function withPathFields(question: Question, given: PathFields): Question {
  const { sectionId, isAnchored, visibleIf, skips, optionsFrom, ...rest } = question;
  const either = <T>(value: T | null | undefined, before: T | undefined) => (value === undefined ? before : value);
  const next = {
    sectionId: either(given.sectionId, sectionId),
    isAnchored: given.isAnchored ?? isAnchored,
    visibleIf: either(given.visibleIf, visibleIf),
    skips: given.skips ?? skips,
    optionsFrom: either(given.optionsFrom, optionsFrom),
  };
  return {
    ...rest,
    ...(next.sectionId && { sectionId: next.sectionId }),
    ...(next.isAnchored && { isAnchored: true }),
    ...(next.visibleIf && { visibleIf: next.visibleIf }),
    ...(next.skips?.length && { skips: next.skips }),
    ...(next.optionsFrom && { optionsFrom: next.optionsFrom }),
  };
}

/** Checks settings and options together, if each is valid by itself. */
function checkDefinition(question: Question, issues: ValidationIssue[]): DefinitionResult {
  const problem = issues.length === 0 ? registry[question.type].definitionIssue?.(question) : undefined;
  if (problem) issues.push(problem);
  return issues.length > 0 ? { issues } : { question };
}

/**
 * Applies a change. Options and rows are matched by id, else by value; omitted ones become hidden. Once a question has
 * answers, its type, the settings that stored codes depend on, its option values and its scale points cannot change
 * (`hasResponses`: why).
 */
export function changeQuestion(
  question: Question,
  input: z.output<typeof questionChangeBody>,
  { hasAnswers, newId }: { hasAnswers: boolean; newId(): string },
): ChangeResult {
  const isRetyped = input.type !== undefined && input.type !== question.type;
  if (isRetyped)
    return hasAnswers
      ? { hasResponses: 'The question has answers and keeps its type' }
      : changeType(question, input, newId);
  const type = registry[question.type];
  const issues: ValidationIssue[] = [];
  const settings =
    input.settings === undefined
      ? { own: question.settings, rows: undefined }
      : readQuestionSettings(type, mergeSettings(question.settings, input.settings), issues, question.rows.length > 0);
  const options =
    input.options === undefined
      ? question.options
      : defineOptions(type, input.options, { existing: question.options, newId, issues });
  const rows =
    settings.rows === undefined
      ? question.rows
      : mergeOptions(settings.rows, { existing: question.rows, newId, issues, path: 'settings.rows' });
  const scale = type.isOrdered && input.options !== undefined ? scaleOptions(question, options, hasAnswers) : options;
  const changed: Question = {
    ...withPathFields(question, input),
    options: scale ?? options,
    rows,
    settings: settings.own,
    text: input.text ?? question.text,
    description: input.description === undefined ? question.description : input.description,
    isRequired: input.isRequired ?? question.isRequired,
  };
  const defined = checkDefinition(changed, issues);
  if ('issues' in defined) return defined;
  if (!scale)
    return {
      hasResponses:
        'The question has answers, and the order of its options is its scale: they keep their order, and new ones go last',
    };
  const broken = brokenMeaning(type, question, changed);
  if (broken === undefined) return defined;
  return hasAnswers ? { hasResponses: broken } : { question: { ...changed, slots: noSlots } };
}

/** Assigns points to the options of a scale. Undefined if the edit would move stored answers to other points. */
function scaleOptions(
  question: Question,
  edited: readonly Option[],
  hasAnswers: boolean,
): readonly Option[] | undefined {
  if (!hasAnswers) return freePoints(edited);
  return JSON.stringify(edited) === JSON.stringify(question.options) ? edited : keepPoints(question, edited);
}

/** Merges given settings into the present ones; null removes a setting, so its default applies again. */
function mergeSettings(
  present: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...present, ...given }).filter(([, value]) => value !== null));
}

function changeType(
  question: Question,
  input: z.output<typeof questionChangeBody>,
  newId: () => string,
): DefinitionResult {
  const type: QuestionTypeName = input.type ?? question.type;
  const takesOptions = registry[type].optionSource === 'author' || registry[type].optionSource === 'default';
  const keptOptions =
    takesOptions && registry[question.type].optionSource === 'author'
      ? visibleOptions(question).map(({ text, value, visibleIf, isAnchored }) => ({
          text,
          value,
          visibleIf,
          isAnchored,
        }))
      : undefined;
  const options = input.options ?? keptOptions;
  const defineWith = (settings: Record<string, unknown>) =>
    defineQuestion(
      {
        type,
        text: input.text ?? question.text,
        description: input.description === undefined ? question.description : input.description,
        isRequired: input.isRequired ?? question.isRequired,
        settings: mergeSettings(settings, input.settings ?? {}),
        ...(options && { options }),
      },
      { id: question.id, surveyId: question.surveyId, order: question.order, newId },
    );
  const withKept = defineWith(keptSettings(question, registry[type]));
  // Nothing is refused for a setting that the author gave to the former type.
  const defined = 'issues' in withKept ? defineWith({}) : withKept;
  if ('issues' in defined) return defined;
  return { question: withPathFields({ ...question, ...defined.question }, input) };
}

/**
 * The settings of a question that mean the same in another type, but for defaults. Those that stored codes depend on, as
 * the range of a scale, are no limits of answers, as those of a NUMBER, and are kept all together or not at all.
 */
function keptSettings({ type: former, settings }: Question, next: QuestionType): Record<string, unknown> {
  const { settings: schema, frozenSettings: frozen } = registry[former];
  const defaults = schema.safeParse({}).data ?? {};
  const isDefault = (name: string) => JSON.stringify(settings[name]) === JSON.stringify(defaults[name]);
  const isFrozenKept = !frozen.every(isDefault);
  const kept = Object.entries(settings).filter(
    ([name]) =>
      next.frozenSettings.includes(name) === frozen.includes(name) &&
      (frozen.includes(name) ? isFrozenKept : !isDefault(name)),
  );
  const wrong = next.settings
    .safeParse(Object.fromEntries(kept))
    .error?.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0])]));
  return Object.fromEntries(kept.filter(([name]) => !wrong?.includes(name)));
}

/** Error message if a change would alter the meaning of stored answers; undefined if it would not. */
function brokenMeaning(type: QuestionType, before: Question, after: Question): string | undefined {
  const setting = type.frozenSettings.find(
    (name) => JSON.stringify(before.settings[name]) !== JSON.stringify(after.settings[name]),
  );
  if (setting !== undefined) return `The question has answers and keeps its setting ${setting}`;
  const values = new Map([...before.options, ...before.rows].map(({ id, value }) => [id, value]));
  const changed = [...after.options, ...after.rows].find(({ id, value }) => values.has(id) && values.get(id) !== value);
  return changed && `The question has answers and its option ${values.get(changed.id) ?? ''} keeps its value`;
}

function readQuestionSettings(
  type: QuestionType,
  given: Record<string, unknown>,
  issues: ValidationIssue[],
  hasRows = false,
): { own: Record<string, unknown>; rows: OptionInput[] | undefined } {
  const { rows: givenRows, ...rest } = given;
  const own = validate(type.settings, type.hasRows ? rest : given, {
    prefix: 'settings',
    unknownField: 'this setting is not known for the type',
  });
  if (!own.isValid) issues.push(...own.issues);
  let rows: OptionInput[] | undefined;
  if (type.hasRows && givenRows !== undefined) {
    const read = validate(rowsInput, givenRows, { prefix: 'settings.rows' });
    if (read.isValid) rows = read.data;
    else issues.push(...read.issues);
  } else if (type.hasRows && !hasRows) issues.push({ path: 'settings.rows', message: 'at least one row is needed' });
  return { own: own.isValid ? own.data : {}, rows };
}

function defineOptions(type: QuestionType, given: readonly OptionInput[] | undefined, merge: OptionMerge): Option[] {
  const defaults = type.defaultOptions ?? [];
  switch (type.optionSource) {
    case 'none':
      if (given !== undefined && given.length > 0)
        merge.issues.push({ path: 'options', message: 'this type has no options' });
      return [];
    case 'fixed':
      return rewordOptions(
        merge.existing.length > 0 ? merge.existing : mergeOptions(defaults, merge),
        given ?? [],
        merge.issues,
      );
    case 'author':
      if (given === undefined || given.length === 0)
        merge.issues.push({ path: 'options', message: 'at least one option is needed' });
      return mergeOptions(given ?? [], merge);
    case 'default':
      return mergeOptions(given !== undefined && given.length > 0 ? given : defaults, merge);
  }
}

const describeItem = ({ id, text, value, visibleIf, isAnchored }: Option | MatrixRow) => ({
  id,
  text,
  value,
  ...(visibleIf && { visibleIf }),
  ...(isAnchored && { isAnchored }),
});

const describeItemWithHidden = (item: Option | MatrixRow) => ({
  ...describeItem(item),
  ...(item.isHidden && { isHidden: true as const }),
});

/** Options of a question with their points, where these are not simply 1, 2, 3 … */
function withPoints<Described>(
  question: Question,
  options: readonly Option[],
  describe: (option: Option) => Described,
) {
  const points = shownPoints(question);
  return options.map((option) => {
    const point = points.get(option.code);
    return { ...describe(option), ...(point !== undefined && { point }) };
  });
}

/** As `describeQuestion`, with hidden options and rows and the question itself marked `isHidden` if it was deleted. */
export function describeWithHidden(question: Question) {
  const { settings, ...described } = describeQuestion(question);
  return {
    ...described,
    options: withPoints(question, question.options, describeItemWithHidden),
    settings: { ...settings, ...(question.rows.length > 0 && { rows: question.rows.map(describeItemWithHidden) }) },
    ...(question.isHidden && { isHidden: true as const }),
  };
}

/** The API representation of a question (contract §6). */
export function describeQuestion(question: Question) {
  return {
    id: question.id,
    surveyId: question.surveyId,
    type: question.type,
    text: question.text,
    description: question.description,
    isRequired: question.isRequired,
    order: question.order,
    options: withPoints(question, visibleOptions(question), describeItem),
    settings: {
      ...question.settings,
      ...(question.rows.length > 0 && { rows: visibleRows(question).map(describeItem) }),
    },
    sectionId: question.sectionId ?? null,
    isAnchored: question.isAnchored ?? false,
    visibleIf: question.visibleIf ?? null,
    skips: question.skips ?? [],
    optionsFrom: question.optionsFrom ?? null,
  };
}
