import { z } from 'zod';
import { saveUnlessAnswered } from '../../actors/submissions/question-change.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { WordingChange, WordingChanges } from '../../actors/wording-changes.ts';
import type { Providers } from '../../ai/providers/providers.ts';
import { describeSurveyJob } from '../../ai/survey-jobs.ts';
import {
  appliedWording,
  changeFromSuggestion,
  changeToWording,
  isSameWording,
  type QuestionWording,
  questionWording,
  removesOptions,
} from '../../domain/questions/suggestion.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import { editQuestion, findQuestion } from '../../domain/survey-edits.ts';
import { withoutBrokenConditions } from '../../domain/survey-paths/path-changes.ts';
import { conflict, notFound, Problem } from '../../errors.ts';
import type { AiStore } from '../../stores/postgres/ai/jobs.ts';
import {
  presentSuggestion as present,
  type StoredSuggestion,
  type SuggestionStatus,
  type SuggestionStore,
} from '../../stores/postgres/ai/suggestions.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import { loadSurvey } from '../load-survey.ts';
import { aiJobText, type ReplyWithJobResult } from '../routing/ai-job-reply.ts';
import { aiChange, aiUse } from '../routing/audit.ts';
import type { Principal } from '../routing/principal.ts';
import { type Outcome, ok, type Route, route, withVersion } from '../routing/route.ts';
import { acceptedJobSchema, providerSchema, suggestionSchema, suggestionsSchema } from '../schemas/ai.ts';

export interface AiSuggestionRoutesDeps {
  replyWithJobResult: ReplyWithJobResult;
  store: Pick<AiStore, 'resultOf'>;
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  actors: Pick<SurveyActors, 'announce' | 'change' | 'sync'>;
  suggestions: SuggestionStore;
  hasAnswers(question: Question): Promise<boolean>;
  freezeSubmissions: Intake['freeze'];
  wording: Pick<WordingChanges, 'settle'>;
  now(): number;
  newId(): string;
}

const ofQuestion = { tag: 'AI', access: { kind: 'survey', right: 'edit', by: 'questionId' }, limit: 'api' } as const;
const ofSuggestion = {
  tag: 'AI',
  access: { kind: 'survey', right: 'edit', by: 'suggestionId' },
  limit: 'api',
  reply: suggestionSchema,
  replyStatus: 200,
  refusals: ['AI_DISABLED'],
  audit: aiChange,
} as const;

export function aiSuggestionRoutes(deps: AiSuggestionRoutesDeps): Route[] {
  return [optimiseRoute(deps), ...decisionRoutes(deps)];
}

function optimiseRoute(deps: AiSuggestionRoutesDeps): Route {
  return route({
    ...ofQuestion,
    method: 'POST',
    path: '/ai/questions/{questionId}/optimize',
    operationId: 'suggestWording',
    summary: 'Get suggestions for a question',
    reply: z.union([suggestionsSchema, acceptedJobSchema]),
    replyStatus: 200,
    asksProvider: 'in job',
    audit: aiUse,
    description:
      'Suggestions are kept until each is accepted or rejected; undecided ones of the same question are replaced. A question without faults gets none. ' +
      aiJobText,
    isBodyOptional: true,
    body: z.strictObject({ provider: providerSchema.optional() }),
    handle: async ({ params, body, survey: head, principal }) => {
      assertAiEnabled(head);
      const survey = await loadSurvey(deps.surveys, head.id);
      const question = findQuestion(survey, params['questionId'] ?? '');
      const { name: provider, models } = await deps.providers.pick(body.provider);
      const job = describeSurveyJob({
        work: 'optimise',
        version: survey.version,
        model: models.low,
        request: { questionId: question.id, provider },
      });
      return deps.replyWithJobResult(
        { id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, ...job },
        async ({ id }) => ok(await deps.store.resultOf(id)),
      );
    },
  });
}

