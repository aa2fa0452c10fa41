import { z } from 'zod';
import { notFound, type ValidationIssue, validationProblem } from '../../errors.ts';
import { cutText } from '../../platform/cut-text.ts';
import { definedFields } from '../../platform/defined-fields.ts';
import { choosesOneOption } from '../path/answer-kinds.ts';
import type { Condition } from '../path/definition.ts';
import { maxDefinitionBytes } from '../questions/definition-size.ts';
import { wordingSchema } from '../questions/option-list.ts';
import { questionTypeNames } from '../questions/type-names.ts';
import { jsonBytes, refuseTooLarge } from '../size-limit.ts';
import { type Option, type Question, type SurveyWithQuestions, visibleOptions } from '../survey.ts';
import { checkElements } from '../survey-paths/path-checks.ts';
import { elementsOf } from '../survey-paths/path-elements.ts';
import { conditionInput } from '../survey-paths/path-inputs.ts';
import { type CellQuota, maxCellQuotas } from './cell-quota.ts';

const limitInput = z.number().int().min(0).max(1_000_000_000).describe('Number of responses that it takes');
const ruleFields = {
  counts: z
    .enum(['COMPLETED', 'STARTED'])
    .describe('COMPLETED (default): completed responses; STARTED: those that were saved in part too'),
  whenFull: z
    .enum(['OVER_QUOTA', 'CLOSE', 'COUNT_ONLY'])
    .describe(
      'OVER_QUOTA (default): further responses are stored with that outcome; CLOSE: the survey closes; COUNT_ONLY: nothing',
    ),
  isActive: z.boolean().describe('Whether it counts and limits; default true'),
};
const fields = {
  name: wordingSchema(200),
  limit: limitInput,
  where: conditionInput.describe('Which responses it counts; may name any question of the survey'),
  ...ruleFields,
};

export const newQuotaBody = z.strictObject(fields).partial().required({ name: true, limit: true, where: true });
export const quotaChangeBody = z
  .strictObject(fields)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field');

const optionIds = z.array(z.string()).min(1).max(3);
export const quotaGridBody = z
  .strictObject({
    questionIds: z
      .array(z.string())
      .min(1)
      .max(3)
      .describe('Questions with one choice: each combination of their options becomes a quota'),
    limit: limitInput.optional().describe('The same limit for each cell'),
    targets: z
      .array(
        z.strictObject({
          optionIds: optionIds.describe('One option of each question, in their order'),
          limit: limitInput,
        }),
      )
      .min(1)
      .max(maxCellQuotas)
      .optional()
      .describe('Cells with limits of their own; combinations that are not named get no quota'),
    ...ruleFields,
  })
  .partial({ counts: true, whenFull: true, isActive: true })
  .refine(({ limit, targets }) => (limit === undefined) !== (targets === undefined), 'give either limit or targets');

export const findQuota = (survey: SurveyWithQuestions, id: string): CellQuota => {
  const found = survey.quotas?.find((quota) => quota.id === id);
  if (!found) throw notFound('quota');
  return found;
};

type NewQuota = z.output<typeof newQuotaBody>;

/** Refuses conditions that name what is not there, or do not fit. */
function assertConditions(survey: SurveyWithQuestions, quotas: readonly CellQuota[]): void {
  const elements = elementsOf(survey, { quotas }).filter(({ place }) => place.kind === 'quota');
  const issues = checkElements(survey, elements).map(({ path, message }) => ({ path, message }));
  if (issues.length > 0) throw validationProblem(issues.slice(0, 20));
}

const conditionBytes = (quotas: readonly CellQuota[] = []): number => jsonBytes(quotas.map(({ where }) => where));

const conditionLimit = {
  part: 'the conditions of all quotas',
  maxBytes: maxDefinitionBytes,
  advice: 'shorter conditions, or fewer quotas',
};

/** The changed survey. Throws VALIDATION_ERROR if its conditions are too large together, unless they became smaller. */
function withQuotas(before: SurveyWithQuestions, quotas: readonly CellQuota[]): SurveyWithQuestions {
  refuseTooLarge(conditionLimit, { before: () => conditionBytes(before.quotas), bytes: conditionBytes(quotas) });
  return { ...before, quotas };
}

/** Adds quotas, each under the next code. Throws VALIDATION_ERROR beyond `maxCellQuotas`. */
export function addQuotas(
  survey: SurveyWithQuestions,
  given: readonly (NewQuota & { id: string })[],
): SurveyWithQuestions {
  const quotas = survey.quotas ?? [];
  if (quotas.length + given.length > maxCellQuotas)
    throw validationProblem([{ path: '', message: `a survey has at most ${maxCellQuotas} quotas` }]);
  const lastCode = survey.quotaCodes ?? 0;
  const added = given.map(
    ({ id, name, limit, where, counts, whenFull, isActive }, index): CellQuota => ({
      id,
      code: lastCode + index + 1,
      name,
      limit,
      where,
      counts: counts ?? 'COMPLETED',
      whenFull: whenFull ?? 'OVER_QUOTA',
      isActive: isActive ?? true,
      version: 1,
    }),
  );
  assertConditions(survey, added);
  return { ...withQuotas(survey, [...quotas, ...added]), quotaCodes: lastCode + given.length };
}

