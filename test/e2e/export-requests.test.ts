import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import { downloadExport, finishedExport } from '../support/exports.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { type ExportsFixture, useExports } from '../support/use-exports.ts';

describe('an export, from its request to its removal', () => {
  let service: RunningService;
  let admin: Client;
  let token: string;
  let full: FullSurvey;
  let file: ExportsFixture['file'];
  useExports((fixture) => ({ service, admin, token, full, file } = fixture));

  it('is downloaded whole or in ranges, with an ETag and a file name in any script', async () => {
    const { record, bytes, reply } = await file({ format: 'CSV', isComplete: true });
    const etag = reply.headers.get('etag') ?? '';
    assert.equal(reply.headers.get('content-length'), String(bytes.length));
    assert.equal(etag, `"${record.sha256}"`);
    assert.match(
      reply.headers.get('content-disposition') ?? '',
      /^attachment; filename="[\x20-\x7e]+\.csv"; filename\*=UTF-8''%D0%9E/,
    );
    assert.equal(
      decodeURIComponent(/filename\*=UTF-8''(\S+)/.exec(reply.headers.get('content-disposition') ?? '')?.[1] ?? ''),
      `Опрос “гостей” 客人 2026-${record.createdAt.slice(0, 10)}.csv`,
    );
    const part = await downloadExport(service, token, record.exportId, { range: 'bytes=10-19' });
    assert.equal(part.status, 206);
    assert.equal(part.headers.get('content-range'), `bytes 10-19/${bytes.length}`);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
    const tail = await downloadExport(service, token, record.exportId, { range: 'bytes=-5', 'if-range': etag });
    assert.deepEqual(Buffer.from(await tail.arrayBuffer()), bytes.subarray(-5));
    assert.equal(
      (await downloadExport(service, token, record.exportId, { range: 'bytes=0-1', 'if-range': '"other"' })).status,
      200,
    );
    assert.equal(
      (await downloadExport(service, token, record.exportId, { range: `bytes=${bytes.length}-` })).status,
      416,
    );
    assert.equal((await downloadExport(service, token, record.exportId, { 'if-none-match': etag })).status, 304);
    const head = await fetch(`${service.base}/exports/${record.exportId}/download`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(head.headers.get('content-length'), String(bytes.length));
  });

  it('of a user with one is not made after all of a user with many', async () => {
    const other = await signInNewUser(service, admin);
    const { id: otherSurveyId } = await other.create('/surveys', { title: 'One export' });
    const request = (client: Client, surveyId: string) =>
      client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'NDJSON' });
    const many: { exportId: string }[] = [];
    for (let n = 0; n < 8; n += 1) many.push(await request(admin, full.id));
    const { exportId } = await request(other, otherSurveyId);
    const { createdAt, completedAt } = await finishedExport(other, exportId);
    const records = await Promise.all(many.map((made) => finishedExport(admin, made.exportId)));
    // A slow machine may make some of them before the other user asks.
    const before = records.filter((record) => record.completedAt > createdAt && record.completedAt < completedAt);
    assert.ok(before.length <= 4, `${before.length} of 8 that waited were made before it`);
  });

  it('is refused with invalid options', async () => {
    const refused = async (body: object, path: string) => {
      const reply = await admin.call('POST', `/exports/surveys/${full.id}`, { body });
      assert.equal(reply.status, 400, JSON.stringify(reply.body));
      assert.equal(reply.body.code, 'VALIDATION_ERROR');
      assert.equal(reply.body.details[0].path, path);
    };
    await refused({ format: 'DOC' }, 'format');
    await refused({}, 'format');
    await refused({ format: 'CSV', startDate: '2026-02-01', endDate: '2026-01-01' }, 'endDate');
    await refused({ format: 'CSV', filters: ['nothing:yes'] }, 'filters.0');
    await refused({ format: 'CSV', columns: ['id', 'colour'] }, 'columns.1');
    await refused({ format: 'CSV', sheet: 1 }, 'sheet');
    assert.equal(
      (await admin.call('POST', '/exports/surveys/01900000-0000-7000-8000-000000000000', { body: { format: 'CSV' } }))
        .status,
      404,
    );
    assert.equal((await admin.call('GET', '/exports/01900000-0000-7000-8000-000000000000')).status, 404);
    assert.equal(
      (await admin.call('GET', '/exports/01900000-0000-7000-8000-000000000000', { token: undefined })).status,
      401,
    );
  });

  it('is gone, and does not seem unfinished, if its file was not restored with PostgreSQL', async () => {
    const { record } = await file({ format: 'CSV' }, full.id);
    rmSync(join(service.dataDir, 'exports', record.exportId));
    const reply = await admin.call('GET', `/exports/${record.exportId}/download`);
    assert.equal(reply.status, 404, JSON.stringify(reply.body));
    assert.match(reply.body.message, /lost.*ask for it again/);
  });

  it('is listed newest first, can be removed, and is removed with its survey', async () => {
    const survey = await createFullSurvey(admin);
    const [one, two] = [await file({ format: 'CSV' }, survey.id), await file({ format: 'JSON' }, survey.id)];
    const list = await admin.call('GET', '/exports?limit=2');
    assert.deepEqual(
      list.body.data.map((item: any) => item.exportId),
      [two.record.exportId, one.record.exportId],
    );
    assert.ok(list.body.pagination.total >= 2);
    assert.deepEqual(await admin.remove(`/exports/${one.record.exportId}`), { id: one.record.exportId, deleted: true });
    assert.equal((await admin.call('GET', `/exports/${one.record.exportId}`)).status, 404);
    await admin.remove(`/surveys/${survey.id}`);
    assert.equal((await admin.call('GET', `/exports/${two.record.exportId}`)).status, 404);
    await eventually(async () =>
      assert.equal(
        (await admin.call('GET', '/exports?limit=100')).body.data.some((item: any) => item.surveyId === survey.id),
        false,
      ),
    );
  });
});
