import type { z } from 'zod';
import { type Option, type Question, visibleOptions } from '../survey.ts';
import type { questionChangeBody } from './question-definition.ts';
import { registry } from './registry.ts';

export const aspects = ['clarity', 'bias', 'length', 'engagement'] as const;
export type Aspect = (typeof aspects)[number];

/** A proposed wording. An option's `value` names the option to reword; null adds a new option. */
export interface Suggestion {
  aspect: Aspect;
  problem: string;
  text: string;
  options?: readonly { value: string | null; text: string }[] | undefined;
}

/** The parts of a question's wording that a suggestion can change. */
export interface QuestionWording {
  text: string;
  options: readonly { id: string; text: string }[];
}

/** The wording after an acceptance, and what the options that it removed had beside their wording. */
export interface AppliedWording extends QuestionWording {
  removed?: readonly Pick<Option, 'id' | 'visibleIf' | 'isAnchored'>[];
}

export function questionWording(question: Question): QuestionWording {
  return { text: question.text, options: visibleOptions(question).map(({ id, text }) => ({ id, text })) };
}

export function appliedWording(before: Question, after: Question): AppliedWording {
  const kept = new Set(visibleOptions(after).map(({ id }) => id));
  const removed = visibleOptions(before)
    .filter(({ id }) => !kept.has(id))
    .map(({ id, visibleIf, isAnchored }) => ({
      id,
      ...(visibleIf && { visibleIf }),
      ...(isAnchored && { isAnchored }),
    }));
  return { ...questionWording(after), removed };
}

export function isSameWording(one: QuestionWording, other: QuestionWording): boolean {
  const flat = ({ text, options }: QuestionWording) =>
    JSON.stringify([text, options.map((option) => [option.id, option.text])]);
  return flat(one) === flat(other);
}

type Change = z.output<typeof questionChangeBody>;

/** Converts a suggestion to the request body of a question change. */
export function changeFromSuggestion(
  question: Question,
  { text, options }: Pick<Suggestion, 'text' | 'options'>,
): Change {
  const known = new Map(visibleOptions(question).map((option) => [option.value, option]));
  return {
    text,
    ...(options && {
      options: options.map((option) => {
        const same = option.value === null ? undefined : known.get(option.value);
        return same ? { id: same.id, text: option.text, value: same.value } : { text: option.text };
      }),
    }),
  };
}

/** The change that restores an earlier wording; options added since become hidden. */
export function changeToWording({ text, options }: QuestionWording, removed: AppliedWording['removed'] = []): Change {
  const settings = new Map(removed.map((option) => [option.id, option]));
  return {
    text,
    ...(options.length > 0 && { options: options.map((option) => ({ ...option, ...settings.get(option.id) })) }),
  };
}

/** Whether the suggestion removes options. Answers may refer to them, so only an author may remove them. */
export function removesOptions(question: Question, { options }: Pick<Suggestion, 'options'>): boolean {
  return (
    options !== undefined &&
    visibleOptions(question).some(({ value }) => !options.some((option) => option.value === value))
  );
}

/**
 * Drops the parts of a suggestion that the type does not support or that change nothing; undefined if nothing is left.
 */
export function effectiveSuggestion(question: Question, given: Suggestion): Suggestion | undefined {
  const present = visibleOptions(question);
  const takesOptions =
    registry[question.type].optionSource !== 'none' && given.options !== undefined && given.options.length > 0;
  const values = new Set(present.map(({ value }) => value));
  const options = takesOptions
    ? given.options?.map(({ value, text }) => ({ value: value !== null && values.has(value) ? value : null, text }))
    : undefined;
  const isSame =
    options === undefined ||
    (options.length === present.length &&
      present.every(({ value, text }, index) => options[index]?.value === value && options[index]?.text === text));
  if (isSame && given.text === question.text) return undefined;
  const { options: _, ...rest } = given;
  return isSame ? rest : { ...rest, options };
}