/** Changes a quota. If it then counts something else, or counts again, the stored responses are counted again. */
export function editQuota(
  survey: SurveyWithQuestions,
  id: string,
  change: z.output<typeof quotaChangeBody>,
): SurveyWithQuestions {
  const before = findQuota(survey, id);
  const after: CellQuota = { ...before, ...definedFields(change) };
  if (JSON.stringify(before.where) !== JSON.stringify(after.where)) assertConditions(survey, [after]);
  const isCountedAgain =
    JSON.stringify([before.where, before.counts]) !== JSON.stringify([after.where, after.counts]) ||
    (after.isActive && !before.isActive);
  const changed = { ...after, version: before.version + (isCountedAgain ? 1 : 0) };
  return withQuotas(
    survey,
    (survey.quotas ?? []).map((quota) => (quota.id === id ? changed : quota)),
  );
}

export function removeQuota(survey: SurveyWithQuestions, id: string): SurveyWithQuestions {
  const { id: removedId } = findQuota(survey, id);
  return { ...survey, quotas: (survey.quotas ?? []).filter((quota) => quota.id !== removedId) };
}

const oneChoiceTypes = questionTypeNames.filter(choosesOneOption);

/** The interlocked cells of one to three questions, named by the wording of their options. */
export function gridQuotas(
  survey: SurveyWithQuestions,
  { questionIds, limit, targets, ...rules }: z.output<typeof quotaGridBody>,
): NewQuota[] {
  const issues: ValidationIssue[] = [];
  if (new Set(questionIds).size < questionIds.length)
    issues.push({ path: 'questionIds', message: 'names a question twice' });
  const known = questionIds.flatMap((id, index) => {
    const question = survey.questions.find((other) => other.id === id && !other.isHidden);
    if (!question) issues.push({ path: `questionIds.${index}`, message: 'is not a question of this survey' });
    else if (!choosesOneOption(question.type))
      issues.push({ path: `questionIds.${index}`, message: `must be one of ${oneChoiceTypes.join(', ')}` });
    return question ?? [];
  });
  if (issues.length > 0) throw validationProblem(issues);
  const cells = targets ? targetCells(known, targets) : combinations(known).map((options) => ({ options, limit }));
  return cells.map((cell) => ({
    ...rules,
    name: cell.options.map(({ text }) => cutText(text, 60)).join(' × '),
    limit: cell.limit ?? 0,
    where: whereOf(known, cell.options),
  }));
}

const whereOf = (questions: readonly Question[], options: readonly Option[]): Condition => ({
  all: questions.map(({ id }, index) => ({
    questionId: id,
    operator: 'isAnyOf',
    optionIds: [options[index]?.id ?? ''],
  })),
});

/** Throws VALIDATION_ERROR above `maxCellQuotas`, before any is made: three questions may have millions. */
function combinations(questions: readonly Question[]): Option[][] {
  const choices = questions.map(visibleOptions);
  const count = choices.reduce((product, { length }) => product * length, 1);
  if (count > maxCellQuotas)
    throw validationProblem([{ path: 'questionIds', message: `make ${count} cells, at most ${maxCellQuotas}` }]);
  return choices.reduce<Option[][]>(
    (cells, options) => cells.flatMap((cell) => options.map((option) => [...cell, option])),
    [[]],
  );
}

function targetCells(
  questions: readonly Question[],
  targets: NonNullable<z.output<typeof quotaGridBody>['targets']>,
): { options: Option[]; limit: number }[] {
  const issues: ValidationIssue[] = [];
  const cells = targets.map((target, index) => {
    if (target.optionIds.length !== questions.length)
      issues.push({ path: `targets.${index}.optionIds`, message: 'must name one option of each question' });
    const options = questions.flatMap((question, place) => {
      const option = visibleOptions(question).find(({ id }) => id === target.optionIds[place]);
      if (!option)
        issues.push({ path: `targets.${index}.optionIds.${place}`, message: 'is not an option of its question' });
      return option ?? [];
    });
    return { options, limit: target.limit };
  });
  const names = cells.map(({ options }) => options.map(({ id }) => id).join(' '));
  names.forEach((name, index) => {
    if (names.indexOf(name) < index) issues.push({ path: `targets.${index}`, message: 'names a cell twice' });
  });
  if (issues.length > 0) throw validationProblem(issues.slice(0, 20));
  return cells;
}
