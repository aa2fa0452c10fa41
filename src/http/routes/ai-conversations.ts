import { z } from 'zod';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import { streamJsonText, type TextListener } from '../../ai/json-text-stream.ts';
import type { Providers } from '../../ai/providers/providers.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { converseTask, maxDraftQuestions } from '../../ai/tasks/converse.ts';
import { selectQuestions } from '../../ai/tasks/draft-paths.ts';
import type { DraftSurvey } from '../../ai/tasks/generate-survey.ts';
import { surveyFromDraft } from '../../ai/tasks/generate-survey.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import { wordingSchema } from '../../domain/questions/option-list.ts';
import { conflict, notFound, validationProblem } from '../../errors.ts';
import type { ConversationStore, StoredConversation } from '../../stores/postgres/ai/conversations.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { aiChange, aiUse } from '../routing/audit.ts';
import type { Principal } from '../routing/principal.ts';
import { aboutSurvey, created, ok, type Route, route, withVersion } from '../routing/route.ts';
import { conversationSchema, providerSchema } from '../schemas/ai.ts';
import { languageField } from '../schemas/common.ts';
import { presentSurveyWithQuestions } from '../schemas/present-survey.ts';
import { surveyWithQuestionsSchema } from '../schemas/surveys.ts';

export interface AiConversationRoutesDeps {
  providers: Pick<Providers, 'pick'>;
  conversations: ConversationStore;
  surveys: Pick<SurveyStore, 'create'>;
  actors: Pick<SurveyActors, 'add'>;
  now(): number;
  newId(): string;
}

const messageField = wordingSchema(10_000);
const revisionField = z.number().int().min(1).optional();
/** Without a byte of the reply before, unless it is streamed: proxies must wait longer. */
export const turnTimeoutMs = 120_000;
const maxTurns = 40;
/** The common part of the descriptions of both routes that take a turn. */
const streamingDescription = [
  `A turn comes in the reply to its message, never as a 202: it may take ${turnTimeoutMs / 60_000} minutes. If the limits of the provider leave no room within 15 seconds, the reply is 503 AI_RATE_LIMITED with Retry-After.`,
  'With `Accept: text/event-stream`, unless JSON has a higher weight or the request comes with `Transfer-Encoding: chunked`, the turn is streamed while it is written, as server-sent events with status 200: `text` (`{"text"}`, the next part of `message`), `restart` (the text so far is withdrawn,',
  'since the AI provider is called again), and at the end `reply` with the usual body of the reply, or `error` with that of a refusal. An error before the first text is an ordinary refusal with its status.',
  'If the client disconnects, the turn is completed nevertheless.',
].join(' ');
const common = { tag: 'AI', access: { kind: 'editor' }, limit: 'api' } as const;

/** Drafts that are refined turn by turn; only their author may read them. */
export function aiConversationRoutes(deps: AiConversationRoutesDeps): Route[] {
  return [startRoute(deps), readRoute(deps), messageRoute(deps), saveRoute(deps)];
}

function startRoute({ providers, conversations, newId }: AiConversationRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/ai/conversations',
    operationId: 'startConversation',
    summary: 'Start a conversation that drafts a survey',
    reply: conversationSchema,
    replyStatus: 201,
    asksProvider: 'in reply',
    audit: aiUse,
    isStreamed: true,
    description: `The first draft has exactly \`questionCount\` questions if that is given; later drafts have up to ${maxDraftQuestions}. No survey is created until the draft is saved; conversations are deleted 30 days after the last turn. They are not listed: only the reply says the id.\n\n${streamingDescription}`,
    body: z.strictObject({
      prompt: messageField.describe('What the survey is for'),
      questionCount: z.number().int().min(5).max(maxDraftQuestions).optional(),
      provider: providerSchema.optional(),
    }),
    async handle({ body: { prompt, questionCount = null, provider: name }, principal, reader }) {
      const provider = await providers.pick(name, { userId: principal.userId });
      const { value } = await ask(
        provider,
        converseTask({ draft: null, history: [], message: prompt, questionCount }),
        AbortSignal.timeout(turnTimeoutMs),
        { reader: messageTo(reader) },
      );
      const conversation: StoredConversation = {
        id: newId(),
        ownerId: principal.userId,
        provider: provider.name,
        turns: [
          { role: 'user', text: prompt },
          { role: 'assistant', text: value.message },
        ],
        draft: value.draft,
        revision: 1,
        surveyId: null,
      };
      await conversations.create(conversation);
      return created(present(conversation));
    },
  });
}

function readRoute(deps: AiConversationRoutesDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/ai/conversations/{id}',
    operationId: 'getConversation',
    summary: 'Read a conversation',
    reply: conversationSchema,
    replyStatus: 200,
    handle: async ({ params, principal }) => ok(present(await ownConversation(deps, params, principal))),
  });
}

