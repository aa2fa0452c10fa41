import { z } from 'zod';
import type { Finding } from '../errors.ts';
import type { QuestionType } from './questions/contract.ts';
import { otherValue } from './questions/contract.ts';
import { questionTypeNames, registry, type QuestionTypeName } from './questions/registry.ts';
import { visibleOptions, visibleRows, type MatrixRow, type Option, type Question } from './survey.ts';

const optionInput = z.strictObject({
  id: z.string().optional().describe('Of an existing option, when a question is changed'),
  text: z.string().trim().min(1).max(500),
  value: z.string().trim().min(1).max(200).optional().describe('Stored value; default: a slug of the text'),
});

const fields = {
  type: z.enum(questionTypeNames),
  text: z.string().trim().min(1).max(2000),
  description: z.string().max(5000).nullable(),
  isRequired: z.boolean(),
  order: z.number().int().min(0).max(10_000).describe('Zero-based place; default: last'),
  options: z.array(optionInput).max(200),
  settings: z.record(z.string(), z.unknown()).describe('Depends on the type; the rows of a MATRIX are `settings.rows`'),
};

/** Body of `POST …/questions`. */
export const newQuestionBody = z.strictObject(fields).partial().required({ type: true, text: true });
/** Body of `PUT …/questions/{id}`: any of the fields. */
export const questionChangeBody = z.strictObject(fields).partial().refine((body) => Object.keys(body).length > 0, 'name at least one field');

const rowsInput = z.array(optionInput).min(1).max(200);
type OptionInput = z.output<typeof optionInput>;

export type Defined = { question: Question } | { findings: Finding[] };
export type Changed = Defined | { hasResponses: string };

const noSlots = { codes: {}, numbers: {}, texts: {} };

/** Makes a question of what its author sent; its positions are still to be given out. */
export function defineQuestion(input: z.output<typeof newQuestionBody>, place: { id: string; surveyId: string; order: number; newId(): string }): Defined {
  const type = registry[input.type];
  const findings: Finding[] = [];
  const settings = readSettings(type, input.settings ?? {}, findings);
  const options = defineOptions(type, input.options, { existing: [], newId: place.newId, findings });
  const rows = settings.rows ? mergeOptions(settings.rows, { existing: [], newId: place.newId, findings, path: 'settings.rows' }) : [];
  if (findings.length > 0) return { findings };
  return {
    question: {
      id: place.id, surveyId: place.surveyId, type: input.type, text: input.text, description: input.description ?? null, isRequired: input.isRequired ?? false,
      order: place.order, options, rows, settings: settings.own, slots: noSlots, isHidden: false,
    },
  };
}

/**
 * Applies a change. Options and rows are matched by id, else by value; those left out are hidden. A question that has answers keeps its
 * type, the settings that stored codes depend on, and the values of its options.
 */
export function changeQuestion(question: Question, input: z.output<typeof questionChangeBody>, { hasAnswers, newId }: { hasAnswers: boolean; newId(): string }): Changed {
  const isRetyped = input.type !== undefined && input.type !== question.type;
  if (isRetyped) return hasAnswers ? { hasResponses: 'The question has answers and keeps its type' } : retype(question, input, newId);
  const type = registry[question.type];
  const findings: Finding[] = [];
  const settings = input.settings === undefined ? { own: question.settings, rows: undefined } : readSettings(type, { ...question.settings, ...input.settings }, findings, question.rows.length > 0);
  const options = input.options === undefined ? question.options : defineOptions(type, input.options, { existing: question.options, newId, findings });
  const rows = settings.rows === undefined ? question.rows : mergeOptions(settings.rows, { existing: question.rows, newId, findings, path: 'settings.rows' });
  if (findings.length > 0) return { findings };
  const changed: Question = {
    ...question, options, rows, settings: settings.own,
    text: input.text ?? question.text,
    description: input.description === undefined ? question.description : input.description,
    isRequired: input.isRequired ?? question.isRequired,
  };
  const broken = brokenMeaning(type, question, changed);
  if (broken === undefined) return { question: changed };
  return hasAnswers ? { hasResponses: broken } : { question: { ...changed, slots: noSlots } };
}

function retype(question: Question, input: z.output<typeof questionChangeBody>, newId: () => string): Defined {
  const type: QuestionTypeName = input.type ?? question.type;
  const takesOptions = registry[type].optionSource === 'author' || registry[type].optionSource === 'default';
  const kept = takesOptions && registry[question.type].optionSource === 'author' ? visibleOptions(question).map(({ text, value }) => ({ text, value })) : undefined;
  const options = input.options ?? kept;
  return defineQuestion(
    {
      type, text: input.text ?? question.text, description: input.description === undefined ? question.description : input.description,
      isRequired: input.isRequired ?? question.isRequired, settings: input.settings ?? {}, ...(options && { options }),
    },
    { id: question.id, surveyId: question.surveyId, order: question.order, newId },
  );
}

/** What a change would do to answers that are stored; undefined when nothing. */
function brokenMeaning(type: QuestionType, before: Question, after: Question): string | undefined {
  const setting = type.frozenSettings.find((name) => JSON.stringify(before.settings[name]) !== JSON.stringify(after.settings[name]));
  if (setting !== undefined) return `The question has answers and keeps its setting ${setting}`;
  const values = new Map([...before.options, ...before.rows].map(({ id, value }) => [id, value]));
  const moved = [...after.options, ...after.rows].find(({ id, value }) => values.has(id) && values.get(id) !== value);
  return moved === undefined ? undefined : `The question has answers and its option ${values.get(moved.id) ?? ''} keeps its value`;
}

