import { onSignIn } from '../app/session.ts';
import { api, type components, dataOf } from './api.ts';
import { msOfCall, queryClient } from './query-client.ts';
import { changesEnd } from './survey-changes.ts';
import { isBeingLeft, surveyQuery, viewOpened } from './surveys.ts';

type LiveMessage = components['schemas']['LiveServerMessage'];
type LiveChannel = 'responses' | 'analytics' | 'status' | 'jobs';

interface Subscription {
  surveyId: string;
  channels: readonly LiveChannel[];
  onMessage(message: LiveMessage): void;
}

type LiveState = 'idle' | 'connecting' | 'open' | 'away';

const longestPauseMs = 30_000;
/** After this time without a message the service is asked for one; after as long again the connection is given up. */
const silenceMs = 20_000;
/** Before a subscription is asked for again that the service could not begin. */
const resubscribeMs = 3000;

const subscriptions = new Set<Subscription>();
/** The last cursor of each survey with a subscription to `responses`. */
const cursors = new Map<string, string>();
const stateListeners = new Set<() => void>();
let socket: WebSocket | undefined;
let state: LiveState = 'idle';
let failures = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Counts the attempts to connect: one that was given up meanwhile opens nothing. */
let attempts = 0;

/** The state of the connection, for `useSyncExternalStore(onLiveState, liveState)`. */
export const liveState = (): LiveState => state;

export function onLiveState(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

function setState(next: LiveState): void {
  state = next;
  for (const listener of stateListeners) listener();
}

/**
 * Subscribes to channels of a survey over the one WebSocket of the page. After a break it reconnects and asks for the
 * responses since the last cursor. Returns a function that ends the subscription.
 */
export function subscribeLive(
  surveyId: string,
  channels: readonly LiveChannel[],
  onMessage: (message: LiveMessage) => void,
): () => void {
  const subscription = { surveyId, channels, onMessage };
  subscriptions.add(subscription);
  if (state === 'open') send(subscribeMessage(surveyId, channels));
  else if (state === 'idle') void connect();
  return () => {
    subscriptions.delete(subscription);
    const remaining = channelsOf(surveyId);
    const ended = channels.filter((channel) => !remaining.has(channel));
    if (remaining.size === 0) cursors.delete(surveyId);
    if (ended.length > 0) send({ type: 'unsubscribe', surveyId, channels: ended });
    if (subscriptions.size === 0) close();
  };
}

/**
 * Reads a survey anew when somebody else has changed it. The service tells of changes that are made here too: those are
 * waited for, but not for long, since others may have changed something meanwhile. Returns a function that ends it.
 */
export function followSurvey(surveyId: string): () => void {
  const { queryKey } = surveyQuery(surveyId);
  viewOpened(surveyId);
  let told: Extract<LiveMessage, { type: 'status' }> | undefined;
  const look = async () => {
    await Promise.race([changesEnd(surveyId), new Promise((resolve) => setTimeout(resolve, msOfCall))]);
    const news = told;
    told = undefined;
    const known = queryClient.getQueryData(queryKey);
    if (!news || isBeingLeft(surveyId)) return;
    if (news.version > (known?.version ?? 0) || news.status !== known?.status)
      void queryClient.invalidateQueries({ queryKey });
  };
  return subscribeLive(surveyId, ['status'], (message) => {
    if (message.type !== 'status') return;
    const isLooking = told !== undefined;
    told = message;
    if (!isLooking) void look();
  });
}

function channelsOf(surveyId: string): Set<LiveChannel> {
  return new Set([...subscriptions].filter((one) => one.surveyId === surveyId).flatMap(({ channels }) => channels));
}

function subscribeMessage(surveyId: string, channels: Iterable<LiveChannel>) {
  return { type: 'subscribe', surveyId, channels: [...channels], after: cursors.get(surveyId) ?? null };
}

function send(message: object): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

async function connect(): Promise<void> {
  clearTimeout(timer);
  setState('connecting');
  attempts += 1;
  const attempt = attempts;
  try {
    const { ticket } = await dataOf(api.POST('/live/tickets'));
    if (attempt !== attempts) return;
    const address = new URL(`/api/v1/live?ticket=${encodeURIComponent(ticket)}`, location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    open(new WebSocket(address, 'survey.v1'));
  } catch {
    if (attempt === attempts) reconnectLater();
  }
}

function open(opened: WebSocket): void {
  socket = opened;
  let afterMs: number | undefined;
  let isHeard = true;
  // A connection that a network has dropped without a word looks open for many minutes.
  const watch = setInterval(() => {
    if (socket !== opened) return clearInterval(watch);
    if (opened.readyState === WebSocket.OPEN && !isHeard) {
      opened.close();
      return reconnectLater();
    }
    isHeard = false;
    send({ type: 'ping' });
  }, silenceMs);
  opened.onopen = () => {
    failures = 0;
    setState('open');
    for (const surveyId of new Set([...subscriptions].map((one) => one.surveyId)))
      send(subscribeMessage(surveyId, channelsOf(surveyId)));
  };
  opened.onmessage = ({ data }) => {
    if (socket !== opened) return;
    isHeard = true;
    const message = JSON.parse(String(data)) as LiveMessage;
    if (message.type === 'reconnect') afterMs = message.afterMs;
    else deliver(message);
    if (message.type === 'error' && message.surveyId !== undefined)
      subscriptionFailed(opened, message.surveyId, message);
  };
  opened.onclose = () => {
    clearInterval(watch);
    if (socket === opened) reconnectLater(afterMs);
  };
}

/** The service has ended a subscription, or could not begin it. */
function subscriptionFailed(opened: WebSocket, surveyId: string, { code }: { code: string }): void {
  if (isBeingLeft(surveyId)) return;
  // What is shown of the survey would look as if it were up to date.
  if (code === 'NOT_FOUND' || code === 'FORBIDDEN')
    return void queryClient.resetQueries({ queryKey: surveyQuery(surveyId).queryKey, exact: true });
  setTimeout(() => {
    const channels = channelsOf(surveyId);
    if (socket === opened && channels.size > 0) send(subscribeMessage(surveyId, channels));
  }, resubscribeMs);
}

function deliver(message: LiveMessage): void {
  if ('cursor' in message && message.cursor) cursors.set(message.surveyId, message.cursor);
  const surveyId = 'surveyId' in message ? message.surveyId : undefined;
  for (const subscription of subscriptions) if (subscription.surveyId === surveyId) subscription.onMessage(message);
}

function reconnectLater(afterMs = Math.min(longestPauseMs, 500 * 2 ** failures) * (0.5 + Math.random() / 2)): void {
  socket = undefined;
  if (subscriptions.size === 0) {
    setState('idle');
    return;
  }
  failures += 1;
  setState('away');
  timer = setTimeout(() => void connect(), afterMs);
}

/** What kept the page from connecting may be over. */
function reconnectNow(): void {
  failures = 0;
  if (state === 'away') void connect();
}
onSignIn(reconnectNow);
addEventListener('online', reconnectNow);

function close(): void {
  clearTimeout(timer);
  attempts += 1;
  const closed = socket;
  socket = undefined;
  closed?.close();
  setState('idle');
}
