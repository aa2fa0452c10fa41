import { setTimeout as delay } from 'node:timers/promises';

/** A refusal that trying again will not change. */
export class ApiRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiRefusal';
    this.status = status;
  }
}

export interface Reply {
  data: Record<string, unknown>;
  status: number;
}

const triesAtMost = 200;

/** Calls the service; waits and tries again on 429 and 503, as their Retry-After asks, and when the connection breaks. */
export function createApi(origin: string) {
  let token: string | undefined;
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> => {
    for (let tries = 1; ; tries += 1) {
      const reply = await attempt(method, path, body, headers);
      if (reply && reply.status !== 429 && reply.status !== 503) return read(method, path, reply);
      if (tries >= triesAtMost) throw new ApiRefusal(reply?.status ?? 0, `${method} ${path}: no answer after ${tries} tries`);
      await reply?.arrayBuffer();
      await delay(1000 * Number(reply?.headers.get('retry-after') ?? 1));
    }
  };
  const attempt = (method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Response | undefined> =>
    fetch(`${origin}/api/v1${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
  return {
    call,
    useToken: (given: string) => void (token = given),
    async signIn(email: string, password: string): Promise<void> {
      const { data } = await call('POST', '/auth/login', { email, password });
      token = String(data['accessToken']);
    },
  };
}

export type Api = ReturnType<typeof createApi>;

async function read(method: string, path: string, reply: Response): Promise<Reply> {
  const body = (await reply.json()) as { success: boolean; data: Record<string, unknown>; message?: string; details?: unknown };
  if (!body.success) throw new ApiRefusal(reply.status, `${method} ${path} was refused with ${reply.status}: ${body.message ?? ''} ${JSON.stringify(body.details ?? '')}`);
  return { data: body.data, status: reply.status };
}
