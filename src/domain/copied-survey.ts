import { validationProblem } from '../errors.ts';
import { cutText } from '../platform/cut-text.ts';
import type { SlicedWork } from '../platform/slices.ts';
import { blankSurvey } from './blank-survey.ts';
import {
  appearanceWithNewIds,
  conditionWithNewIds,
  type NewIds,
  type NewNames,
  questionWithNewIds,
  sectionWithNewIds,
} from './new-ids.ts';
import { withNewPositions } from './new-positions.ts';
import { freePoints, openPoints, shownPoints } from './questions/ordered-options.ts';
import {
  type Option,
  type Question,
  type SurveyWithQuestions,
  visibleOptions,
  visibleQuestions,
  visibleRows,
} from './survey.ts';
import { placeholderIssue } from './survey-paths/path-checks.ts';

export interface CopyOptions {
  id: string;
  ownerId: string;
  title: string | undefined;
  /** Opens the copy of a PRIVATE survey. */
  accessToken: string;
  nowMs: number;
  newId(): string;
  /** Whether the logo can be copied: another call may have removed it meanwhile. */
  hasLogo: boolean;
}

/**
 * A DRAFT with the same wording but new ids, codes and positions, without what was removed; `newIds` maps the old ids to
 * the new ones. Throws VALIDATION_ERROR if the new title names what it may not.
 */
export function* copySurvey(
  source: SurveyWithQuestions,
  { id, ownerId, title: newTitle, accessToken, nowMs, newId, hasLogo }: CopyOptions,
): SlicedWork<{ copy: SurveyWithQuestions; newIds: NewIds }> {
  const blank = blankSurvey(id, ownerId, nowMs);
  const newIds = new Map<string, string>();
  const copied = visibleQuestions(source).map((question) => ({
    ...question,
    options: withNewCodes(visibleOptions(question)),
    rows: withNewCodes(visibleRows(question)),
  }));
  for (const section of source.sections ?? []) newIds.set(section.id, newId());
  for (const question of copied) {
    for (const { id: oldId } of [question, ...question.options, ...question.rows]) newIds.set(oldId, newId());
    yield;
  }
  const names: NewNames = {
    ids: newIds,
    points: new Map(
      copied
        .filter((question) => shownPoints(question).size > 0)
        .map((question) => [question.id, openPoints(question)]),
    ),
  };
  const questions: Question[] = [];
  for (const [order, question] of copied.entries()) {
    const renamed = questionWithNewIds({ ...question, options: freePoints(question.options) }, names);
    questions.push({ ...renamed, surveyId: id, order });
    yield;
  }
  const { partialsMarkedFrom: _, anonymousUntil: __, anonymityBegun: ___, ...copiedFields } = source;
  const copy: SurveyWithQuestions = {
    ...copiedFields,
    ...blank,
    title: newTitle ?? cutText(`${source.title} (copy)`, 300),
    description: source.description,
    isAnonymous: source.isAnonymous,
    visibility: source.visibility,
    accessToken: source.visibility === 'PRIVATE' ? accessToken : null,
    responseQuota: source.responseQuota,
    submissionRateLimit: source.submissionRateLimit,
    aiEnabled: source.aiEnabled,
    language: source.language,
    retentionDays: source.retentionDays,
    collectors: [],
    ...(source.quotas && {
      quotas: source.quotas.map((quota) => ({
        ...quota,
        id: newId(),
        where: conditionWithNewIds(quota.where, names),
        version: 1,
      })),
    }),
    ...(source.sections && { sections: source.sections.map((section) => sectionWithNewIds(section, names)) }),
    ...(source.isShuffled && { isShuffled: true }),
    ...(source.appearance && {
      appearance: { ...appearanceWithNewIds(source.appearance, newIds), ...(!hasLogo && { logo: null }) },
    }),
    questions,
  };
  const issue = newTitle === undefined ? undefined : placeholderIssue(copy, { kind: 'text' }, newTitle);
  if (issue !== undefined) throw validationProblem([{ path: 'title', message: issue }]);
  return { copy: withNewPositions(copy), newIds };
}

/** Codes from 1, as an import has them: several choices take positions for all codes up to the largest. */
const withNewCodes = (items: readonly Option[]): Option[] => items.map((item, place) => ({ ...item, code: place + 1 }));
