import assert from 'node:assert/strict';
import { type ProblemCode, problemTable } from '../../src/errors.ts';
import type { Client, Reply } from './client.ts';
import { eventually } from './eventually.ts';

/** A call for AI work that takes longer gets a 202, as docs/guide/ai.md says. */
const replyWithinMs = 20_000;
/** Work of many calls has taken more than half a minute beside fifty busy processes. */
const endsWithinMs = 120_000;

/**
 * Calls for AI work and gives the reply of its end, also where a busy machine takes longer for it than a call waits. A
 * 202 that comes earlier is given as it is.
 */
export async function callForWork(client: Client, path: string, body: object = {}): Promise<Reply> {
  const askedAt = performance.now();
  const reply = await client.call('POST', path, { body });
  if (reply.status !== 202 || performance.now() - askedAt < replyWithinMs) return reply;
  const { search } = new URL(path, 'http://localhost');
  const ended = await eventually(async () => {
    const job = await client.call('GET', `/ai/jobs/${reply.body.data.jobId}${search}`);
    assert.doesNotMatch(job.body.data.status, /PENDING|RUNNING/);
    return job;
  }, endsWithinMs);
  const { status, result, error } = ended.body.data;
  if (error) {
    const { code, message } = error as { code: ProblemCode; message: string };
    const requestId = ended.headers.get('x-request-id');
    return { ...ended, status: problemTable[code].status, body: { success: false, code, message, requestId } };
  }
  return status === 'COMPLETED' ? { ...ended, body: { success: true, data: result } } : reply;
}

/** The result of AI work that ends well, however long a busy machine takes for it. */
export async function resultOfWork(client: Client, path: string, body?: object): Promise<any> {
  const reply = await callForWork(client, path, body);
  assert.equal(reply.status, 200, `${path} gave ${reply.status}: ${JSON.stringify(reply.body).slice(0, 600)}`);
  return reply.body.data;
}
