import { z } from 'zod';
import type { EditConflicts } from '../../actors/edit-conflicts.ts';
import type { WordingChanges } from '../../actors/wording-changes.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import {
  addSection,
  describeSection,
  editSection,
  findSection,
  maxSections,
  newSectionBody,
  removeSection,
  reorderSections,
  sectionChangeBody,
} from '../../domain/survey-edits.ts';
import { changedInSurvey, createdInSurvey, objectFromPath, objectInSurvey } from '../routing/audit.ts';
import { created, ok, type Route, route, withVersion } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import { editQuery, removeConditionsQuery } from '../schemas/query-fields.ts';
import { sectionSchema } from '../schemas/questions.ts';

export interface SectionRoutesDeps {
  wording: Pick<WordingChanges, 'change'>;
  editConflicts: EditConflicts;
  newId(): string;
}

const ofSurvey = {
  tag: 'Questions',
  access: { kind: 'survey', right: 'edit', by: 'surveyId' },
  limit: 'api',
} as const;

export function sectionRoutes({ wording, editConflicts, newId }: SectionRoutesDeps): Route[] {
  const { change: changeWording } = wording;
  return [
    route({
      ...ofSurvey,
      method: 'POST',
      path: '/surveys/{surveyId}/sections',
      operationId: 'createSection',
      summary: 'Add a section',
      description:
        'A section is a page of the survey; questions are put into it by their `sectionId`. Without `order` it goes last.',
      body: newSectionBody,
      reply: sectionSchema,
      replyStatus: 201,
      audit: { action: 'section.created', objectKind: 'section', describe: createdInSurvey },
      handle: async ({ params, body }) => {
        const id = newId();
        const { survey, madeVersion } = await changeWording(params['surveyId'] ?? '', (current) =>
          addSection(current, body, id),
        );
        return withVersion(madeVersion, created(describeSection(findSection(survey, id))));
      },
    }),
    route({
      ...ofSurvey,
      method: 'PUT',
      path: '/surveys/{surveyId}/sections/{sectionId}',
      operationId: 'changeSection',
      summary: 'Change a section',
      description:
        'With `order` the section moves with its questions. 409 CONDITION_BROKEN if a condition, skip or placeholder would then name a later question.',
      query: editQuery,
      body: sectionChangeBody,
      reply: sectionSchema,
      replyStatus: 200,
      audit: { action: 'section.changed', objectKind: 'section', describe: changedInSurvey('sectionId') },
      handle: async ({ params, query, body }) => {
        const id = params['sectionId'] ?? '';
        const surveyId = params['surveyId'] ?? '';
        const assertUnchanged = await editConflicts.check(surveyId, query.ifUnchangedSince, contentOf(id));
        const edit = (current: SurveyWithQuestions) => {
          assertUnchanged(current);
          return editSection(current, id, body);
        };
        const { survey, madeVersion } = await changeWording(surveyId, edit, query);
        return withVersion(madeVersion, ok(describeSection(findSection(survey, id))));
      },
    }),
    route({
      ...ofSurvey,
      method: 'DELETE',
      path: '/surveys/{surveyId}/sections/{sectionId}',
      operationId: 'deleteSection',
      summary: 'Delete a section',
      description:
        'Its questions go to the end of the section before, or, if it was the first one, to those without a section.',
      query: removeConditionsQuery,
      reply: deletedSchema,
      replyStatus: 200,
      audit: { action: 'section.deleted', objectKind: 'section', describe: objectInSurvey('sectionId') },
      handle: async ({ params, query }) => {
        const id = params['sectionId'] ?? '';
        const edit = (current: SurveyWithQuestions) => removeSection(current, id);
        const { madeVersion } = await changeWording(params['surveyId'] ?? '', edit, query);
        return withVersion(madeVersion, ok({ id, deleted: true }));
      },
    }),
    route({
      ...ofSurvey,
      method: 'POST',
      path: '/surveys/{surveyId}/sections/reorder',
      operationId: 'reorderSections',
      summary: 'Put the sections in a new order',
      description: 'They take their questions with them.',
      query: removeConditionsQuery,
      body: z.strictObject({ sectionIds: z.array(z.string()).max(maxSections) }),
      reply: z.array(sectionSchema),
      replyStatus: 200,
      audit: { action: 'sections.reordered', objectKind: 'survey', describe: objectFromPath('surveyId') },
      handle: async ({ params, query, body }) => {
        const edit = (current: SurveyWithQuestions) => reorderSections(current, body.sectionIds);
        const { survey, madeVersion } = await changeWording(params['surveyId'] ?? '', edit, query);
        return withVersion(madeVersion, ok((survey.sections ?? []).map(describeSection)));
      },
    }),
  ];
}

/** A section of a version of the survey without its place, which changes with those before it. */
const contentOf =
  (id: string) =>
  ({ sections = [] }: Pick<SurveyWithQuestions, 'sections'>) => {
    const section = sections.find((other) => other.id === id);
    return section && { ...describeSection(section), order: 0 };
  };
