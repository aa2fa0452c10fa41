import { queryOptions } from '@tanstack/react-query';
import { noteUser, onOtherUser, otherUserProblem } from '../app/session.ts';
import { forgetUnsaved } from '../app/unsaved.ts';
import type { AiProviderName } from './ai-jobs.ts';
import { api, type components, dataOf, refusalOf, SurveyApiError } from './api.ts';
import { serverSentEvents } from './event-stream.ts';
import { isRefusal, UserError } from './problems.ts';
import { pollPauseMs, queryClient } from './query-client.ts';
import { type SurveyWithQuestions, surveyChanged } from './surveys.ts';

/** A draft of a survey that is refined turn by turn with an AI provider. */
export type Conversation = components['schemas']['AiConversation'];
type DraftSurvey = components['schemas']['DraftSurvey'];
export type DraftQuestion = DraftSurvey['questions'][number];

export const conversationQuery = (id: string) =>
  queryOptions({
    queryKey: ['conversations', id],
    queryFn: async ({ signal }) => {
      const conversation = await dataOf(api.GET('/ai/conversations/{id}', { params: { path: { id } }, signal }));
      if (isSaved(conversation)) forgetUnsaved(id);
      return conversation;
    },
  });

/** Whether the draft is a survey already: nothing more can be said of it. */
export const isSaved = ({ surveyId }: Conversation): boolean => surveyId !== null;

/** Whether it is known that the draft of a conversation is a survey already. */
export function isKnownAsSaved(id: string): boolean {
  const conversation = queryClient.getQueryData(conversationQuery(id).queryKey);
  return conversation !== undefined && isSaved(conversation);
}

export interface DraftOrder {
  /** What the survey is for, and for whom. */
  prompt: string;
  questionCount: number;
  /** Undefined: the first configured one. */
  provider: AiProviderName | undefined;
}

/** The whole text of the assistant so far, whenever it grows. */
type OnText = (text: string) => void;

/** Asks for a first draft; takes up to two minutes. Throws a SurveyApiError. */
export const startConversation = ({ provider, ...order }: DraftOrder, onText: OnText): Promise<Conversation> =>
  streamed(
    (signal) =>
      api.POST('/ai/conversations', {
        body: { ...order, ...(provider !== undefined && { provider }) },
        signal,
        ...eventStream,
      }),
    onText,
  );

/** How long the service may go on with a turn whose reply was lost: its time for one, and some to store it. */
const longestTurnMs = 125_000;

/** Messages of which nobody knows what became of them, by their conversations, with the draft that they were about. */
const lostMessages = new Map<string, { message: string; revision: number }>();
onOtherUser(() => lostMessages.clear());

/**
 * Says what is to change; takes up to two minutes. Throws a SurveyApiError; the draft is then as it was, or has changed
 * elsewhere. A message whose reply was lost may be given once more: its turn is stored once.
 */
export async function continueConversation(
  conversation: Conversation,
  message: string,
  onText: OnText,
): Promise<Conversation> {
  const id = conversation.conversationId;
  const lost = lostMessages.get(id);
  const revision = lost?.message === message ? lost.revision : conversation.revision;
  const body = { message, revision };
  const untilMs = performance.now() + longestTurnMs;
  lostMessages.delete(id);
  try {
    return await streamed(
      (signal) =>
        api.POST('/ai/conversations/{id}/messages', { params: { path: { id } }, body, signal, ...eventStream }),
      onText,
    );
  } catch (error) {
    if (!isRefusal(error)) lostMessages.set(id, body);
    const stored = await readLostTurn(id, revision, isReplyLost(error) ? untilMs : 0);
    // A turn of this message is stored by now, or can be no more.
    if (stored && hasGoneOn(stored, revision)) lostMessages.delete(id);
    const turnsSince = (stored?.revision ?? revision) - revision;
    if (!stored || turnsSince === 0 || stored.turns.at(-2 * turnsSince)?.text !== message) throw error;
    return stored;
  }
}

/** Whether the service may be at work all the same. A proxy that says 503 has not handed the message on. */
const isReplyLost = (error: unknown): boolean =>
  error instanceof SurveyApiError
    ? error.isForeign && error.status >= 500 && error.status !== 503
    : !(error instanceof UserError);

/** Whether no turn about the draft of this revision can be stored any more. */
const hasGoneOn = (stored: Conversation, revision: number): boolean => stored.revision !== revision || isSaved(stored);

/** The conversation as it is stored, once it has gone on from this revision, or it is `untilMs`. */
async function readLostTurn(id: string, revision: number, untilMs: number): Promise<Conversation | undefined> {
  const isSameUser = noteUser();
  for (let reads = 1; isSameUser(); reads += 1) {
    const read = await readAnew(id);
    if (!read || hasGoneOn(read, revision) || performance.now() >= untilMs) return read;
    await new Promise((resolve) => setTimeout(resolve, pollPauseMs(reads)));
  }
  return undefined;
}

const readAnew = (id: string): Promise<Conversation | undefined> =>
  queryClient.fetchQuery({ ...conversationQuery(id), staleTime: 0, retry: false }).catch(() => undefined);

const eventStream = { headers: { accept: 'text/event-stream' }, parseAs: 'stream' } as const;

type TurnCall = (signal: AbortSignal) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

/**
 * Calls for a turn, and gives up when no turn takes as long: a network may have dropped the connection without a word.
 */
async function streamed(call: TurnCall, onText: OnText): Promise<Conversation> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new TypeError('No reply in time')), longestTurnMs);
  try {
    return await readTurn(call(limit.signal), onText);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a turn that is sent as it is written, or as a whole, as the service does where a proxy has sent the request with
 * `Transfer-Encoding: chunked`.
 */
async function readTurn(call: ReturnType<TurnCall>, onText: OnText): Promise<Conversation> {
  const isSameUser = noteUser();
  const keep = (conversation: Conversation): Conversation => {
    if (!isSameUser()) throw new UserError(otherUserProblem);
    queryClient.setQueryData(conversationQuery(conversation.conversationId).queryKey, conversation);
    return conversation;
  };
  const { data, error, response } = await call;
  if (!(data instanceof ReadableStream)) throw refusalOf(response, error);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return keep(((await new Response(data).json()) as { data: Conversation }).data);
  let text = '';
  for await (const { event, data: body } of serverSentEvents(data)) {
    if (event === 'text') text += (body as { text: string }).text;
    if (event === 'restart') text = '';
    if (event === 'error') throw new SurveyApiError(503, body as components['schemas']['Problem']);
    if (event === 'reply') return keep((body as { data: Conversation }).data);
    onText(text);
  }
  throw new TypeError('the stream ended before the reply');
}

/**
 * Makes a survey of the questions at these places of the draft as it is shown, in this language. What is not sent is
 * forgotten. Throws a SurveyApiError where the conversation has gone on elsewhere.
 */
export async function saveDraft(
  { conversationId: id, revision }: Conversation,
  order: { questions: number[]; language: string },
): Promise<SurveyWithQuestions> {
  const body = { ...order, revision };
  try {
    const survey = await dataOf(api.POST('/ai/conversations/{id}/save', { params: { path: { id } }, body }));
    forgetUnsaved(id);
    return surveyChanged(survey);
  } finally {
    // It may have been saved though the reply was lost.
    void queryClient.invalidateQueries({ queryKey: conversationQuery(id).queryKey });
  }
}
