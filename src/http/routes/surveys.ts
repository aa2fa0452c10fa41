import { z } from 'zod';
import type { EditConflicts } from '../../actors/edit-conflicts.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { SurveyEdit } from '../../actors/survey-changes.ts';
import { transitionSurvey } from '../../actors/survey-transitions.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import { copySurvey } from '../../domain/copied-survey.ts';
import { settleChange } from '../../domain/settle-change.ts';
import { type Survey, type SurveyWithQuestions, surveyStatuses } from '../../domain/survey.ts';
import { copyStrings, renamedWordings } from '../../domain/translation/translation.ts';
import { Problem, validationProblem } from '../../errors.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { runInSlices } from '../../platform/slices.ts';
import type { Tx } from '../../stores/postgres/client.ts';
import type { LogoStore } from '../../stores/postgres/logos.ts';
import type { SurveyDefinition } from '../../stores/postgres/survey-versions.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { type TranslationStore, wordingHash } from '../../stores/postgres/translations.ts';
import { loadSurvey } from '../load-survey.ts';
import { fieldNamesOf, objectFromPath, surveyCreated } from '../routing/audit.ts';
import { created, ok, page, type Route, type RouteRequest, route, withVersion } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import {
  effectiveStatus,
  presentSurvey,
  presentSurveyWithHidden,
  presentSurveyWithQuestions,
} from '../schemas/present-survey.ts';
import { booleanField, editQuery, idsField, pageFields, searchField } from '../schemas/query-fields.ts';
import {
  applyFields,
  newAccessToken,
  newSurveyBody,
  type SurveyFields,
  surveyChangeBody,
  title,
} from '../schemas/survey-fields.ts';
import { surveyListItemSchema, surveySchema, surveyWithQuestionsSchema } from '../schemas/surveys.ts';

export interface SurveyRoutesDeps {
  surveys: SurveyStore;
  actors: SurveyActors;
  translations: Pick<TranslationStore, 'languages' | 'findIn' | 'withPlaceholders' | 'mergeIn' | 'addIn'>;
  logos: Pick<LogoStore, 'find' | 'save'>;
  editConflicts: EditConflicts;
  /** Exact count of accepted responses. */
  responseCount(surveyId: string): Promise<number>;
  now(): number;
  newId(): string;
}

/** Each of up to fourteen translations may take a second. */
const copyTimeoutMs = 60_000;
/** A copy with translations holds one of ten connections to PostgreSQL for as long. */
const translatedCopyLimits = { concurrency: 2, maxQueued: 4, queueFullMessage: 'Too many surveys are being copied' };

/** Fields of a survey that its versions hold. */
const versionedFields = ['title', 'description', 'language', 'isShuffled'] as const;
const versionedNames = new Intl.ListFormat('en-GB').format(versionedFields.map((name) => `\`${name}\``));

const { ifUnchangedSince } = editQuery.shape;
const versionedEditQuery = editQuery.extend({
  ifUnchangedSince: ifUnchangedSince.describe(
    `${ifUnchangedSince.description}. Only for ${versionedNames}: with other fields 400`,
  ),
});

const listQuery = z.strictObject({
  ...pageFields(100),
  id: idsField,
  status: z.enum(surveyStatuses).optional(),
  search: searchField('the title or description'),
  sort: z
    .enum(['createdAt', '-createdAt', 'title', '-title', 'responseCount', '-responseCount'])
    .default('-createdAt')
    .describe(
      '`-` for descending. Titles are sorted as in an index, “Äpfel” before “Birne” (by code point if the database has no ICU collations)',
    ),
});