function messageRoute(deps: AiConversationRoutesDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/ai/conversations/{id}/messages',
    operationId: 'continueConversation',
    summary: 'Send a message that changes the draft',
    reply: conversationSchema,
    replyStatus: 200,
    asksProvider: 'in reply',
    audit: aiUse,
    isStreamed: true,
    description: `Of two concurrent messages one is accepted and the other gets 409 CONVERSATION_CHANGED; so does a message whose \`revision\` another turn has overtaken, before a provider is called: one whose reply was lost can be sent again with the same \`revision\`, and changes the draft once. After saving, 409 ALREADY_SAVED. A failed turn leaves the draft as it was.\n\n${streamingDescription}`,
    body: z.strictObject({
      message: messageField,
      revision: revisionField.describe('That of the draft which the message is about. Default: the present one'),
    }),
    async handle({ params, body: { message, revision }, principal, reader }) {
      const conversation = await ownConversation(deps, params, principal);
      if (conversation.surveyId !== null) throw alreadySaved();
      if (revision !== undefined && revision !== conversation.revision) throw changedMeanwhile();
      const provider = await deps.providers.pick(conversation.provider, { userId: principal.userId });
      const task = converseTask({
        draft: draftOf(conversation),
        history: conversation.turns,
        message,
        questionCount: null,
      });
      const { value } = await ask(provider, task, AbortSignal.timeout(turnTimeoutMs), {
        reader: messageTo(reader),
      });
      const turns = [
        ...conversation.turns,
        { role: 'user' as const, text: message },
        { role: 'assistant' as const, text: value.message },
      ].slice(-maxTurns);
      const next = { ...conversation, turns, draft: value.draft };
      if (!(await deps.conversations.saveTurn(next))) throw changedMeanwhile();
      return ok(present({ ...next, revision: next.revision + 1 }));
    },
  });
}

function saveRoute(deps: AiConversationRoutesDeps): Route {
  const { conversations, surveys, actors, now, newId } = deps;
  return route({
    ...common,
    method: 'POST',
    path: '/ai/conversations/{id}/save',
    operationId: 'saveConversation',
    summary: 'Save the draft as a survey',
    reply: surveyWithQuestionsSchema,
    replyStatus: 201,
    audit: aiChange,
    description:
      'As a DRAFT of the caller: all of its questions, or those that `questions` names. Sections without questions are left out, and so is a condition on a question that is left out. A second time: 409 ALREADY_SAVED, also where the first reply was a 503 or was lost although the survey was made; the conversation then has its `surveyId`. If a turn was stored meanwhile, 409 CONVERSATION_CHANGED: since the draft was read, where `revision` is given, otherwise since the call.',
    isBodyOptional: true,
    body: z.strictObject({
      questions: z
        .array(z.number().int().min(0))
        .min(1)
        .max(maxDraftQuestions)
        .refine((places) => new Set(places).size === places.length, 'names a place twice')
        .optional()
        .describe('Zero-based places in the questions of the draft; they keep its order. Default: all'),
      revision: revisionField.describe(
        'That of the draft whose questions are meant; places may hold other questions after another turn',
      ),
      language: languageField.optional().describe('The language that the draft is written in; default: en'),
    }),
    async handle({ params, body, principal }) {
      const conversation = await ownConversation(deps, params, principal);
      const { id, revision } = conversation;
      if (body.revision !== undefined && body.revision !== revision)
        throw conversation.surveyId === null ? changedMeanwhile() : alreadySaved();
      const draft = draftOf(conversation);
      const unknown = body.questions?.findIndex((place) => place >= draft.questions.length) ?? -1;
      if (unknown >= 0)
        throw validationProblem([{ path: `questions.${unknown}`, message: 'is not a question of the draft' }]);
      const surveyId = newId();
      const blank = blankSurvey(surveyId, principal.userId, now());
      const survey = surveyFromDraft(
        body.questions ? selectQuestions(draft, body.questions) : draft,
        { ...blank, ...(body.language && { language: body.language }) },
        newId,
      );
      const saved = await surveys.create(survey, [], async (tx) => {
        const outcome = await conversations.markSaved(tx, { id, surveyId, revision });
        if (outcome === 'already saved') throw alreadySaved();
        if (outcome === 'changed') throw changedMeanwhile();
      });
      await actors.add(saved);
      const shown = presentSurveyWithQuestions(survey, { responseCount: 0, nowMs: now(), right: 'own' });
      return withVersion(saved.version, aboutSurvey(surveyId, created(shown)));
    },
  });
}

const alreadySaved = () => conflict('ALREADY_SAVED', 'The draft is saved as a survey');
const changedMeanwhile = () => conflict('CONVERSATION_CHANGED', 'The conversation went on meanwhile');

async function ownConversation(
  { conversations }: AiConversationRoutesDeps,
  params: Readonly<Record<string, string>>,
  { userId }: Principal,
): Promise<StoredConversation> {
  const conversation = await conversations.find({ id: params['id'] ?? '', ownerId: userId });
  if (!conversation) throw notFound('conversation');
  return conversation;
}

/** Streams only the `message` of the reply; the draft is sent when it is validated. */
const messageTo = (reader: TextListener | undefined): TextListener | undefined =>
  reader && streamJsonText('message', reader);

/** Stored drafts were validated before. */
const draftOf = ({ draft }: StoredConversation): DraftSurvey => draft as DraftSurvey;

function present(conversation: StoredConversation) {
  return {
    conversationId: conversation.id,
    message: conversation.turns.findLast(({ role }) => role === 'assistant')?.text ?? '',
    draft: draftOf(conversation),
    turns: conversation.turns,
    surveyId: conversation.surveyId,
    revision: conversation.revision,
  };
}
