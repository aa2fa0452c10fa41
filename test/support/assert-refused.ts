import assert from 'node:assert/strict';
import type { Reply } from './client.ts';

/** Asserts that a reply is this error, and that its text names nothing of a parser or a stack. */
export function assertRefused(reply: Reply, status: number, code: string, what: string): void {
  assert.deepEqual([reply.status, reply.body.code, reply.body.success], [status, code, false], what);
  assert.ok(
    !/unexpected token|position \d|at \w+ \(/i.test(JSON.stringify(reply.body)),
    `a parser’s or a stack’s words leaked: ${what}`,
  );
}
