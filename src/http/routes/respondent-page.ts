import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { invitedLanguage } from '../../actors/submissions/collector-choice.ts';
import { type InvitationAccess, invitationProblem } from '../../actors/submissions/invitation.ts';
import { isInvited } from '../../actors/submissions/refusals.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import type { CurrentSurvey } from '../../actors/survey-lookup.ts';
import {
  type Collector,
  type CollectorOpenness,
  collectorOpennessOf,
  defaultCollectorCode,
  isDefaultCollector,
} from '../../domain/collectors/collector.ts';
import type { Invitation } from '../../domain/collectors/invitation.ts';
import { languageTag } from '../../domain/language.ts';
import { isMetadataKey, isMetadataText, maxMetadataPairs } from '../../domain/metadata.ts';
import { type Openness, opennessOf } from '../../domain/openness.ts';
import { invitationPrefix } from '../../domain/path/definition.ts';
import { readable } from '../../domain/path/placeholders.ts';
import { pageResponseId } from '../../domain/submission/page-response-id.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { namedMetadata } from '../../domain/survey-paths/invitation-keys.ts';
import { directionOf, translationLanguages } from '../../domain/translation/languages.ts';
import { chooseLanguage } from '../../domain/translation/translation.ts';
import { isId } from '../../platform/ids.ts';
import type { CollectorStore } from '../../stores/postgres/collectors.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { PageDocument, PageDocumentOptions } from '../page-document.ts';
import type { NoticeName, PageForm, PageState, SentByInvitation } from '../page-state.ts';
import { toProblem } from '../routing/dispatch.ts';
import type { RateLimits } from '../routing/rate-limits.ts';
import { type Outcome, type Route, route } from '../routing/route.ts';
import { languageSchema } from '../schemas/common.ts';
import { rateLimitKeyOf } from '../server/client-address.ts';
import type { Translated } from '../translated-survey.ts';
import { weighted } from '../weighted.ts';
import { isCollectorFull } from './collectors.ts';
import { presentPublicSurvey } from './public.ts';

export interface RespondentPageDeps {
  currentSurvey: CurrentSurvey;
  collectors: Pick<CollectorStore, 'findByLink'>;
  invitations: Pick<InvitationAccess, 'find' | 'read'>;
  intake: Pick<Intake, 'completedByCollector' | 'isTokenSpent'>;
  translated: Translated;
  limits: Pick<RateLimits, 'consume'>;
  document: PageDocument;
  maxUploadBytes: number;
  log: Parameters<typeof toProblem>[1];
  now(): number;
}

const optionalText = (maxLength: number) => z.string().min(1).max(maxLength).optional().catch(undefined);

/** Links come with more parameters, such as those of campaigns, which are ignored. */
const query = z.looseObject({
  lang: languageSchema.optional().catch(undefined),
  invitation: optionalText(200),
  surveyToken: optionalText(200),
});
type Query = z.output<typeof query>;

/** A refusal, with what the page may show of the survey. */
interface Refusal {
  notice: NoticeName;
  survey?: SurveyWithQuestions | undefined;
  /** The response of an invitation that is used. */
  sent?: SentByInvitation;
  /** As far as they are known, for the language of the page. */
  collector?: Collector | undefined;
  invitation?: Invitation | undefined;
}

interface Found {
  survey: SurveyWithQuestions;
  collector: Collector | undefined;
  invitation: Invitation | undefined;
}

const statuses: Readonly<Partial<Record<NoticeName, number>>> = {
  unknown: 404,
  private: 403,
  invitationNeeded: 403,
  wrongInvitation: 403,
  tooMany: 429,
  unavailable: 503,
};
const statusOf = (notice: NoticeName | null): number => (notice === null ? 200 : (statuses[notice] ?? 409));

/** A draft is not to be seen, so its link does not exist yet. */
const noticeByOpenness = {
  open: undefined,
  draft: 'unknown',
  scheduled: 'notOpenYet',
  paused: 'paused',
  closed: 'closed',
  full: 'full',
  ended: 'ended',
} as const satisfies Record<Openness, NoticeName | undefined>;

const noticeByCollector = {
  open: undefined,
  scheduled: 'notOpenYet',
  paused: 'paused',
  ended: 'ended',
  deleted: 'ended',
} as const satisfies Record<CollectorOpenness, NoticeName | undefined>;

const noticeByReason: Readonly<Record<string, NoticeName>> = {
  INVITATION_USED: 'usedInvitation',
  INVITATION_REVOKED: 'revokedInvitation',
  INVITATION_EXPIRED: 'expiredInvitation',
};

