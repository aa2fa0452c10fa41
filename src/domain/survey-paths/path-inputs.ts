import { z } from 'zod';
import { canonicalLanguage, languageMessage } from '../language.ts';
import { type Condition, levelsAtMost, type OptionsFrom, type Skip } from '../path/definition.ts';
import { isPlainText } from '../questions/text-checks.ts';

/**
 * Request schemas of what an author sends about paths. They check the form alone; whether what is named exists, stands
 * earlier and fits is checked with the survey (`path-checks.ts`).
 */

export const leavesAtMost = 50;
const skipsAtMost = 50;
/** All options of a question, and "other". */
const optionIdsAtMost = 201;
const languagesAtMost = 100;
const maxIdLength = 100;
const maxKeyLength = 100;
const maxTextLength = 1000;

type Path = readonly (string | number)[];
type Report = (path: Path, message: string) => void;

const forms = ['all', 'any', 'not', 'questionId', 'metadata', 'invitation', 'language'] as const;
type Form = (typeof forms)[number];
const noForm = `must have one of ${forms.join(', ')}`;

const textOperators = ['equalsText', 'containsText', 'startsWithText'] as const;
const presenceOperators = ['answered', 'notAnswered'] as const;
const answerOperators = [
  ...presenceOperators,
  'isAnyOf',
  'isNoneOf',
  'includesAny',
  'includesAll',
  'includesNone',
  'countBetween',
  'rankedAtMost',
  'between',
  'equals',
  'notEquals',
  ...textOperators,
] as const;
type Operator = (typeof answerOperators)[number];

/** Fields of a leaf besides its operator and what it is about. */
const operands: Readonly<Record<Operator, readonly string[]>> = {
  answered: [],
  notAnswered: [],
  isAnyOf: ['optionIds'],
  isNoneOf: ['optionIds'],
  includesAny: ['optionIds'],
  includesAll: ['optionIds'],
  includesNone: ['optionIds'],
  countBetween: ['min', 'max'],
  rankedAtMost: ['optionId', 'rank'],
  between: ['min', 'max'],
  equals: ['value'],
  notEquals: ['value'],
  equalsText: ['value'],
  containsText: ['value'],
  startsWithText: ['value'],
};

/**
 * A condition, with canonical language tags and each option named once; issues name the exact field
 * (`all.1.optionIds`).
 */
export const conditionInput: z.ZodType<Condition, Condition> = checked<Condition>((value, report) => {
  const leaves = readCondition(value, [], 1, report);
  if (leaves > leavesAtMost) report([], `must have at most ${leavesAtMost} leaves`);
})
  .transform(canonical)
  .meta({
    id: 'Condition',
    description: `A condition on earlier answers, metadata, invitation or language: at most ${levelsAtMost} levels and ${leavesAtMost} leaves.`,
    ...conditionJsonSchema(),
  });

const idText = z.string().min(1).max(maxIdLength);

export const skipsInput = z
  .array(
    z.strictObject({
      if: conditionInput,
      to: idText.describe('Id of a later question or section, END or SCREEN_OUT'),
    }),
  )
  .max(skipsAtMost)
  .describe(
    'The first skip whose condition holds says where to go on, whether the question is answered or not',
  ) as z.ZodType<Skip[], Skip[]>;

export const optionsFromInput: z.ZodType<OptionsFrom, OptionsFrom> = z
  .strictObject({ questionId: idText, which: z.enum(['selected', 'notSelected']) })
  .describe(
    'Only options (rows, for a MATRIX) with the value of an option of an earlier question that was selected there, or shown and not selected',
  );

function checked<T>(check: (value: unknown, report: Report) => void): z.ZodType<T, T> {
  return z.unknown().superRefine((value, context) => {
    check(value, (path, message) => void context.addIssue({ code: 'custom', path: [...path], message }));
  }) as unknown as z.ZodType<T, T>;
}

/** Respondents have canonical tags, with which conditions compare theirs as they are. */
function canonical(condition: Condition): Condition {
  if ('all' in condition) return { all: condition.all.map(canonical) };
  if ('any' in condition) return { any: condition.any.map(canonical) };
  if ('not' in condition) return { not: canonical(condition.not) };
  if ('optionIds' in condition) return { ...condition, optionIds: [...new Set(condition.optionIds)] };
  if (!('language' in condition)) return condition;
  return { language: [...new Set(condition.language.map((tag) => canonicalLanguage(tag) ?? tag))] };
}

