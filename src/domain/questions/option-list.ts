import { z } from 'zod';
import type { ValidationIssue } from '../../errors.ts';
import { composed } from '../../platform/composed-text.ts';
import type { Option } from '../survey.ts';
import { conditionInput } from '../survey-paths/path-inputs.ts';
import { otherValue, skippedValue } from './contract.ts';
import { isPlainText, notPlainText } from './text-checks.ts';

/** Schema of an author's wording: trimmed, not empty, no lone surrogates or NUL. `longest`: maximum UTF-16 units. */
export const wordingSchema = (longest: number) =>
  z.string().trim().min(1).max(longest).refine(isPlainText, notPlainText);

/** A row of a MATRIX as an author gives it. */
export const rowInput = z.strictObject({
  id: z.string().optional().describe('Of an existing option, when a question is changed'),
  text: wordingSchema(500),
  value: wordingSchema(200)
    .optional()
    .describe('Stored value; default: a slug of the text. `__other__`, `__skipped__` and `__proto__` are reserved'),
  visibleIf: conditionInput
    .nullable()
    .optional()
    .describe('Shown to a respondent only if this holds. Omitted: as before; null: always'),
  isAnchored: z
    .boolean()
    .optional()
    .describe(
      'Keeps its place when the others are shuffled, and stays under `optionsFrom` without a counterpart. Omitted: as before',
    ),
});

/** An option as an author gives it. */
export const optionInput = rowInput.extend({
  point: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      'LIKERT_SCALE: its point, as it is shown. An import reads by it what conditions name; otherwise it is not used, as points follow from the order',
    ),
});

export type OptionInput = z.output<typeof optionInput>;

export interface OptionMerge {
  existing: readonly Option[];
  newId(): string;
  issues: ValidationIssue[];
  /** Path prefix of the validation issues; default `options`. */
  path?: string;
}

/**
 * Values with another meaning in a distribution or a crosstab: the free "other" answer, those who skipped the question,
 * and JavaScript's `__proto__`.
 */
const reservedValues = new Set([otherValue, skippedValue, '__proto__']);
/** Maximum options of a question over its lifetime: hidden options keep their codes and columns. */
const maxCodes = 2000;

/**
 * Merges given options into existing ones, matched by id, else by value (default: a slug of the text). The given order
 * becomes the display order, omitted options become hidden at the end, new options get the next codes. Idempotent.
 */
export function mergeOptions(
  given: readonly OptionInput[],
  { existing, newId, issues, path = 'options' }: OptionMerge,
): Option[] {
  const report = (index: number, field: string, message: string) =>
    void issues.push({ path: `${path}.${index}.${field}`, message });
  const byId = new Map(existing.map((option) => [option.id, option]));
  const claimed = new Set(given.flatMap(({ id }) => id ?? []));
  const claimedValues = new Set([
    ...given.flatMap(({ value }) => value ?? []),
    ...existing.filter(({ id }) => claimed.has(id)).map(({ value }) => value),
  ]);
  const [usedIds, usedValues] = [new Set<string>(), new Set<string>()];
  let lastCode = Math.max(0, ...existing.map(({ code }) => code));
  const merged = given.map((item, index): Option => {
    const named = item.id === undefined ? undefined : byId.get(item.id);
    if (item.id !== undefined && !named) report(index, 'id', 'is not an option of this question');
    const value =
      item.value ?? named?.value ?? uniqueSlug(item.text, (slug) => claimedValues.has(slug) || usedValues.has(slug));
    const known =
      named ?? existing.find((option) => option.value === value && !claimed.has(option.id) && !usedIds.has(option.id));
    if (known && usedIds.has(known.id)) report(index, 'id', 'is given twice');
    if (usedValues.has(value)) report(index, 'value', 'is given twice');
    // An option keeps the value that it had before that was reserved.
    if (reservedValues.has(value) && known?.value !== value) report(index, 'value', 'is reserved');
    usedValues.add(value);
    if (known) usedIds.add(known.id);
    if (known) return withPathFields({ ...known, text: item.text, value, isHidden: false }, item);
    lastCode += 1;
    return withPathFields({ id: newId(), text: item.text, value, code: lastCode, isHidden: false }, item);
  });
  if (lastCode > maxCodes)
    issues.push({ path, message: `the question has had more than ${maxCodes} of them over time: make a new question` });
  return [...merged, ...existing.filter(({ id }) => !usedIds.has(id)).map(hidden)];
}

/** The option with the given condition and anchor; what is left out of `given` stays. */
function withPathFields(option: Option, given: Pick<OptionInput, 'visibleIf' | 'isAnchored'>): Option {
  const { visibleIf, isAnchored, ...rest } = option;
  const condition = given.visibleIf === undefined ? visibleIf : given.visibleIf;
  return {
    ...rest,
    ...(condition && { visibleIf: condition }),
    ...((given.isAnchored ?? isAnchored) && { isAnchored: true }),
  };
}

/** What is removed is shown under no condition any more; its code and point stay. */
const hidden = ({ visibleIf: _, isAnchored: __, ...option }: Option): Option => ({ ...option, isHidden: true });

/** The fixed option that is meant without an id: by its value, else by a slug of the text. */
export const fixedOptionOf = (
  fixedOptions: readonly Option[],
  { text, value }: Pick<OptionInput, 'text' | 'value'>,
): Option | undefined => fixedOptions.find((option) => option.value === (value ?? slugOf(text)));

/** Fixed options of a type with the author's wordings. Reports options that the type does not have. */
export function rewordOptions(
  fixedOptions: readonly Option[],
  given: readonly OptionInput[],
  issues: ValidationIssue[],
): Option[] {
  const wordings = new Map<string, OptionInput>();
  const unknownOptions = given.filter((item) => {
    const option =
      item.id === undefined
        ? fixedOptionOf(fixedOptions, item)
        : fixedOptions.find(({ id, value }) => id === item.id && (item.value ?? value) === value);
    if (!option || wordings.has(option.id)) return true;
    wordings.set(option.id, item);
    return false;
  });
  if (unknownOptions.length > 0)
    issues.push({
      path: 'options',
      message: `this type has exactly the options ${fixedOptions.map(({ value }) => value).join(' and ')}`,
    });
  return fixedOptions.map((option) => {
    const item = wordings.get(option.id);
    return item ? withPathFields({ ...option, text: item.text }, item) : option;
  });
}

const maxSlugLength = 190;

/** Lower-case letters and digits of any script, joined by hyphens; at most 190 characters. */
export function slugOf(text: string): string {
  const uncut = composed(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  // Slicing may split a surrogate pair.
  const slug = uncut.slice(0, maxSlugLength).replace(/^-|[-\ud800-\udbff]$/g, '');
  return slug === '' ? 'option' : slug;
}

function uniqueSlug(text: string, isTaken: (slug: string) => boolean): string {
  const slug = slugOf(text);
  let candidate = slug;
  for (let n = 2; isTaken(candidate); n += 1) candidate = `${slug}-${n}`;
  return candidate;
}
