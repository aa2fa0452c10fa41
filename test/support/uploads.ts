import assert from 'node:assert/strict';
import { createConsistentReads } from '../../src/actors/consistent-reads.ts';
import { createDeadLetters } from '../../src/actors/dead-letters.ts';
import { createFindNamedUploads, createFindNaming } from '../../src/actors/named-uploads.ts';
import { createLog } from '../../src/log.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { createUploads } from '../../src/stores/uploads/uploads.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { png } from './pictures.ts';
import type { RunningService } from './service.ts';

/** The parts of a service that keep uploads and look responses up, on its stores and by another clock. */
export function uploadsBy(now: () => number, stores: Stores) {
  const deadLetters = createDeadLetters(stores);
  const reading = createConsistentReads({ ...stores, deadLetters });
  const uploads = createUploads({
    rows: stores.uploadRows,
    storage: stores.uploadStorage,
    budget: { reserve: () => assert.fail('nothing is uploaded here') },
    unclaimedTtlMs: 3_600_000,
    now,
    isResponseStored: reading.isAccepted,
    findNamed: createFindNamedUploads({ ...stores, deadLetters, reading }),
    findNaming: createFindNaming({ ...stores, deadLetters, reading }),
    log: createLog('silent'),
  });
  return { deadLetters, reading, uploads };
}

/**
 * Sweeps uploads as the service does, by another clock, once the responses before are stored: a sweep fails where what
 * it looks for is not stored within five seconds, and the service comes again later.
 */
export async function sweepUploads(now: () => number, stores: Stores): Promise<void> {
  const { reading, uploads } = uploadsBy(now, stores);
  await eventually(() => reading.allCaughtUp());
  await uploads.sweep();
}

/** What a file is uploaded for. */
export interface UploadTarget {
  surveyId: string;
  questionId: string;
}

/** A published survey that asks for a file: `settings` are those of its question, `token` is that of a PRIVATE one. */
export async function fileSurvey(
  admin: Client,
  settings: Record<string, unknown> = {},
  fields: Record<string, unknown> = {},
): Promise<UploadTarget & { token?: string }> {
  const { id, accessToken } = await admin.create('/surveys', { title: 'Files', ...fields });
  const question = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'A file?', settings });
  await admin.post(`/surveys/${id}/publish`);
  return { surveyId: id, questionId: question.id, token: accessToken };
}

/** Uploads a picture as a respondent does; gives its id. */
export async function uploadPicture(
  { base }: Pick<RunningService, 'base'>,
  { surveyId, questionId, fileName = 'picture.png' }: UploadTarget & { fileName?: string },
): Promise<string> {
  const path = `${base}/uploads/surveys/${surveyId}/questions/${questionId}`;
  const reply = await fetch(path, {
    method: 'POST',
    body: new Uint8Array(png),
    headers: { 'x-filename': encodeURIComponent(fileName) },
  });
  assert.equal(reply.status, 201);
  return ((await reply.json()) as { data: { uploadId: string } }).data.uploadId;
}