function decisionRoutes(deps: AiSuggestionRoutesDeps): Route[] {
  const { suggestions } = deps;
  return [
    route({
      ...ofQuestion,
      method: 'GET',
      path: '/ai/questions/{questionId}/suggestions',
      operationId: 'listSuggestions',
      summary: 'List the suggestions for a question',
      reply: suggestionsSchema,
      replyStatus: 200,
      description: 'Oldest first, with their status; suggestions that were decided more than 90 days ago are deleted.',
      handle: async ({ params }) =>
        ok({ suggestions: (await suggestions.list(params['questionId'] ?? '')).map(present) }),
    }),
    route({
      ...ofSuggestion,
      method: 'POST',
      path: '/ai/suggestions/{suggestionId}/accept',
      operationId: 'acceptSuggestion',
      summary: 'Accept a suggestion',
      description:
        'Changes the wording of the question; makes a new version of the survey. Each suggestion can be decided once (409 ALREADY_DECIDED), while AI is on for its survey (409 AI_DISABLED). The question must still read as it did when the suggestion was made (409 QUESTION_CHANGED); ' +
        'a question that has answers keeps its options (409 HAS_RESPONSES), and so does one whose options conditions name (409 CONDITION_BROKEN).',
      handle: async ({ params, survey, principal }) => {
        assertAiEnabled(survey);
        return accept(deps, await findSuggestion(suggestions, params), principal);
      },
    }),
    route({
      ...ofSuggestion,
      method: 'POST',
      path: '/ai/suggestions/{suggestionId}/reject',
      operationId: 'rejectSuggestion',
      summary: 'Reject a suggestion',
      description:
        'Each suggestion can be decided once (409 ALREADY_DECIDED), while AI is on for its survey (409 AI_DISABLED).',
      handle: async ({ params, survey, principal }) => {
        assertAiEnabled(survey);
        const suggestion = await findSuggestion(suggestions, params);
        await deps.actors.change(suggestion.surveyId, async (_current, tx) => {
          await lockSuggestion(suggestions, { tx, id: suggestion.id, wanted: 'PENDING' });
          await suggestions.decide(tx, { id: suggestion.id, status: 'REJECTED', by: principal.userId });
          return undefined;
        });
        return ok(present({ ...suggestion, status: 'REJECTED' }));
      },
    }),
    route({
      ...ofSuggestion,
      method: 'POST',
      path: '/ai/suggestions/{suggestionId}/undo',
      operationId: 'undoSuggestion',
      summary: 'Undo an acceptance',
      description:
        'The question gets its former wording, and the suggestion can be decided again. Options that the acceptance removed are back with their conditions (without those that name what has been deleted since) and anchors. 409 NOT_ACCEPTED if it is not accepted, QUESTION_CHANGED if the question was changed since, AI_DISABLED while AI is off for its survey.',
      handle: async ({ params, survey, principal }) => {
        assertAiEnabled(survey);
        return undo(deps, await findSuggestion(suggestions, params), principal);
      },
    }),
  ];
}

function assertAiEnabled(survey: Pick<SurveyWithQuestions, 'aiEnabled'>): void {
  if (!survey.aiEnabled) throw new Problem('AI_DISABLED');
}

/** Question and suggestion change in one transaction, under the lock of the survey. */
async function accept(
  deps: AiSuggestionRoutesDeps,
  { id, surveyId, questionId }: StoredSuggestion,
  principal: Principal,
): Promise<Outcome> {
  let accepted: StoredSuggestion | undefined;
  const { version } = await saveRewording(deps, { surveyId, questionId }, (isAnswered, assertUnchanged) =>
    deps.actors.change(surveyId, async (current, tx) => {
      const suggestion = await lockSuggestion(deps.suggestions, { tx, id, wanted: 'PENDING' });
      const question = findQuestion(current, questionId);
      assertWording(question, suggestion.basis);
      if (isAnswered && removesOptions(question, suggestion.suggestion))
        throw conflict('HAS_RESPONSES', 'The question has answers and keeps its options');
      const change = changeFromSuggestion(question, suggestion.suggestion);
      const after = editQuestion(current, questionId, change, { isAnswered, newId: deps.newId });
      const survey = await settled(deps, { before: current, after, tx });
      const applied = appliedWording(question, findQuestion(survey, questionId));
      await deps.suggestions.decide(tx, { id, status: 'ACCEPTED', applied, by: principal.userId });
      accepted = { ...suggestion, applied, status: 'ACCEPTED' };
      await assertUnchanged(current);
      return { survey, isWordingChanged: true };
    }),
  );
  if (!accepted) throw notFound('suggestion');
  return withVersion(version, ok(present(accepted)));
}

