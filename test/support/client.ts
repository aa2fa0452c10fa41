import assert from 'node:assert/strict';
import { adminEmail, adminPassword, type RunningService } from './service.ts';

export interface Reply {
  status: number;
  headers: Headers;
  // A test reads what it expects; what is not there fails its assertion.
  body: any;
}

export interface CallOptions {
  /** Sent as it is if it is text or bytes, else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  token?: string | undefined;
}

/** Calls the interface as a client would: JSON in, JSON out. */
export function createClient(service: Pick<RunningService, 'base'>, token?: string) {
  const call = async (method: string, path: string, options: CallOptions = {}): Promise<Reply> => {
    const bearer = 'token' in options ? options.token : token;
    const reply = await fetch(service.base + path, {
      method,
      headers: {
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...options.headers,
      },
      ...(options.body !== undefined && {
        body:
          typeof options.body === 'string' || Buffer.isBuffer(options.body)
            ? options.body
            : JSON.stringify(options.body),
      }),
    });
    const text = await reply.text();
    const isJson = reply.headers.get('content-type')?.startsWith('application/json') ?? false;
    return { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
  };
  /** Calls and insists on a status; gives `data`. */
  const expect = async (
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<any> => {
    const reply = await call(method, path, { ...(body !== undefined && { body }), ...(headers && { headers }) });
    assert.equal(
      reply.status,
      status,
      `${method} ${path} gave ${reply.status}: ${JSON.stringify(reply.body).slice(0, 600)}`,
    );
    return reply.body.data;
  };
  return {
    token,
    call,
    expect,
    get: (path: string) => expect(200, 'GET', path),
    post: (path: string, body?: unknown) => expect(200, 'POST', path, body),
    create: (path: string, body?: unknown, headers?: Record<string, string>) =>
      expect(201, 'POST', path, body, headers),
    put: (path: string, body: unknown) => expect(200, 'PUT', path, body),
    remove: (path: string) => expect(200, 'DELETE', path),
    submit: (surveyId: string, body: unknown, headers: Record<string, string> = {}) =>
      call('POST', `/responses/surveys/${surveyId}/submit`, { body, headers, token: undefined }),
  };
}

export type Client = ReturnType<typeof createClient>;

/** A client that is logged in as the first ADMIN. */
export async function adminClient(service: Pick<RunningService, 'base'>): Promise<Client> {
  const login = await createClient(service).call('POST', '/auth/login', {
    body: { email: adminEmail, password: adminPassword },
  });
  assert.equal(login.status, 200, JSON.stringify(login.body));
  return createClient(service, login.body.data.accessToken);
}
