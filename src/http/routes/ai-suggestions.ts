import { z } from 'zod';
import type { SurveyActors } from '../../actors/surveys.ts';
import type { Providers } from '../../ai/providers.ts';
import { surveyWorkJob } from '../../ai/survey-work.ts';
import type { questionChangeBody } from '../../domain/question-definition.ts';
import { changeBack, changeOf, dropsOptions, isSameWording, wordingOf, type Wording } from '../../domain/suggestion.ts';
import { visibleQuestions, type Question, type SurveyWithQuestions } from '../../domain/survey.ts';
import { Problem, conflict, notFound } from '../../errors.ts';
import type { AiStore } from '../../stores/postgres/ai.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { presentSuggestion as present, type StoredSuggestion, type SuggestionStatus, type SuggestionStore } from '../../stores/postgres/ai-suggestions.ts';
import type { Intake } from '../../stores/redis/intake.ts';
import { answered as answeredByJob, type AiWaitingDeps } from '../ai-waiting.ts';
import type { Principal } from '../principal.ts';
import { ok, route, type Route } from '../route.ts';
import { acceptedJobSchema, providerSchema, suggestionSchema, suggestionsSchema } from '../schemas/ai.ts';
import { whileUnanswered } from '../while-unanswered.ts';
import { editQuestion } from './questions.ts';

export interface AiSuggestionRoutesDeps extends AiWaitingDeps {
  store: Pick<AiStore, 'join' | 'find' | 'resultOf'>;
  providers: Providers;
  surveys: Pick<SurveyStore, 'load'>;
  actors: Pick<SurveyActors, 'change' | 'sync'>;
  suggestions: SuggestionStore;
  hasAnswers(question: Question): Promise<boolean>;
  holdBack: Intake['holdBack'];
  now(): number;
  newId(): string;
}

const ofQuestion = { tag: 'AI', access: { kind: 'survey', right: 'edit', by: 'questionId' }, limit: 'api' } as const;
const ofSuggestion = { tag: 'AI', access: { kind: 'survey', right: 'edit', by: 'suggestionId' }, limit: 'api', reply: suggestionSchema, replyStatus: 200 } as const;

export function aiSuggestionRoutes(deps: AiSuggestionRoutesDeps): Route[] {
  return [optimiseRoute(deps), ...decisionRoutes(deps)];
}

function optimiseRoute(deps: AiSuggestionRoutesDeps): Route {
  return route({
    ...ofQuestion, method: 'POST', path: '/ai/questions/{questionId}/optimize', summary: 'Find out how a question could be better', reply: z.union([suggestionsSchema, acceptedJobSchema]), replyStatus: 200,
    description:
      'Suggestions are kept until they are decided one by one; those of the question that nobody decided make room. A question without faults gets none. ' +
      'What takes longer than 20 seconds, and what waits for the limits a minute, goes on behind a 202 reply with a `jobId`; equal work that is already going on is joined.',
    isBodyOptional: true, body: z.strictObject({ provider: providerSchema.optional() }),
    handle: async ({ params, body, survey: head, principal }) => {
      assertOn(head);
      const survey = await deps.surveys.load(head.id);
      if (!survey) throw notFound('survey');
      const question = questionOf(survey, params['questionId'] ?? '');
      const { name: provider, models } = await deps.providers.pick(body.provider);
      const job = surveyWorkJob({ work: 'optimise', version: survey.version, model: models.low, request: { questionId: question.id, provider } });
      return answeredByJob(deps, { id: deps.newId(), ownerId: principal.userId, surveyId: survey.id, ...job }, async ({ id }) => ok(await deps.store.resultOf(id)));
    },
  });
}

function decisionRoutes(deps: AiSuggestionRoutesDeps): Route[] {
  const { suggestions } = deps;
  return [
    route({
      ...ofQuestion, method: 'GET', path: '/ai/questions/{questionId}/suggestions', summary: 'List what was suggested for a question', reply: suggestionsSchema, replyStatus: 200,
      description: 'Oldest first, with what became of each; what was decided more than 90 days ago is forgotten.',
      handle: async ({ params }) => ok({ suggestions: (await suggestions.list(params['questionId'] ?? '')).map(present) }),
    }),
    route({
      ...ofSuggestion, method: 'POST', path: '/ai/suggestions/{suggestionId}/accept', summary: 'Word the question as suggested',
      description:
        'Once a suggestion (409 ALREADY_DECIDED), while AI is on for its survey (409 AI_DISABLED). The question must still read as it did when the suggestion was made (409 QUESTION_CHANGED); of a question that has answers no option is taken away (409 HAS_RESPONSES). ' +
        'Makes a new version of the survey.',
      handle: async ({ params, survey, principal }) => {
        assertOn(survey);
        return ok(await accept(deps, await found(suggestions, params), principal));
      },
    }),
    route({
      ...ofSuggestion, method: 'POST', path: '/ai/suggestions/{suggestionId}/reject', summary: 'Record that a suggestion is not wanted', description: 'Once a suggestion (409 ALREADY_DECIDED), while AI is on for its survey (409 AI_DISABLED).',
      handle: async ({ params, survey, principal }) => {
        assertOn(survey);
        const suggestion = await found(suggestions, params);
        await deps.actors.change(suggestion.surveyId, async (_current, tx) => {
          await locked(suggestions, { tx, id: suggestion.id, wanted: 'PENDING' });
          await suggestions.decide(tx, { id: suggestion.id, status: 'REJECTED', by: principal.userId });
          return undefined;
        });
        return ok(present({ ...suggestion, status: 'REJECTED' }));
      },
    }),
    route({
      ...ofSuggestion, method: 'POST', path: '/ai/suggestions/{suggestionId}/undo', summary: 'Take an acceptance back',
      description: 'The question gets its former wording, and the suggestion can be decided again. 409 NOT_ACCEPTED for one that is not accepted, QUESTION_CHANGED where the question was worded anew since, AI_DISABLED while AI is off for its survey.',
      handle: async ({ params, survey, principal }) => {
        assertOn(survey);
        return ok(await undo(deps, await found(suggestions, params), principal));
      },
    }),
  ];
}