async function undo(
  deps: AiSuggestionRoutesDeps,
  { id, surveyId, questionId, ...rest }: StoredSuggestion,
  principal: Principal,
): Promise<Outcome> {
  const { version } = await saveRewording(deps, { surveyId, questionId }, (isAnswered, assertUnchanged) =>
    deps.actors.change(surveyId, async (current, tx) => {
      const suggestion = await lockSuggestion(deps.suggestions, { tx, id, wanted: 'ACCEPTED' });
      const removed = suggestion.applied?.removed ?? [];
      if (suggestion.applied) assertWording(findQuestion(current, questionId), suggestion.applied);
      const change = changeToWording(suggestion.basis, removed);
      const restored = editQuestion(current, questionId, change, { isAnswered, newId: deps.newId });
      // Conditions of the removed options may name what has been deleted since.
      const after = withoutBrokenConditions(restored, new Set(removed.map(({ id: optionId }) => optionId)));
      const survey = await settled(deps, { before: current, after, tx });
      await deps.suggestions.decide(tx, { id, status: 'PENDING', by: principal.userId });
      await assertUnchanged(current);
      return { survey, isWordingChanged: true };
    }),
  );
  return withVersion(version, ok(present({ ...rest, id, surveyId, questionId, status: 'PENDING' })));
}

/** Throws CONDITION_BROKEN where options go that a condition names. */
async function settled({ wording, now }: AiSuggestionRoutesDeps, change: WordingChange): Promise<SurveyWithQuestions> {
  return { ...(await wording.settle(change)), updatedAt: new Date(now()) };
}

type AssertUnchanged = (current: SurveyWithQuestions) => void | Promise<void>;

/** Saves a new wording. If the question has no answers, submissions are frozen so that none arrives meanwhile. */
async function saveRewording(
  deps: AiSuggestionRoutesDeps,
  { surveyId, questionId }: Pick<StoredSuggestion, 'surveyId' | 'questionId'>,
  save: (isAnswered: boolean, assertUnchanged: AssertUnchanged) => Promise<SurveyWithQuestions>,
): Promise<SurveyWithQuestions> {
  const survey = await loadSurvey(deps.surveys, surveyId);
  const question = findQuestion(survey, questionId);
  if (await deps.hasAnswers(question)) return save(true, () => undefined);
  return saveUnlessAnswered(deps, question, (assertUnchanged) => save(false, assertUnchanged));
}

interface SuggestionLock {
  tx: Parameters<SuggestionStore['lock']>[0];
  id: string;
  wanted: SuggestionStatus;
}

async function lockSuggestion(
  suggestions: SuggestionStore,
  { tx, id, wanted }: SuggestionLock,
): Promise<StoredSuggestion> {
  const suggestion = await suggestions.lock(tx, id);
  if (!suggestion) throw notFound('suggestion');
  if (suggestion.status !== wanted)
    throw wanted === 'PENDING'
      ? conflict('ALREADY_DECIDED', 'The suggestion is decided')
      : conflict('NOT_ACCEPTED', 'The suggestion is not accepted');
  return suggestion;
}

async function findSuggestion(
  suggestions: SuggestionStore,
  params: Readonly<Record<string, string>>,
): Promise<StoredSuggestion> {
  const suggestion = await suggestions.find(params['suggestionId'] ?? '');
  if (!suggestion) throw notFound('suggestion');
  return suggestion;
}

function assertWording(question: Question, wording: QuestionWording): void {
  if (!isSameWording(questionWording(question), wording))
    throw conflict('QUESTION_CHANGED', 'The question was reworded after the suggestion was made');
}