/** Number of leaves. Stops below the deepest level. */
function readCondition(value: unknown, path: Path, level: number, report: Report): number {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(path, value === undefined ? 'is needed' : `must be an object and ${noForm}`);
    return 0;
  }
  if (level > levelsAtMost) {
    report(path, `lies deeper than ${levelsAtMost} levels`);
    return 0;
  }
  const given = value as Record<string, unknown>;
  const form = forms.find((name) => given[name] !== undefined);
  if (!form) {
    report(path, noForm);
    return 0;
  }
  const below = (inner: unknown, ...further: Path) => readCondition(inner, [...path, ...further], level + 1, report);
  switch (form) {
    case 'all':
    case 'any':
      refuseOthers(given, [form], path, report);
      return readList(given[form], leavesAtMost, [...path, form], report).reduce<number>(
        (leaves, inner, index) => leaves + below(inner, form, index),
        0,
      );
    case 'not':
      refuseOthers(given, ['not'], path, report);
      return below(given['not'], 'not');
    case 'language':
      refuseOthers(given, ['language'], path, report);
      readLanguages(given['language'], [...path, 'language'], report);
      return 1;
    default:
      readLeaf(given, form, path, report);
      return 1;
  }
}

function readLeaf(
  given: Record<string, unknown>,
  form: Exclude<Form, 'all' | 'any' | 'not' | 'language'>,
  path: Path,
  report: Report,
): void {
  const isAnswer = form === 'questionId';
  readId(given[form], [...path, form], report, isAnswer ? maxIdLength : maxKeyLength);
  if (isAnswer && given['rowId'] !== undefined) readId(given['rowId'], [...path, 'rowId'], report);
  const allowed: readonly Operator[] = isAnswer ? answerOperators : [...presenceOperators, ...textOperators];
  const operator = allowed.find((name) => name === given['operator']);
  if (!operator) {
    const message = given['operator'] === undefined ? 'is needed' : `must be one of ${allowed.join(', ')}`;
    report([...path, 'operator'], message);
    return;
  }
  refuseOthers(given, [form, 'operator', ...(isAnswer ? ['rowId'] : []), ...operands[operator]], path, report);
  readOperands(given, operator, path, report);
}

