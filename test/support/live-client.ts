import { type ClientOptions, WebSocket } from 'ws';
import { eventually } from './eventually.ts';
import type { RunningService } from './service.ts';

// A test reads what it expects; what is not there fails its assertion.
export type Message = Record<string, any> & { type: string };

type Place = () => Pick<RunningService, 'base'>;

/** One WebSocket and all that came over it. */
export interface LiveSocket {
  socket: WebSocket;
  messages: Message[];
  send(message: unknown): void;
  /** The first message of a type (and, if given, that fits), waiting for it. */
  next(type: string, fits?: (message: Message) => boolean, withinMs?: number): Promise<Message>;
  responseIds(): string[];
  closed: Promise<{ code: number; reason: string }>;
}

export async function takeTicket({ base }: Pick<RunningService, 'base'>, token: string): Promise<string> {
  const reply = await fetch(`${base}/live/tickets`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  if (reply.status !== 201) throw new Error(`no ticket: ${reply.status} ${await reply.text()}`);
  const { data } = (await reply.json()) as { data: { ticket: string } };
  return data.ticket;
}

export const socketUrl = ({ base }: Pick<RunningService, 'base'>, ticket: string): string =>
  `${base.replace(/^http/, 'ws')}/live?ticket=${ticket}`;

export async function openLive(
  service: Pick<RunningService, 'base'>,
  token: string,
  options: ClientOptions = {},
): Promise<LiveSocket> {
  const socket = new WebSocket(socketUrl(service, await takeTicket(service, token)), 'survey.v1', options);
  const messages: Message[] = [];
  socket.on('message', (data, isBinary) =>
    messages.push(isBinary ? { type: 'binary' } : (JSON.parse(data.toString()) as Message)),
  );
  let end = 'open';
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => {
      end = `closed with ${code} ${reason.toString()}`;
      resolve({ code, reason: reason.toString() });
    }),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: (type, fits = () => true, withinMs = 30_000) =>
      eventually(() => {
        const found = messages.find((message) => message.type === type && fits(message));
        if (!found)
          throw new Error(`no ${type} among ${JSON.stringify(messages).slice(0, 2000)} of a socket that is ${end}`);
        return found;
      }, withinMs),
    responseIds: () =>
      messages.filter(({ type }) => type === 'response').map((message) => String(message['responseId'])),
  };
}

/** The status with which a WebSocket was refused. */
export function refusedWith(
  url: string,
  protocols: string | string[],
  headers: Record<string, string> = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, protocols, { headers });
    socket.once('unexpected-response', (_request, reply) => {
      resolve(reply.statusCode ?? 0);
      reply.resume();
    });
    socket.once('open', () => reject(new Error('the socket was opened')));
    socket.on('error', () => undefined);
  });
}

/**
 * The reference for clients that must not lose anything: remembers the cursor of the last response, and after any end
 * of the connection takes a new ticket and subscribes again behind that cursor. A response that is sent again is known
 * by its id and cursor.
 */
export function subscribeResiliently(service: Place, tokenOf: () => Promise<string>, surveyId: string) {
  const seen = new Set<string>();
  let cursor: string | undefined;
  let [doubles, connections] = [0, 0];
  let isOver = false;
  let current: LiveSocket | undefined;
  let adviceMs = 50;

  const hear = (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    if (message.type === 'reconnect') adviceMs = Number(message['afterMs']);
    if (message.type === 'subscribed') cursor ??= String(message['cursor']);
    if (message.type !== 'response') return;
    if (seen.has(String(message['responseId']))) doubles += 1;
    seen.add(String(message['responseId']));
    cursor = String(message['cursor']);
  };

  const connect = async (): Promise<void> => {
    adviceMs = 50;
    current = await openLive(service(), await tokenOf());
    connections += 1;
    current.socket.on('message', hear);
    current.send({
      type: 'subscribe',
      surveyId,
      channels: ['responses'],
      ...(cursor !== undefined && { after: cursor }),
    });
    if (isOver) current.socket.terminate();
    await current.closed;
  };

  const run = async (): Promise<void> => {
    while (!isOver) {
      await connect().catch(() => undefined);
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, adviceMs));
    }
  };
  const done = run();
  return {
    seen,
    isReady: () => cursor !== undefined,
    doubles: () => doubles,
    connections: () => connections,
    /** Breaks the connection. */
    drop: () => current?.socket.terminate(),
    async stop(): Promise<void> {
      isOver = true;
      current?.socket.terminate();
      await done;
    },
  };
}

/** Reads a stream of server-sent events by plain fetch; with a body by POST. */
export async function openEvents(url: string, token: string, headers: Record<string, string> = {}, body?: unknown) {
  const aborter = new AbortController();
  const posted = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const reply = await fetch(url, {
    ...posted,
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: aborter.signal,
  });
  const events: { id?: string | undefined; event?: string | undefined; data?: any }[] = [];
  let comments = 0;
  let retry: number | undefined;
  const take = (block: string) => {
    const fields = Object.fromEntries(
      block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]),
    );
    if ('retry' in fields) retry = Number(fields['retry']);
    else if (!('data' in fields)) comments += 1;
    else
      events.push({
        ...('id' in fields && { id: fields['id'] }),
        event: fields['event'],
        data: JSON.parse(fields['data'] ?? ''),
      });
  };
  const ended = (async () => {
    if (!reply.body || reply.status !== 200) return;
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of reply.body) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch (error) {
      if (!aborter.signal.aborted) throw error;
    }
  })();
  return {
    reply,
    events,
    ended,
    comments: () => comments,
    retry: () => retry,
    next: (event: string, fits: (data: any) => boolean = () => true) =>
      eventually(() => {
        const found = events.find((item) => item.event === event && fits(item.data));
        if (!found) throw new Error(`no ${event} among ${JSON.stringify(events).slice(0, 2000)}`);
        return found;
      }),
    close: () => aborter.abort(),
  };
}