function assertOn(survey: Pick<SurveyWithQuestions, 'aiEnabled'>): void {
  if (!survey.aiEnabled) throw new Problem('AI_DISABLED');
}

/** Question and suggestion change in one transaction, under the lock of the survey. */
async function accept(deps: AiSuggestionRoutesDeps, { id, surveyId, questionId }: StoredSuggestion, principal: Principal) {
  let accepted: StoredSuggestion | undefined;
  await reworded(deps, { surveyId, questionId }, (isAnswered, assertStill) => deps.actors.change(surveyId, async (current, tx) => {
    const held = await locked(deps.suggestions, { tx, id, wanted: 'PENDING' });
    const question = questionOf(current, questionId);
    assertWording(question, held.basis);
    if (isAnswered && dropsOptions(question, held.suggestion)) throw conflict('HAS_RESPONSES', 'The question has answers and keeps its options');
    const survey = worded(deps, { current, question, change: changeOf(question, held.suggestion), isAnswered });
    const applied = wordingOf(questionOf(survey, questionId));
    await deps.suggestions.decide(tx, { id, status: 'ACCEPTED', applied, by: principal.userId });
    accepted = { ...held, applied, status: 'ACCEPTED' };
    assertStill(current);
    return { survey, isWordingChanged: true };
  }));
  if (!accepted) throw notFound('suggestion');
  return present(accepted);
}

async function undo(deps: AiSuggestionRoutesDeps, { id, surveyId, questionId, ...rest }: StoredSuggestion, principal: Principal) {
  await reworded(deps, { surveyId, questionId }, (isAnswered, assertStill) => deps.actors.change(surveyId, async (current, tx) => {
    const held = await locked(deps.suggestions, { tx, id, wanted: 'ACCEPTED' });
    const question = questionOf(current, questionId);
    if (held.applied) assertWording(question, held.applied);
    const survey = worded(deps, { current, question, change: changeBack(held.basis), isAnswered });
    await deps.suggestions.decide(tx, { id, status: 'PENDING', by: principal.userId });
    assertStill(current);
    return { survey, isWordingChanged: true };
  }));
  return present({ ...rest, id, surveyId, questionId, status: 'PENDING' });
}

interface Rewording {
  current: SurveyWithQuestions;
  question: Question;
  change: z.output<typeof questionChangeBody>;
  isAnswered: boolean;
}

function worded({ now, newId }: AiSuggestionRoutesDeps, { current, question, change, isAnswered }: Rewording): SurveyWithQuestions {
  return { ...editQuestion(current, question.id, change, { isAnswered, newId }), updatedAt: new Date(now()) };
}

type AssertStill = (current: SurveyWithQuestions) => void;

/** Saves another wording by what the question's answers allow; where there are none, so that none comes in between. */
async function reworded(
  deps: AiSuggestionRoutesDeps, { surveyId, questionId }: Pick<StoredSuggestion, 'surveyId' | 'questionId'>, save: (isAnswered: boolean, assertStill: AssertStill) => Promise<SurveyWithQuestions>,
): Promise<void> {
  const survey = await deps.surveys.load(surveyId);
  if (!survey) throw notFound('survey');
  const question = questionOf(survey, questionId);
  if (await deps.hasAnswers(question)) await save(true, () => undefined);
  else await whileUnanswered(deps, question, (assertStill) => save(false, assertStill));
}

interface Lock {
  tx: Parameters<SuggestionStore['lock']>[0];
  id: string;
  wanted: SuggestionStatus;
}

async function locked(suggestions: SuggestionStore, { tx, id, wanted }: Lock): Promise<StoredSuggestion> {
  const held = await suggestions.lock(tx, id);
  if (!held) throw notFound('suggestion');
  if (held.status !== wanted) throw wanted === 'PENDING' ? conflict('ALREADY_DECIDED', 'The suggestion is decided') : conflict('NOT_ACCEPTED', 'The suggestion is not accepted');
  return held;
}

async function found(suggestions: SuggestionStore, params: Readonly<Record<string, string>>): Promise<StoredSuggestion> {
  const suggestion = await suggestions.find(params['suggestionId'] ?? '');
  if (!suggestion) throw notFound('suggestion');
  return suggestion;
}

function assertWording(question: Question, wording: Wording): void {
  if (!isSameWording(wordingOf(question), wording)) throw conflict('QUESTION_CHANGED', 'The question was worded anew since');
}

function questionOf(survey: SurveyWithQuestions, id: string): Question {
  const question = visibleQuestions(survey).find((candidate) => candidate.id === id);
  if (!question) throw notFound('question');
  return question;
}
