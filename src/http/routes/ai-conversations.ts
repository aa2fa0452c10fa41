import { z } from 'zod';
import type { SurveyActors } from '../../actors/surveys.ts';
import { converseTask, questionsAtMost } from '../../ai/converse.ts';
import { surveyOf } from '../../ai/draft-survey.ts';
import type { DraftSurvey } from '../../ai/generate-survey.ts';
import type { Providers } from '../../ai/providers.ts';
import { saidWords, type Reader } from '../../ai/said-words.ts';
import { ask } from '../../ai/structured.ts';
import { wording } from '../../domain/option-list.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import { conflict, notFound } from '../../errors.ts';
import type { ConversationStore, StoredConversation } from '../../stores/postgres/ai-conversations.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { presentSurveyWithQuestions } from '../present.ts';
import type { Principal } from '../principal.ts';
import { concerning, created, ok, route, type Route } from '../route.ts';
import { conversationSchema, providerSchema } from '../schemas/ai.ts';
import { surveyWithQuestionsSchema } from '../schemas/surveys.ts';

export interface AiConversationRoutesDeps {
  providers: Providers;
  conversations: ConversationStore;
  surveys: Pick<SurveyStore, 'create'>;
  actors: Pick<SurveyActors, 'adopt'>;
  now(): number;
  newId(): string;
}

const said = wording(10_000);
const withinMs = 120_000;
const turnsKept = 40;
/** Of the routes that take a turn. */
const toldText = [
  `A turn comes in the reply to its message, not behind a 202: it may take ${withinMs / 60_000} minutes. Where the limits a minute leave no room within 15 seconds it is 503 AI_RATE_LIMITED with Retry-After.`,
  'With `Accept: text/event-stream` the turn is told while it is written, as server-sent events with status 200: `text` (`{"text"}`, the next words of `message`), `restart` (what was told so far is withdrawn:',
  'the AI provider is asked once more), and at the end `reply` with the usual body of the reply, or `error` with that of a refusal. What fails before the first word is refused with its status, as without.',
  'Who goes away loses nothing: the turn is taken all the same.',
].join(' ');
const common = { tag: 'AI', access: { kind: 'editor' }, limit: 'api' } as const;

/** Drafts that are refined turn by turn; each is its author's own. */
export function aiConversationRoutes(deps: AiConversationRoutesDeps): Route[] {
  return [startRoute(deps), readRoute(deps), messageRoute(deps), saveRoute(deps)];
}

function startRoute({ providers, conversations, newId }: AiConversationRoutesDeps): Route {
  return route({
    ...common, method: 'POST', path: '/ai/conversations', summary: 'Begin to write a survey in conversation', reply: conversationSchema, replyStatus: 201, isTold: true,
    description: `The first draft has exactly \`questionCount\` questions where that is given; later drafts have up to ${questionsAtMost}. Nothing becomes a survey until it is saved; 30 days after the last turn it is forgotten.\n\n${toldText}`,
    body: z.strictObject({ prompt: said.describe('What the survey is for'), questionCount: z.number().int().min(5).max(questionsAtMost).optional(), provider: providerSchema.optional() }),
    async handle({ body: { prompt, questionCount = null, provider: name }, principal, reader }) {
      const provider = await providers.pick(name, { userId: principal.userId });
      const { value } = await ask(provider, converseTask({ draft: null, said: [], message: prompt, questionCount }), AbortSignal.timeout(withinMs), messageTo(reader));
      const conversation: StoredConversation = {
        id: newId(), ownerId: principal.userId, provider: provider.name, turns: [{ role: 'user', text: prompt }, { role: 'assistant', text: value.message }], draft: value.draft, revision: 1, surveyId: null,
      };
      await conversations.create(conversation);
      return created(present(conversation));
    },
  });
}

function readRoute(deps: AiConversationRoutesDeps): Route {
  return route({
    ...common, method: 'GET', path: '/ai/conversations/{id}', summary: 'Read where a conversation stands', reply: conversationSchema, replyStatus: 200,
    handle: async ({ params, principal }) => ok(present(await own(deps, params, principal))),
  });
}

function messageRoute(deps: AiConversationRoutesDeps): Route {
  return route({
    ...common, method: 'POST', path: '/ai/conversations/{id}/messages', summary: 'Say what should be different', reply: conversationSchema, replyStatus: 200, isTold: true,
    description: `Of two messages at once one is taken, the other is 409 CONVERSATION_CHANGED; after saving, 409 ALREADY_SAVED. What fails leaves the draft as it was.\n\n${toldText}`,
    body: z.strictObject({ message: said }),
    async handle({ params, body: { message }, principal, reader }) {
      const conversation = await own(deps, params, principal);
      if (conversation.surveyId !== null) throw conflict('ALREADY_SAVED', 'The draft is saved as a survey');
      const provider = await deps.providers.pick(conversation.provider, { userId: principal.userId });
      const task = converseTask({ draft: draftOf(conversation), said: conversation.turns, message, questionCount: null });
      const { value } = await ask(provider, task, AbortSignal.timeout(withinMs), messageTo(reader));
      const turns = [...conversation.turns, { role: 'user' as const, text: message }, { role: 'assistant' as const, text: value.message }].slice(-turnsKept);
      const next = { ...conversation, turns, draft: value.draft };
      if (!(await deps.conversations.goOn(next))) throw conflict('CONVERSATION_CHANGED', 'The conversation went on meanwhile');
      return ok(present(next));
    },
  });
}

function saveRoute(deps: AiConversationRoutesDeps): Route {
  const { conversations, surveys, actors, now, newId } = deps;
  return route({
    ...common, method: 'POST', path: '/ai/conversations/{id}/save', summary: 'Save the draft as a survey', reply: surveyWithQuestionsSchema, replyStatus: 201,
    description: 'As a DRAFT of the caller, once: 409 ALREADY_SAVED.',
    async handle({ params, principal }) {
      const { id } = await own(deps, params, principal);
      const surveyId = newId();
      const draft = await conversations.claim({ id, surveyId });
      if (draft === undefined) throw conflict('ALREADY_SAVED', 'The draft is saved as a survey');
      const survey = surveyOf(draft as DraftSurvey, blankSurvey(surveyId, principal.userId, now()), newId);
      try {
        await surveys.create(survey);
      } catch (error) {
        await conversations.release(id);
        throw error;
      }
      await actors.adopt(survey);
      return concerning(surveyId, created(presentSurveyWithQuestions(survey, { responseCount: 0, nowMs: now(), isTokenShown: true })));
    },
  });
}

async function own({ conversations }: AiConversationRoutesDeps, params: Readonly<Record<string, string>>, { userId }: Principal): Promise<StoredConversation> {
  const conversation = await conversations.find({ id: params['id'] ?? '', ownerId: userId });
  if (!conversation) throw notFound('conversation');
  return conversation;
}

/** Of the whole reply a caller reads the message alone; the draft comes when it is checked. */
const messageTo = (reader: Reader | undefined): Reader | undefined => reader && saidWords('message', reader);

/** A draft was checked before it was put in. */
const draftOf = ({ draft }: StoredConversation): DraftSurvey => draft as DraftSurvey;

function present(conversation: StoredConversation) {
  return { conversationId: conversation.id, message: conversation.turns.findLast(({ role }) => role === 'assistant')?.text ?? '', draft: draftOf(conversation) };
}