export function surveyRoutes(deps: SurveyRoutesDeps): Route[] {
  const translatedCopies = createSemaphore(translatedCopyLimits);
  const present = async (survey: Survey, right: RouteRequest['right']) =>
    presentSurvey(survey, {
      responseCount: await deps.responseCount(survey.id),
      nowMs: deps.now(),
      isTokenShown: right !== 'read',
    });
  const presentWithQuestions = async (
    survey: SurveyWithQuestions,
    right: RouteRequest['right'],
    present = presentSurveyWithQuestions,
  ) => present(survey, { responseCount: await deps.responseCount(survey.id), nowMs: deps.now(), right });

  return [
    route({
      method: 'GET',
      path: '/surveys',
      operationId: 'listSurveys',
      tag: 'Surveys',
      summary: 'List the surveys that the caller may see',
      access: { kind: 'user' },
      limit: 'api',
      query: listQuery,
      reply: z.array(surveyListItemSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ query, principal }) => {
        const { items, total } = await deps.surveys.list({
          userId: principal.role === 'ADMIN' ? null : principal.userId,
          ids: query.id,
          status: query.status,
          search: query.search,
          sort: query.sort.replace('-', '') as 'createdAt',
          isDescending: query.sort.startsWith('-'),
          page: query.page,
          limit: query.limit,
        });
        const rows = items.map((item) =>
          presentSurvey(item, { responseCount: item.responseCount, nowMs: deps.now(), isTokenShown: false }),
        );
        return page(rows, { page: query.page, limit: query.limit, total });
      },
    }),
    route({
      method: 'POST',
      path: '/surveys',
      operationId: 'createSurvey',
      tag: 'Surveys',
      summary: 'Create a survey',
      access: { kind: 'editor' },
      limit: 'api',
      body: newSurveyBody,
      reply: surveyWithQuestionsSchema,
      replyStatus: 201,
      audit: surveyCreated,
      handle: async ({ body, principal }) => {
        const nowMs = deps.now();
        const blank = blankSurvey(deps.newId(), principal.userId, nowMs);
        const { survey: draft } = settleChange(blank, applyFields(blank, body, nowMs));
        const move = transitionSurvey(
          draft,
          [{ type: 'SET_STATUS', status: body.status ?? 'DRAFT', by: 'update', isFull: false, nowMs }],
          { nowMs, completed: 0 },
        );
        const survey = await deps.surveys.create(move.survey, move.events);
        await deps.actors.add(survey);
        return withVersion(survey.version, created(await presentWithQuestions(survey, 'own')));
      },
    }),
    route({
      method: 'GET',
      path: '/surveys/{id}',
      operationId: 'getSurvey',
      tag: 'Surveys',
      summary: 'Read a survey with its questions',
      access: { kind: 'survey', right: 'read', by: 'id' },
      description:
        'Responses may name questions, options and rows that were removed from the survey. With `includeHidden` these are shown too, each with `isHidden: true`, deleted questions after the others.',
      limit: 'api',
      query: z.strictObject({
        includeHidden: booleanField.default(false).describe('Also show what was removed from the survey'),
      }),
      reply: surveyWithQuestionsSchema,
      replyStatus: 200,
      handle: async ({ params, query, right }) => {
        const survey = await loadSurvey(deps.surveys, params['id']);
        return ok(
          await presentWithQuestions(
            survey,
            right,
            query.includeHidden ? presentSurveyWithHidden : presentSurveyWithQuestions,
          ),
        );
      },
    }),
    route({
      method: 'PUT',
      path: '/surveys/{id}',
      operationId: 'changeSurvey',
      tag: 'Surveys',
      summary: 'Change a survey',
      description:
        'Takes any of the fields. Every `status` may be set from every other, except ACTIVE or PAUSED after `endsAt` (409 SURVEY_ENDED), and ACTIVE while the quota is full (409 QUOTA_REACHED); a later `endsAt` or a higher quota in the same request counts. Lowering the quota to the present number of complete responses, or below, closes an open survey and sends quota.reached. `isAnonymous` can be switched on only while there are no responses (409 HAS_RESPONSES), since these may name their respondents; it can be switched off at any time, for responses that begin later: what was begun before takes no respondent. `isShuffled` is refused with 409 CONDITION_BROKEN if sections then shuffled name each other. `language` cannot be one that the survey has a translation to. A new title, description or language, and a change of `isShuffled`, make a version; the other fields make none, and are refused beside `ifUnchangedSince`. A refused call changes no field, even if a response arrives at the same moment.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      query: versionedEditQuery,
      body: surveyChangeBody,
      reply: surveyWithQuestionsSchema,
      replyStatus: 200,
      audit: {
        action: 'survey.changed',
        objectKind: 'survey',
        describe: ({ body, survey }, data) => ({
          objectId: survey.id,
          details: { fields: fieldNamesOf(body), ...statusChange(survey, data) },
        }),
      },
      handle: async ({ params, query, body, right }) => {
        const id = params['id'] ?? '';
        const { language } = body;
        const { findIn, withPlaceholders, mergeIn } = deps.translations;
        if (query.ifUnchangedSince !== undefined) assertVersioned(body);
        const assertUnchanged = await deps.editConflicts.check(id, query.ifUnchangedSince, wordingNamedBy(body));
        let madeVersion: number | undefined;
        const edit = async (current: SurveyWithQuestions, tx: Tx): Promise<SurveyEdit> => {
          madeVersion = undefined;
          assertUnchanged(current);
          if (Object.keys(body).every((name) => name === 'status')) return { survey: current };
          if (language !== undefined && language !== current.language && (await findIn(tx, id, language)))
            throw validationProblem([
              { path: 'language', message: 'the survey has a translation to this language: delete that first' },
            ]);
          const translations = body.isShuffled === undefined ? [] : await withPlaceholders(tx, id);
          const fields = applyFields(current, body, deps.now());
          const { survey, repairs } = settleChange(current, fields, { ...query, translations });
          return {
            survey,
            async alsoSave(tx, { version }) {
              if (version !== current.version) madeVersion = version;
              for (const repaired of repairs)
                await mergeIn(tx, { surveyId: id, ...repaired, removedKeys: [], at: new Date(deps.now()) });
            },
          };
        };
        const survey =
          body.status === undefined
            ? await deps.actors.edit(id, edit)
            : await deps.actors.setStatus(id, body.status, 'update', edit);
        return withVersion(madeVersion, ok(await presentWithQuestions(survey, right)));
      },
    }),
    route({
      method: 'DELETE',
      path: '/surveys/{id}',
      operationId: 'deleteSurvey',
      tag: 'Surveys',
      summary: 'Delete a survey with all its responses',
      description:
        'The survey and everything in it disappears at once; the stores are cleared after the reply. Its webhooks are switched off, and removed after 31 days with the record of their deliveries; audit events stay.',
      access: { kind: 'survey', right: 'own', by: 'id' },
      limit: 'api',
      reply: deletedSchema,
      replyStatus: 200,
      audit: 'by handler',
      handle: async ({ params, principal }) => {
        const id = params['id'] ?? '';
        await deps.surveys.remove(id, {
          actor: principal,
          action: 'survey.deleted',
          objectKind: 'survey',
          objectId: id,
        });
        await deps.actors.remove(id);
        return ok({ id, deleted: true });
      },
    }),
    route({
      method: 'POST',
      path: '/surveys/{id}/publish',
      operationId: 'publishSurvey',
      tag: 'Surveys',
      summary: 'Publish a survey',
      description:
        'Opens the survey, and sends survey.published if this changes the status to ACTIVE. A survey without questions may be published too: it takes submissions without answers, and questions can be added while it is open. 409 SURVEY_ENDED after `endsAt`, 409 QUOTA_REACHED while the quota is full.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      isBodyOptional: true,
      body: z.strictObject({ status: z.literal('ACTIVE', { error: 'only ACTIVE can be published' }).optional() }),
      reply: surveyWithQuestionsSchema,
      replyStatus: 200,
      audit: {
        action: 'survey.published',
        objectKind: 'survey',
        describe: ({ survey }, data) => ({ objectId: survey.id, details: statusChange(survey, data) }),
      },
      handle: async ({ params, right }) =>
        ok(await presentWithQuestions(await deps.actors.setStatus(params['id'] ?? '', 'ACTIVE', 'publish'), right)),
    }),
    route({
      method: 'POST',
      path: '/surveys/{id}/duplicate',
      operationId: 'duplicateSurvey',
      tag: 'Surveys',
      summary: 'Copy a survey without its responses',
      description:
        'Questions and translations are copied with new ids; deleted questions, options and rows are left out, and take no places for answers in the copy. The codes of options and rows in exports are their places from 1 again. The points of a LIKERT_SCALE are its places from 1 too, and conditions, skips and quotas that name them are translated. A given title names no question, as none stands before it. The copy is a DRAFT of the caller, without dates, and has only a default collector. Not for a VIEWER.',
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      isBodyOptional: true,
      body: z.strictObject({ title: title.optional() }),
      reply: surveyWithQuestionsSchema,
      replyStatus: 201,
      audit: {
        action: 'survey.duplicated',
        objectKind: 'survey',
        describe: ({ survey }, data) => ({
          objectId: String(data['id']),
          details: { from: survey.id, surveyId: survey.id },
        }),
      },
      handle: async ({ params, body, principal }) => {
        if (principal.role === 'VIEWER') throw new Problem('FORBIDDEN', 'A VIEWER may only read');
        const source = await loadSurvey(deps.surveys, params['id']);
        const logo = source.appearance?.logo && (await deps.logos.find(source.appearance.logo.hash));
        const copying = copySurvey(source, {
          id: deps.newId(),
          ownerId: principal.userId,
          title: body.title,
          accessToken: newAccessToken(),
          nowMs: deps.now(),
          newId: deps.newId,
          hasLogo: Boolean(logo),
        });
        const { copy, newIds } = await runInSlices(copying);
        const renamed = await runInSlices(renamedWordings(source, newIds, wordingHash));
        const languages = await deps.translations.languages(source.id);
        const copyLogoAndTranslations = async (tx: Tx): Promise<void> => {
          if (logo) await deps.logos.save(tx, copy.id, logo);
          // One at a time, as each may take megabytes.
          for (const language of languages) {
            const translation = await deps.translations.findIn(tx, source.id, language);
            if (!translation) continue;
            const strings = await runInSlices(copyStrings(translation.strings, renamed, newIds));
            await deps.translations.addIn(tx, { surveyId: copy.id, language, strings, at: new Date(deps.now()) });
          }
        };
        const create = () => deps.surveys.create(copy, [], copyLogoAndTranslations, copyTimeoutMs);
        const saved = await (languages.length === 0 ? create() : translatedCopies.run(create));
        await deps.actors.add(saved);
        return withVersion(saved.version, created(await presentWithQuestions(saved, 'own')));
      },
    }),
    route({
      method: 'POST',
      path: '/surveys/{id}/rotate-token',
      operationId: 'rotateSurveyToken',
      tag: 'Surveys',
      summary: 'Replace the access token of a PRIVATE survey',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      reply: surveySchema,
      replyStatus: 200,
      audit: { action: 'survey.token-rotated', objectKind: 'survey', describe: objectFromPath('id') },
      handle: async ({ params, right }) => {
        const survey = await deps.actors.edit(params['id'] ?? '', (current) => {
          if (current.visibility !== 'PRIVATE')
            throw validationProblem([{ path: 'visibility', message: 'only a PRIVATE survey has an access token' }]);
          return { survey: { ...current, accessToken: newAccessToken(), updatedAt: new Date(deps.now()) } };
        });
        return ok(await present(survey, right));
      },
    }),
  ];
}

/** The change of status by a call. A survey whose dates have passed counts as closed, whatever its row still says. */
function statusChange(
  survey: Survey,
  { status }: Record<string, unknown>,
): { status?: { from: unknown; to: unknown } } {
  const from = effectiveStatus(survey, Date.now());
  return status === from ? {} : { status: { from, to: status } };
}

/** Those of them that a body names. */
const wordingNamedBy =
  (body: SurveyFields) =>
  (definition: SurveyDefinition): unknown =>
    versionedFields
      .filter((name) => Object.hasOwn(body, name))
      .map((name) => definition[name] ?? (name === 'isShuffled' ? false : undefined));

/** Refuses other fields: nobody knows which values they had in the version that an editor saw. */
function assertVersioned(body: SurveyFields): void {
  const others = Object.keys(body).filter((name) => !(versionedFields as readonly string[]).includes(name));
  if (others.length === 0) return;
  const message = `versions of a survey hold only ${versionedNames}: change ${others.join(', ')} without ifUnchangedSince`;
  throw validationProblem([{ path: 'ifUnchangedSince', message }]);
}
