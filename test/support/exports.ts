import assert from 'node:assert/strict';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import type { RunningService } from './service.ts';

export interface ExportedFile {
  record: any;
  reply: Response;
  bytes: Buffer;
  text: string;
}

/** Requests an export, waits for its end and downloads it. */
export async function exportFile(
  service: Pick<RunningService, 'base'>,
  client: Client,
  token: string,
  surveyId: string,
  body: object,
): Promise<ExportedFile> {
  const { exportId } = await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, body);
  const record = await finishedExport(client, exportId);
  assert.equal(record.status, 'COMPLETED', JSON.stringify(record));
  const reply = await downloadExport(service, token, exportId);
  assert.equal(reply.status, 200);
  const bytes = Buffer.from(await reply.arrayBuffer());
  return { record, reply, bytes, text: bytes.toString('utf8') };
}

/**
 * The export once its file is made or given up. Files are made at low priority: one of three rows took more than half a
 * minute beside fifty busy processes.
 */
export const finishedExport = (client: Client, exportId: string, withinMs = 60_000): Promise<any> =>
  eventually(
    async () => {
      const record = await client.get(`/exports/${exportId}`);
      assert.ok(record.status === 'COMPLETED' || record.status === 'FAILED', JSON.stringify(record));
      return record;
    },
    withinMs,
    50,
  );

export const downloadExport = (
  service: Pick<RunningService, 'base'>,
  token: string,
  exportId: string,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${service.base}/exports/${exportId}/download`, { headers: { authorization: `Bearer ${token}`, ...headers } });
