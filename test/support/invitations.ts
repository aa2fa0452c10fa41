import assert from 'node:assert/strict';
import type { Client } from './client.ts';
import type { RunningService } from './service.ts';

export interface MadeInvitation {
  reference: string | null;
  token: string;
}

/** Uploads a file of invitations; gives status and text of the reply. */
export async function uploadInvitations(
  { base }: Pick<RunningService, 'base'>,
  client: Client,
  collectorId: string,
  body: string | Buffer | ReadableStream,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; body: any }> {
  const reply = await fetch(`${base}/collectors/${collectorId}/invitations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/x-ndjson', ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit);
  const text = await reply.text();
  return { status: reply.status, text, body: reply.status === 201 ? undefined : JSON.parse(text) };
}

/** Makes an invitation for each row; gives them in the order of the rows. */
export async function makeInvitations(
  service: Pick<RunningService, 'base'>,
  client: Client,
  collectorId: string,
  rows: readonly object[],
): Promise<MadeInvitation[]> {
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const { status, text } = await uploadInvitations(service, client, collectorId, lines);
  assert.equal(status, 201, text);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as MadeInvitation);
}