/**
 * Notices without a look at the survey, so that its allowed origins are not known. They show nothing of it and no form,
 * and a page that embeds the survey is to show them and to be told of them.
 */
const noticesOfNoSurvey: ReadonlySet<NoticeName> = new Set(['tooMany', 'unavailable']);
const everyOrigin = ['*'];

/** GET /s/{link}: the page on which respondents answer. */
export function respondentPageRoute(deps: RespondentPageDeps): Route {
  const { document, limits, log } = deps;
  return route({
    method: 'GET',
    path: '/s/{link}',
    tag: 'Reference',
    summary: 'The page on which respondents answer a survey',
    access: { kind: 'public' },
    // Counted by the handler, which refuses with a page.
    limit: 'none',
    takesRubbish: true,
    query,
    reply: null,
    replyMediaType: 'text/html',
    replyStatus: 200,
    handle: async ({ params, query: asked, header, address, requestId }) => {
      const link = (params['link'] ?? '').slice(0, 100);
      const wanted = wantedLanguages(header('accept-language'));
      const send = (state: PageState, options: Omit<PageDocumentOptions, 'status'>) =>
        document.send(state, header('accept-encoding'), { status: statusOf(state.notice), ...options });
      const refuse = (refusal: Refusal, retryAfterSeconds?: number): Promise<Outcome> =>
        send(noticeState(deps, { link, refusal, asked, wanted }), {
          retryAfterSeconds,
          appearance: refusal.survey?.appearance,
          allowedOrigins: noticesOfNoSurvey.has(refusal.notice) ? everyOrigin : undefined,
        });
      try {
        const { isAllowed, retryAfterSeconds } = await limits.consume('api', rateLimitKeyOf(address));
        if (!isAllowed) return await refuse({ notice: 'tooMany' }, retryAfterSeconds);
        const found = await find(deps, link, asked);
        if ('notice' in found) return await refuse(found);
        const state = await formState(deps, { link, found, asked, wanted });
        return await send(state, { appearance: found.survey.appearance });
      } catch (error) {
        const problem = toProblem(error, log, { requestId, route: '/s/{link}' });
        return refuse({ notice: 'unavailable' }, problem.retryAfterSeconds ?? 5);
      }
    },
  });
}

/** The open survey of a link, or why there is none for this respondent. */
async function find(deps: RespondentPageDeps, link: string, asked: Query): Promise<Found | Refusal> {
  const nowMs = deps.now();
  const named = isId(link.toLowerCase()) ? undefined : await deps.collectors.findByLink(link);
  const surveyId = named?.surveyId ?? (isId(link.toLowerCase()) ? link.toLowerCase() : undefined);
  const cached = surveyId === undefined ? undefined : await deps.currentSurvey(surveyId);
  const linked = cached?.compiled.collectors.byId.get(named?.id ?? '');
  if (!cached || (named && !linked)) return { notice: 'unknown' };
  const { survey } = cached;
  const openness = noticeByOpenness[opennessOf(survey, nowMs)];
  if (openness === 'unknown') return { notice: openness };
  if (!isInvited(survey, asked.surveyToken)) return { notice: 'private' };
  if (openness) return { notice: openness, survey, collector: linked };
  const invited = await findInvitation(deps, cached, asked.invitation);
  const { invitation } = invited;
  const { byId, byCode } = cached.compiled.collectors;
  if ('notice' in invited) return { ...invited, collector: byId.get(invitation?.collectorId ?? '') ?? linked };
  const collector = invitation ? byId.get(invitation.collectorId) : (linked ?? byCode.get(defaultCollectorCode));
  if (collector?.kind === 'INVITATION' && !invitation) return { notice: 'invitationNeeded', survey, collector };
  const notice = collector && (await collectorNotice(deps, collector));
  return notice ? { notice, survey, collector, invitation } : { survey, collector, invitation };
}

async function findInvitation(
  { invitations, intake, now }: RespondentPageDeps,
  { survey }: CachedSurvey,
  token: string | undefined,
): Promise<{ invitation: Invitation | undefined } | Refusal> {
  if (token === undefined) return { invitation: undefined };
  const invitation = await invitations.find(survey.id, token);
  if (!invitation) return { notice: 'wrongInvitation', survey };
  const sent = { surveyId: survey.id, draftKey: draftKeyOf(survey, { token }) };
  const used: Refusal = { notice: 'usedInvitation', survey, sent, invitation };
  const problem = invitationProblem(invitation, { nowMs: now(), isAnonymous: survey.isAnonymous });
  const { reason } = { reason: '', ...problem?.details };
  // Its use is recorded up to an hour later.
  if (!problem && survey.isAnonymous && (await intake.isTokenSpent(survey.id, invitations.read(token).mark)))
    return used;
  const notice = noticeByReason[reason] ?? 'wrongInvitation';
  if (problem) return notice === used.notice ? used : { notice, survey, invitation };
  return { invitation };
}