function readSettings(type: QuestionType, given: Record<string, unknown>, findings: Finding[], hasRows = false): { own: Record<string, unknown>; rows: OptionInput[] | undefined } {
  const { rows: givenRows, ...rest } = given;
  const own = type.settings.safeParse(type.hasRows ? rest : given);
  if (!own.success) findings.push(...own.error.issues.flatMap((issue) => issueFindings(issue, 'settings')));
  let rows: OptionInput[] | undefined;
  if (type.hasRows && givenRows !== undefined) {
    const read = rowsInput.safeParse(givenRows);
    if (read.success) rows = read.data;
    else findings.push(...read.error.issues.flatMap((issue) => issueFindings(issue, 'settings.rows')));
  } else if (type.hasRows && !hasRows) findings.push({ path: 'settings.rows', message: 'at least one row is needed' });
  return { own: own.success ? own.data : {}, rows };
}

function issueFindings(issue: z.core.$ZodIssue, prefix: string): Finding[] {
  const path = [prefix, ...issue.path].join('.');
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ path: `${path}.${key}`, message: 'this setting is not known for the type' })) : [{ path, message: issue.message }];
}

interface MergeOptions {
  existing: readonly Option[];
  newId(): string;
  findings: Finding[];
  path?: string;
}

function defineOptions(type: QuestionType, given: readonly OptionInput[] | undefined, merge: MergeOptions): Option[] {
  if (type.optionSource === 'none') {
    if (given !== undefined && given.length > 0) merge.findings.push({ path: 'options', message: 'this type has no options' });
    return [];
  }
  if (type.optionSource === 'author' && (given === undefined || given.length === 0)) merge.findings.push({ path: 'options', message: 'at least one option is needed' });
  if (type.optionSource === 'fixed') return fixedOptions(type, given ?? [], merge);
  return mergeOptions(given && given.length > 0 ? given : (type.defaultOptions ?? []), merge);
}

/** The service's own options; the author may only word them anew. */
function fixedOptions(type: QuestionType, given: readonly OptionInput[], merge: MergeOptions): Option[] {
  const defaults = type.defaultOptions ?? [];
  const own = merge.existing.length > 0 ? [...merge.existing] : mergeOptions(defaults, merge);
  return own.map((option) => {
    const wording = given.find((item) => item.id === option.id || item.value === option.value || (item.value === undefined && slugOf(item.text) === option.value));
    return wording ? { ...option, text: wording.text } : option;
  }).map((option, index, all) => {
    const strays = given.filter((item) => !all.some((known) => item.id === known.id || item.value === known.value || (item.value === undefined && slugOf(item.text) === known.value)));
    if (index === 0 && strays.length > 0) merge.findings.push({ path: 'options', message: `this type has exactly the options ${defaults.map(({ value }) => value).join(' and ')}` });
    return option;
  });
}

/** Matches what was sent with what there is; the order sent is the order shown, what was left out is hidden. */
function mergeOptions(given: readonly OptionInput[], { existing, newId, findings, path = 'options' }: MergeOptions): Option[] {
  const taken = new Set(given.flatMap(({ value }) => value ?? []));
  const used = new Set<string>();
  const values = new Set<string>();
  let nextCode = Math.max(0, ...existing.map(({ code }) => code)) + 1;
  const merged = given.map((item, index): Option => {
    const known = existing.find((option) => option.id === item.id) ?? (item.id === undefined ? existing.find((option) => option.value === (item.value ?? slugOf(item.text)) && !used.has(option.id)) : undefined);
    if (item.id !== undefined && !known) findings.push({ path: `${path}.${index}.id`, message: 'is not an option of this question' });
    if (known && used.has(known.id)) findings.push({ path: `${path}.${index}.id`, message: 'is given twice' });
    const value = item.value ?? known?.value ?? uniqueSlug(item.text, new Set([...taken, ...values, ...existing.map((option) => option.value)]));
    if (values.has(value)) findings.push({ path: `${path}.${index}.value`, message: 'is given twice' });
    if (value === otherValue) findings.push({ path: `${path}.${index}.value`, message: 'is reserved' });
    values.add(value);
    if (!known) return { id: newId(), text: item.text, value, code: nextCode++, isHidden: false };
    used.add(known.id);
    return { ...known, text: item.text, value, isHidden: false };
  });
  return [...merged, ...existing.filter((option) => !used.has(option.id)).map((option) => ({ ...option, isHidden: true }))];
}

/** Letters and digits of every script in lower case, joined by hyphens. */
function slugOf(text: string): string {
  const slug = text.normalize('NFC').toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '').slice(0, 190);
  return slug === '' ? 'option' : slug;
}

function uniqueSlug(text: string, taken: ReadonlySet<string>): string {
  const slug = slugOf(text);
  let candidate = slug;
  for (let n = 2; taken.has(candidate); n += 1) candidate = `${slug}-${n}`;
  return candidate;
}

const shown = ({ id, text, value }: Option | MatrixRow) => ({ id, text, value });

/** A question as the interface shows it (contract §6). */
export function describeQuestion(question: Question) {
  return {
    id: question.id,
    surveyId: question.surveyId,
    type: question.type,
    text: question.text,
    description: question.description,
    isRequired: question.isRequired,
    order: question.order,
    options: visibleOptions(question).map(shown),
    settings: { ...question.settings, ...(question.rows.length > 0 && { rows: visibleRows(question).map(shown) }) },
  };
}
