import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import { appearanceInput } from '../../domain/appearance.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import { importedParts, importSurvey, unusedField } from '../../domain/imported-survey.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { surveyCreated } from '../routing/audit.ts';
import { created, type Route, route, withVersion } from '../routing/route.ts';
import { presentSurveyWithQuestions } from '../schemas/present-survey.ts';
import { applyFields, type SurveyFields, surveyFields } from '../schemas/survey-fields.ts';
import { surveyVersionSchema } from '../schemas/survey-versions.ts';
import { surveySchema, surveyWithQuestionsSchema } from '../schemas/surveys.ts';

export interface SurveyImportRouteDeps {
  surveys: Pick<SurveyStore, 'create'>;
  actors: Pick<SurveyActors, 'add'>;
  now(): number;
  newId(): string;
}

/** A survey or one of its versions as it is read; the fields that a new survey has of its own are accepted and not used. */
const { startsAt: _startsAt, endsAt: _endsAt, status: _status, ...importedFields } = surveyFields;
const importBody = z
  .strictObject({
    ...importedFields,
    appearance: appearanceInput
      .extend({ logo: unusedField })
      .transform(({ logo: _, ...appearance }) => appearance)
      .describe('Without the logo, which is no part of the survey’s JSON: it is accepted and not used'),
    ...Object.fromEntries(
      [...Object.keys(surveySchema.shape), ...Object.keys(surveyVersionSchema.shape), 'right']
        .filter((name) => !Object.hasOwn(importedFields, name))
        .map((name) => [name, unusedField]),
    ),
  })
  .partial()
  .required({ title: true })
  .extend(importedParts);

export function surveyImportRoute({ surveys, actors, now, newId }: SurveyImportRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/surveys/import',
    operationId: 'importSurvey',
    tag: 'Surveys',
    summary: 'Create a survey from the JSON of another',
    description:
      'Takes `data` of GET /surveys/{id}, or of GET /surveys/{id}/versions/{version}, as it is, also from another service; with `includeHidden`, what is hidden is left out. Sections, questions, options and rows get new ids, also where conditions, skips, `optionsFrom` and texts name them; questions without ids are taken too. The points of a LIKERT_SCALE are its places from 1 again; where the file shows a `point`, conditions and skips that name points are translated. The survey is a DRAFT of the caller without dates, quotas, translations, collectors and logo. Nothing is created if anything in it is refused. The body may take 256 KiB (413 above it), which the largest surveys exceed: a copy within the service is made by POST /surveys/{id}/duplicate.',
    access: { kind: 'editor' },
    limit: 'api',
    body: importBody,
    reply: surveyWithQuestionsSchema,
    replyStatus: 201,
    audit: surveyCreated,
    handle: async ({ body, principal }) => {
      const nowMs = now();
      const blank = blankSurvey(newId(), principal.userId, nowMs);
      const given = Object.fromEntries(
        Object.entries(body).filter(([name]) => Object.hasOwn(importedFields, name)),
      ) as SurveyFields;
      const survey = await importSurvey(applyFields(blank, given, nowMs), body, { newId, pause: nextTurn });
      const saved = await surveys.create(survey);
      await actors.add(saved);
      return withVersion(
        saved.version,
        created(presentSurveyWithQuestions(saved, { responseCount: 0, nowMs, right: 'own' })),
      );
    },
  });
}