function readOperands(given: Record<string, unknown>, operator: Operator, path: Path, report: Report): void {
  const at = (field: string): Path => [...path, field];
  switch (operator) {
    case 'answered':
    case 'notAnswered':
      break;
    case 'isAnyOf':
    case 'isNoneOf':
    case 'includesAny':
    case 'includesAll':
    case 'includesNone':
      readOptionIds(given['optionIds'], at('optionIds'), report);
      break;
    case 'countBetween':
      readEnds(given, path, report, countProblem);
      break;
    case 'between':
      readEnds(given, path, report, valueProblem);
      break;
    case 'rankedAtMost':
      readId(given['optionId'], at('optionId'), report);
      if (!isWhole(given['rank']) || given['rank'] < 1) report(at('rank'), 'must be a whole number from 1');
      break;
    case 'equals':
    case 'notEquals': {
      const problem = valueProblem(given['value']);
      if (problem !== undefined) report(at('value'), problem);
      break;
    }
    default:
      readText(given['value'], at('value'), report);
  }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

const countProblem = (end: unknown): string | undefined =>
  isWhole(end) && end >= 0 ? undefined : 'must be a whole number from 0';

const valueProblem = (value: unknown): string | undefined => {
  if (value === undefined) return 'is needed';
  const isFine =
    typeof value === 'string' ? value.length <= maxIdLength : typeof value === 'number' && Number.isFinite(value);
  return isFine ? undefined : 'must be a number, or a date or time of day';
};

function readEnds(
  given: Record<string, unknown>,
  path: Path,
  report: Report,
  problemOf: (end: unknown) => string | undefined,
): void {
  const { min, max } = given;
  if (min === undefined && max === undefined) report(path, 'needs min or max');
  let isFine = true;
  for (const [field, end] of Object.entries({ min, max })) {
    const problem = end === undefined ? undefined : problemOf(end);
    if (problem === undefined) continue;
    report([...path, field], problem);
    isFine = false;
  }
  if (!isFine || min === undefined || max === undefined) return;
  if (typeof min !== typeof max) report([...path, 'max'], 'must be of the same kind as min');
  else if (typeof min === 'number' && min > Number(max)) report([...path, 'max'], 'must not be below min');
}

/** The items; none if the list is not as it must be. */
function readList(value: unknown, itemsAtMost: number, path: Path, report: Report): readonly unknown[] {
  if (value === undefined) report(path, 'is needed');
  else if (!Array.isArray(value)) report(path, 'must be a list');
  else if (value.length === 0) report(path, 'must not be empty');
  else if (value.length > itemsAtMost) report(path, `must have at most ${itemsAtMost} items`);
  else return value;
  return [];
}

function readOptionIds(value: unknown, path: Path, report: Report): void {
  for (const [index, id] of readList(value, optionIdsAtMost, path, report).entries())
    readId(id, [...path, index], report);
}

function readLanguages(value: unknown, path: Path, report: Report): void {
  for (const [index, tag] of readList(value, languagesAtMost, path, report).entries())
    if (typeof tag !== 'string' || canonicalLanguage(tag) === undefined) report([...path, index], languageMessage);
}

function readId(value: unknown, path: Path, report: Report, longest = maxIdLength): void {
  if (value === undefined) report(path, 'is needed');
  else if (typeof value !== 'string') report(path, 'must be a text');
  else if (value === '' || value.length > longest || !isPlainText(value))
    report(path, `must have 1 to ${longest} characters`);
}

function readText(value: unknown, path: Path, report: Report): void {
  if (value === undefined) report(path, 'is needed');
  else if (typeof value !== 'string') report(path, 'must be a text');
  else if (value.trim() === '' || value.length > maxTextLength || !isPlainText(value))
    report(path, `must be a text of 1 to ${maxTextLength} characters`);
}

function refuseOthers(given: Record<string, unknown>, known: readonly string[], path: Path, report: Report): void {
  for (const key of Object.keys(given))
    if (!known.includes(key) && given[key] !== undefined)
      report([...path, key.slice(0, maxKeyLength)], 'this field is not known here');
}

/** The JSON Schema of a condition, for the reference: zod has none for a check of its own. */
function conditionJsonSchema(): Record<string, unknown> {
  const self = { $ref: '#/$defs/Condition' };
  const text = { type: 'string' };
  const object = (properties: Record<string, unknown>, optional: readonly string[] = []) => ({
    type: 'object',
    properties,
    required: Object.keys(properties).filter((key) => !optional.includes(key)),
    additionalProperties: false,
  });
  const list = (items: unknown, maxItems: number) => ({ type: 'array', items, minItems: 1, maxItems });
  const languages = {
    ...list(text, languagesAtMost),
    description: 'Tags of languages, which stand for their forms too: `de` for `de-AT`, `zh-Hant` for `zh-TW`',
  };
  const oneOf = (names: readonly string[]) => ({ type: 'string', enum: [...names] });
  const value = { anyOf: [{ type: 'number' }, text] };
  const about = { questionId: text, rowId: { ...text, description: 'Row of a MATRIX' } };
  const answerLeaf = (operators: readonly Operator[], properties: Record<string, unknown>, optional: string[] = []) =>
    object({ ...about, operator: oneOf(operators), ...properties }, ['rowId', ...optional]);
  const keyLeaf = (form: string) => [
    object({ [form]: text, operator: oneOf(presenceOperators) }),
    object({ [form]: text, operator: oneOf(textOperators), value: text }),
  ];
  return {
    anyOf: [
      object({ all: list(self, leavesAtMost) }),
      object({ any: list(self, leavesAtMost) }),
      object({ not: self }),
      answerLeaf(presenceOperators, {}),
      answerLeaf(['isAnyOf', 'isNoneOf', 'includesAny', 'includesAll', 'includesNone'], {
        optionIds: list(text, optionIdsAtMost),
      }),
      answerLeaf(['countBetween'], { min: { type: 'integer' }, max: { type: 'integer' } }, ['min', 'max']),
      answerLeaf(['rankedAtMost'], { optionId: text, rank: { type: 'integer', minimum: 1 } }),
      answerLeaf(['between'], { min: value, max: value }, ['min', 'max']),
      answerLeaf(['equals', 'notEquals'], { value }),
      answerLeaf(textOperators, { value: text }),
      ...keyLeaf('metadata'),
      ...keyLeaf('invitation'),
      object({ language: languages }),
    ],
  };
}