async function collectorNotice(
  { intake, now }: RespondentPageDeps,
  collector: Collector,
): Promise<NoticeName | undefined> {
  const notice = noticeByCollector[collectorOpennessOf(collector, now())];
  return notice ?? ((await isCollectorFull(intake, collector)) ? 'full' : undefined);
}

interface Asked {
  link: string;
  asked: Query;
  /** Languages that the browser asks for. */
  wanted: readonly string[];
}

/** Languages for a page, the most wanted first. */
const languagesFor = (
  { asked, wanted }: Asked,
  { survey, collector, invitation }: Pick<Refusal, 'survey' | 'collector' | 'invitation'>,
): (string | null | undefined)[] => [
  asked.lang,
  survey && invitedLanguage(invitation, survey),
  collector?.language,
  ...wanted,
];

async function formState(deps: RespondentPageDeps, input: Asked & { found: Found }): Promise<PageState> {
  const { link, found, asked } = input;
  const { survey, collector, invitation } = found;
  const shown = await deps.translated(survey, languagesFor(input, found));
  const { language, direction, languages, ...presented } = presentPublicSurvey(shown);
  const token = invitation && asked.invitation ? asked.invitation : undefined;
  const isNamedByInvitation = token !== undefined && !survey.isAnonymous;
  const collectorId = collector && !isDefaultCollector(collector) && !token ? collector.id : null;
  const form: PageForm = {
    survey: presented as PageForm['survey'],
    surveyLanguage: survey.language,
    responseId: isNamedByInvitation
      ? deps.invitations.read(token).responseId
      : pageResponseId(randomUUID(), deps.now()),
    isNamedByInvitation,
    collectorId,
    invitation: invitation ? namedMetadata(shown.survey, invitation.metadata) : null,
    metadata: metadataOf(asked),
    draftKey: draftKeyOf(survey, { collectorId, token }),
    maxUploadBytes: deps.maxUploadBytes,
  };
  return {
    build: deps.document.build,
    link,
    language,
    direction,
    languages,
    query: queryWithoutLanguage(asked),
    title: presented.title,
    notice: null,
    form,
  };
}

function noticeState({ document }: RespondentPageDeps, input: Asked & { refusal: Refusal }): PageState {
  const { link, refusal } = input;
  const { notice, survey, sent } = refusal;
  const language =
    languagesFor(input, refusal)
      .map((tag) => chooseLanguage(tag ?? undefined, translationLanguages))
      .find((found) => found !== undefined) ??
    survey?.language ??
    'en';
  return {
    build: document.build,
    link,
    language,
    direction: directionOf(language),
    languages: [],
    query: '',
    title: survey ? readable(survey.title) : null,
    notice,
    sent,
    form: null,
  };
}

/** An invitation has a collector of its own, so its token says all. */
const draftKeyOf = (survey: SurveyWithQuestions, by: { collectorId?: string | null; token: string | undefined }) =>
  [survey.id, by.collectorId ?? '', by.token === undefined ? '' : shortHash(by.token)].join('/');

const shortHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

function queryWithoutLanguage({ lang: _, ...others }: Query): string {
  const pairs = Object.entries(others).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  return new URLSearchParams(pairs).toString();
}

const metadataPrefix = 'metadata.';

/** `?metadata.source=poster`: what the sender of the link says of it. What a submission could not have is ignored. */
function metadataOf(asked: Query): Record<string, string> {
  const pairs = Object.entries(asked).flatMap(([name, value]): [string, string][] => {
    const key = name.startsWith(metadataPrefix) ? name.slice(metadataPrefix.length) : '';
    const isTaken = isMetadataKey(key) && !key.startsWith(invitationPrefix);
    return isTaken && isMetadataText(value) ? [[key, value]] : [];
  });
  return Object.fromEntries(pairs.slice(0, maxMetadataPairs));
}

/** The language tags of Accept-Language (RFC 9110 §12.5.4), the most wanted first. */
export function wantedLanguages(acceptLanguage: string | undefined): string[] {
  return weighted(acceptLanguage?.slice(0, 1000))
    .filter(({ name, weight }) => languageTag.test(name) && weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ name }) => name);
}
