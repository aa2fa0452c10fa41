import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { PostgresFallback } from '../../actors/postgres-fallback.ts';
import { chooseCollector, languageByDefault } from '../../actors/submissions/collector-choice.ts';
import { type InvitationAccess, invitedPathProblem } from '../../actors/submissions/invitation.ts';
import { isInvited, refusal } from '../../actors/submissions/refusals.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import type { Invitation } from '../../domain/collectors/invitation.ts';
import { opennessOf } from '../../domain/openness.ts';
import type { Walk } from '../../domain/path/path.ts';
import { fileKindsOf } from '../../domain/questions/file-kinds.ts';
import type { CellQuota } from '../../domain/quotas/cell-quota.ts';
import { fittingQuotas } from '../../domain/quotas/fitting-quotas.ts';
import { acceptableAnswers } from '../../domain/submission/acceptable-answers.ts';
import { type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import { describeSection } from '../../domain/survey-edits.ts';
import { pathDefinitionOf } from '../../domain/survey-paths/path-definition.ts';
import { renderedPath, respondentWalk } from '../../domain/survey-paths/rendered-path.ts';
import { directionOf } from '../../domain/translation/languages.ts';
import { notFound, validationProblem } from '../../errors.ts';
import { runInSlices } from '../../platform/slices.ts';
import type { TranslationStore } from '../../stores/postgres/translations.ts';
import type { IntakeQuotas } from '../../stores/redis/intake/quotas.ts';
import { okInSlices, type Route, route } from '../routing/route.ts';
import { languageSchema } from '../schemas/common.ts';
import { presentPublicAppearance } from '../schemas/present-survey.ts';
import { submissionBodySchema } from '../schemas/responses.ts';
import { publicSurveySchema, respondentPathSchema } from '../schemas/surveys.ts';
import { createTranslated, type ShownSurvey } from '../translated-survey.ts';

export interface PublicRoutesDeps {
  currentSurvey: CurrentSurvey;
  postgresFallback: PostgresFallback;
  translations: Pick<TranslationStore, 'languages' | 'find'>;
  invitations: Pick<InvitationAccess, 'find' | 'read'>;
  /** What the intake has counted in quotas by cell. */
  quotaCounts: IntakeQuotas['counts'];
  now(): number;
}

const query = z.strictObject({
  lang: languageSchema.optional().describe('The preferred language'),
});

const pathBody = z.strictObject({
  answers: submissionBodySchema.shape.answers.describe(
    'Those so far. Answers that are not offered, or that a submission would be refused for, do not count: the outcome can be COMPLETE beside them, and they must be left out of the submission, which is refused with them',
  ),
  responseId: submissionBodySchema.shape.responseId.describe(
    'The id of the response; decides the order of what is shuffled. With an `invitation` (not in an anonymous survey) the id of its response decides instead, as in a submission; without either the designed order is shown',
  ),
  metadata: submissionBodySchema.shape.metadata,
  language: submissionBodySchema.shape.language.describe(
    'For conditions, and for the texts where they are translated. Without it, as in a submission: that of the invitation (not in an anonymous survey), of the collector (that of the invitation, or the default one, where none is named), or of the survey',
  ),
  collectorId: submissionBodySchema.shape.collectorId.describe(
    'The collector that a submission would name, for its language',
  ),
  invitation: z
    .string()
    .max(200)
    .optional()
    .describe(
      'The token of the invitation, for its language (not in an anonymous survey), and for conditions and texts that name its metadata; 403 if it is wrong, 409 with the `reason` of a submission if it or its collector takes none. In an anonymous survey one that has opened a partial response serves on',
    ),
});

/** What respondents may see without signing in. */
export function publicSurveyRoutes(deps: PublicRoutesDeps): Route[] {
  const { currentSurvey, postgresFallback, translations, invitations, quotaCounts, now } = deps;

  /** Throws NOT_FOUND for surveys that are not open, or not to this caller. */
  const openSurvey = async (id = '', token: string | undefined): Promise<CachedSurvey> => {
    const cached = await currentSurvey(id);
    if (!cached || !isInvited(cached.survey, token) || opennessOf(cached.survey, now()) !== 'open')
      throw notFound('survey');
    return cached;
  };

  /** Throws FORBIDDEN for a token that opens nothing here, and CONFLICT for one that opens nothing any more. */
  const invitationOf = async ({ id, isAnonymous }: SurveyWithQuestions, token: string | undefined) => {
    if (token === undefined) return undefined;
    const found = await invitations.find(id, token);
    if (!found) throw refusal('wrongInvitation');
    const problem = invitedPathProblem(found, { nowMs: now(), isAnonymous });
    if (problem) throw problem;
    return found;
  };

  /**
   * The language of a response that names none and comes by the invitation, the named collector or the default one.
   * Throws VALIDATION_ERROR for a collector that a submission could not name, and CONFLICT for an invitation whose
   * collector is not open.
   */
  const languageFor = (
    { survey, compiled }: CachedSurvey,
    invitation: Invitation | undefined,
    collectorId: string | undefined,
  ): string => {
    const invitedBy = invitation && compiled.collectors.byId.get(invitation.collectorId);
    const source = { submission: { collectorId }, saved: undefined, invitedBy };
    const { collector, issues, problem } = chooseCollector(compiled.collectors, source, now());
    if (issues.length > 0) throw validationProblem(issues);
    if (invitation && problem) throw problem;
    return languageByDefault(invitation, collector, survey);
  };

  const translated = createTranslated({ postgresFallback, translations });

  /** The id of the response as a submission has it: outside anonymous surveys the token of an invitation names it. */
  const responseIdFor = (
    { isAnonymous }: SurveyWithQuestions,
    token: string | undefined,
    given: string | undefined,
  ): string | undefined => (token === undefined || isAnonymous ? given : invitations.read(token).responseId);

  /** The full ones among the quotas by cell that the answers so far count for. */
  const fullQuotas = async (survey: SurveyWithQuestions, walk: Walk) => {
    const fitting = await runInSlices(fittingQuotas(survey, walk));
    if (fitting.length === 0) return [];
    const counts = await quotaCounts(survey.id);
    const isFull = ({ code, limit }: CellQuota): boolean => {
      const counted = counts.get(code);
      return counted !== undefined && !counted.isCounting && counted.count >= limit;
    };
    return fitting.filter(isFull).map(({ id, name, whenFull }) => ({ id, name, whenFull }));
  };

  return [
    route({
      method: 'GET',
      path: '/public/surveys/{id}',
      operationId: 'getPublicSurvey',
      tag: 'Public',
      summary: 'Read an open survey as a respondent',
      description:
        'Only for surveys that take responses now, for a PRIVATE one with its token in `X-Survey-Token`; otherwise 404. Whether a collector is open is not asked: `GET /public/collectors/{link}` tells. Without `lang`, or a translation to it, the texts are in the survey’s own language; so they are while PostgreSQL, which stores the translations, is away. Sections and questions are in their designed order, with all that is needed to compute a respondent’s path; texts hold their placeholders.',
      access: { kind: 'public' },
      limit: 'api',
      query,
      reply: publicSurveySchema,
      replyStatus: 200,
      readsSurveyToken: true,
      handle: async ({ params, query: { lang }, header }) => {
        const { survey } = await openSurvey(params['id'], header('x-survey-token'));
        return okInSlices(presentPublicSurvey(await translated(survey, [lang])));
      },
    }),
    route({
      method: 'POST',
      path: '/public/surveys/{id}/path',
      operationId: 'getRespondentPath',
      tag: 'Public',
      summary: 'Get a respondent’s path through an open survey',
      description:
        'For clients that do not compute paths themselves: the sections and questions that a respondent with these answers is asked, with the options and rows that are offered, all in the order shown and with texts rendered; `next` is the question to go on with. Nothing is stored, and nothing is needed but, for a PRIVATE survey, its token in `X-Survey-Token`. What is inserted into texts is plain text: show it as text, never as markup.',
      access: { kind: 'public' },
      limit: 'api',
      body: pathBody,
      refusals: ['FORBIDDEN', 'CONFLICT'],
      reply: respondentPathSchema,
      replyStatus: 200,
      readsSurveyToken: true,
      handle: async ({ params, body: { invitation: token, collectorId, ...given }, header }) => {
        const cached = await openSurvey(params['id'], header('x-survey-token'));
        const { survey } = cached;
        const invitation = await invitationOf(survey, token);
        const byDefault = languageFor(cached, invitation, collectorId);
        const language = given.language ?? byDefault;
        const shown = await translated(survey, [language]);
        const { answers: all, ...own } = given;
        const responseId = responseIdFor(survey, token, own.responseId);
        const context = { ...own, responseId, language, invitation: invitation?.metadata };
        const answers = await acceptableAnswers(cached.compiled, all, { context, pause: nextTurn });
        const walk = await runInSlices(respondentWalk(survey, { ...context, answers }));
        const path = await runInSlices(renderedPath(survey, walk, shown));
        return okInSlices({ ...path, fullQuotas: await fullQuotas(survey, walk) });
      },
    }),
  ];
}

/** An open survey as respondents see it. */
export function presentPublicSurvey({ survey, language, languages }: ShownSurvey) {
  const { id, title, description, isAnonymous, version, appearance } = survey;
  const { isShuffled, questions: paths } = pathDefinitionOf(survey);
  return {
    id,
    title,
    description,
    language,
    direction: directionOf(language),
    languages,
    isAnonymous,
    version,
    isShuffled,
    appearance: presentPublicAppearance(appearance),
    sections: (survey.sections ?? []).map(({ order: _, ...section }) => describeSection(section)),
    questions: visibleQuestions(survey).map(({ text, description, order, settings }, index) => ({
      ...paths[index],
      text,
      description,
      order,
      fileKinds: fileKindsOf(settings),
    })),
  };
}
