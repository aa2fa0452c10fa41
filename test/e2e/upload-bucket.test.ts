import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { createS3Storage } from '../../src/stores/uploads/s3.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type S3, startS3 } from '../support/s3-server.ts';
import {
  adminEmail,
  adminPassword,
  type RunningService,
  runToExit,
  sharedStoreUrls,
  startService,
} from '../support/service.ts';

const mib = 1024 * 1024;

describe('uploads in a bucket', () => {
  let s3: S3;
  let service: RunningService;
  let admin: Client;
  let bearer: { authorization: string };
  let [surveyId, questionId] = ['', ''];
  before(async () => {
    s3 = await startS3();
    service = await startService({ env: { ...s3.env, UPLOAD_S3_PREFIX: 'survey/' } });
    admin = await adminClient(service);
    const { accessToken } = await admin.post('/auth/login', { email: adminEmail, password: adminPassword });
    bearer = { authorization: `Bearer ${accessToken}` };
    surveyId = (await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' })).id;
    questionId = (await admin.create(`/surveys/${surveyId}/questions`, { type: 'FILE_UPLOAD', text: 'A file?' })).id;
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    s3.stop();
  });

  const send = (body: Uint8Array) =>
    fetch(`${service.base}/uploads/surveys/${surveyId}/questions/${questionId}`, { method: 'POST', body });
  const upload = async (body: Uint8Array): Promise<string> => {
    const reply = await send(body);
    assert.equal(reply.status, 201);
    return ((await reply.json()) as any).data.uploadId;
  };
  const download = (id: string, headers: Record<string, string> = {}) =>
    fetch(`${service.base}/uploads/${id}`, { headers: { ...bearer, ...headers } });
  const inBucket = async (): Promise<string[]> => {
    const storage = createS3Storage({ ...s3, log: createLog('silent'), prefix: 'survey/' });
    const ids: string[] = [];
    for await (const id of storage.list(new Date(Date.now() + 60_000), new Date(0))) ids.push(id);
    storage.close();
    return ids;
  };

  it('are stored, claimed, downloaded whole and in part, and removed with their response; nothing is written to disk', async () => {
    const bytes = randomBytes(12 * mib + 5);
    const id = await upload(bytes);
    assert.deepEqual(await inBucket(), [id]);
    const { responseId } = (await admin.submit(surveyId, { answers: [{ questionId, textValue: id }] })).body.data;
    assert.ok(bytes.equals(Buffer.from(await (await download(id)).arrayBuffer())));
    const part = await download(id, { range: `bytes=${6 * mib}-${7 * mib}` });
    assert.deepEqual(
      [part.status, Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(6 * mib, 7 * mib + 1))],
      [206, true],
    );
    const head = await fetch(`${service.base}/uploads/${id}`, { method: 'HEAD', headers: bearer });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(bytes.length)]);
    assert.ok(!existsSync(join(service.dataDir, 'uploads')));
    await admin.remove(`/responses/${responseId}`);
    await eventually(async () => assert.deepEqual(await inBucket(), []));
    assert.equal((await download(id)).status, 404);
  });

  it('refuse the start while files of uploads still lie in DATA_DIR, whatever else lies there', async () => {
    const dataDir = temporaryDataDir();
    const folder = join(dataDir, 'uploads', 'ff');
    mkdirSync(folder, { recursive: true });
    const start = () => runToExit({ dataDir, env: { ...s3.env, ...sharedStoreUrls() } });
    writeFileSync(join(folder, 'notes'), 'no upload');
    writeFileSync(join(folder, newId()), 'a file');
    const { code, said } = await start();
    assert.equal(code, 1);
    assert.match(
      said,
      /^survey-service cannot start: UPLOAD_S3_BUCKET is set, but \S+uploads holds 1 uploaded files?: /,
    );
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('are SERVICE_UNAVAILABLE while the bucket cannot be reached; submissions without files are accepted', async () => {
    const id = await upload(randomBytes(1000));
    s3.cut();
    for (const body of [randomBytes(1000), randomBytes(6 * mib)]) {
      const reply = await send(body);
      assert.deepEqual(
        [reply.status, ((await reply.json()) as any).code, Number(reply.headers.get('retry-after')) >= 1],
        [503, 'SERVICE_UNAVAILABLE', true],
      );
    }
    const reply = await download(id);
    assert.deepEqual([reply.status, ((await reply.json()) as any).code], [503, 'SERVICE_UNAVAILABLE']);
    assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
    // A log is written beside the replies, and a long line of it may be read in pieces.
    await eventually(() => {
      assert.match(service.logs(), /the storage of uploads failed/);
      for (const line of service.logs().trim().split('\n')) JSON.parse(line);
    });
    assert.ok(!service.logs().includes('"level":"error"'), 'a bucket that is away is no error of ours');
    assert.ok(!service.logs().includes('S3RVER'), 'keys are not logged');
  });
});
