import { connect } from 'node:net';
import { after, before } from 'node:test';
import { z } from 'zod';
import { created, ok, page, type Route, route } from '../../src/http/routing/route.ts';
import { startLoopback } from './loopback-server.ts';

/** Whatever a route needs that its test is not about. */
export const common = {
  tag: 'Test',
  summary: 'for the test',
  replyStatus: 200,
  reply: z.unknown(),
  access: { kind: 'public' },
  limit: 'api',
} as const;
/** An id of a thing. */
export const id = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10';

/** Routes about things, one for each way to take a body, a query or a caller. */
export const api: Route[] = [
  route({
    ...common,
    method: 'GET',
    path: '/things',
    isPaged: true,
    query: z.strictObject({ tag: z.union([z.string(), z.array(z.string())]).optional() }),
    handle: async ({ query }) => page([query], { page: 1, limit: 20, total: 1 }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things',
    body: z.strictObject({ name: z.string(), size: z.number().optional() }),
    maxBodyBytes: 1000,
    handle: async ({ body }) => created(body),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/things/{id}',
    handle: async ({ params, address }) => ok({ ...params, address }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/things/{id}/open',
    isBodyOptional: true,
    body: z.strictObject({ wide: z.boolean().default(false) }),
    handle: async ({ body }) => ok(body),
  }),
  route({ ...common, method: 'POST', path: '/things/{id}/close', handle: async () => ok('closed') }),
  route({
    ...common,
    method: 'PUT',
    path: '/things/{id}/picture',
    bodyKind: 'raw',
    handle: async ({ rawBody }) => ok(rawBody.length),
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/things/{id}',
    access: { kind: 'admin' },
    handle: async ({ principal }) => ok(principal.userId),
  }),
  route({ ...common, method: 'GET', path: '/edited', access: { kind: 'editor' }, handle: async () => ok(null) }),
  route({
    ...common,
    method: 'GET',
    path: '/broken',
    handle: async () => {
      throw new Error('a query that must not be shown');
    },
  }),
  // JSON has no form for this number.
  route({ ...common, method: 'GET', path: '/unwritable', handle: async () => ok({ size: 1n }) }),
  route({
    ...common,
    method: 'GET',
    path: '/unwritable-events',
    handle: async () => ({
      kind: 'events',
      begin() {
        throw new Error('no event can be written');
      },
    }),
  }),
  ...['ai_jobs_owner_id', 'survey_members_user_id', 'things_colour'].map((name) =>
    route({
      ...common,
      method: 'GET',
      path: `/broken/${name}`,
      handle: async () => {
        throw Object.assign(new Error('violates a key'), { code: '23503', constraint_name: `${name}_fkey` });
      },
    }),
  ),
];
export const root: Route[] = [
  route({ ...common, method: 'GET', path: '/well', limit: 'none', ignoresQuery: true, handle: async () => ok('well') }),
];

/**
 * A server of these routes for the tests of a suite: begun before the first of them, when `server` gets its fields, and
 * ended after the last.
 */
export function useThings() {
  const server = {} as Awaited<ReturnType<typeof startLoopback>>;
  before(async () => {
    Object.assign(server, await startLoopback({ api, root, corsOrigins: ['https://console.example.org'] }));
  });
  after(() => server.stop());

  const call = async (
    method: string,
    path: string,
    { body, headers }: { body?: string | undefined; headers?: Record<string, string> } = {},
  ) => {
    const reply = await fetch(server.origin + path, {
      method,
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    });
    const text = await reply.text();
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
    };
  };
  return { server, call };
}

/** Says exactly these bytes to the server, and gives all that comes back until it closes or has been quiet. */
export function say(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      if (/\r\n\r\n/.test(heard)) socket.end();
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', reject);
  });
}
