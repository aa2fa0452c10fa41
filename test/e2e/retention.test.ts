import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import { retentionRules } from '../../src/stores/postgres/survey-retention.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from '../support/client.ts';
import { finishedExport } from '../support/exports.ts';
import type { RunningService } from '../support/service.ts';
import { dayMs, useRetention } from '../support/use-retention.ts';

describe('erasure and retention', () => {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  const { inDays, make, shows } = useRetention((served) => ({ service, admin, stores } = served));

  const fileOf = (uploadId: string) => join(service.dataDir, 'uploads', uploadId.slice(-2), uploadId);
  const exportOf = async (surveyId: string, more: Record<string, unknown> = {}): Promise<string> => {
    const { exportId } = (
      await admin.call('POST', `/exports/surveys/${surveyId}`, { body: { format: 'JSON', ...more } })
    ).body.data;
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
    return exportId;
  };
  const isWithdrawn = async (exportId: string): Promise<void> => {
    const { status, downloadUrl, error } = await admin.get(`/exports/${exportId}`);
    assert.deepEqual([status, downloadUrl], ['EXPIRED', null]);
    assert.match(error, /response .* deleted.*again/);
    const refused = await admin.call('GET', `/exports/${exportId}/download`);
    assert.deepEqual([refused.status, refused.body.message], [404, `There is no such file any more. ${error}`]);
    assert.equal((await admin.call('GET', `/exports/${exportId}/download`)).status, 404);
    assert.ok(!existsSync(join(service.dataDir, 'exports', exportId)));
  };
  /** An export that a process has in hand. */
  const exportInHand = async (surveyId: string): Promise<string> => {
    const [id, { id: userId }, now] = [newId(), await admin.get('/auth/me'), new Date()];
    await stores.sql`INSERT INTO exports (id, survey_id, user_id, format, options, survey_version, created_at) VALUES (${id}, ${surveyId}, ${userId}, 'CSV', '{"filters": [], "labels": "text"}', 1, ${now})`;
    assert.ok(await stores.exports.start(id));
    return id;
  };
  const finish = (id: string, days: number): Promise<boolean> =>
    stores.exports.complete(id, {
      rowCount: 1,
      fileSize: 1,
      sha256: '0'.repeat(64),
      expiresAt: new Date(Date.now() + days * dayMs),
    });

  it('a deletion removes the export files that show the response, and no others', async () => {
    const survey = await make();
    const first = await survey.submit();
    const [shown, elsewhere] = [await exportOf(survey.id), await exportOf(survey.id, { endDate: '2020-01-01' })];
    const second = await survey.submit();
    await admin.remove(`/responses/${second}`);
    assert.equal((await admin.get(`/exports/${shown}`)).status, 'COMPLETED', 'it was made before the response came in');
    await admin.remove(`/responses/${first}`);
    await isWithdrawn(shown);
    assert.equal((await admin.get(`/exports/${elsewhere}`)).status, 'COMPLETED');
    assert.equal((await admin.call('GET', `/exports/${elsewhere}/download`)).status, 200);
  });

  it('a file that is being made does not show a response that was deleted meanwhile', async () => {
    const survey = await make();
    const responseId = await survey.submit();
    const exportId = await exportInHand(survey.id);
    await admin.remove(`/responses/${responseId}`);
    assert.equal(await finish(exportId, 7), false);
    assert.equal(await stores.exports.saveProgress(exportId, 0.5), undefined);
    const { status, error } = await admin.get(`/exports/${exportId}`);
    assert.equal(status, 'FAILED');
    assert.match(error, /deleted.*ask for it again/);
  });

  it('expired responses stay in export files for a day at most', async () => {
    const survey = await make({ retentionDays: 3 });
    await survey.submit();
    const [done, inHand] = [await exportOf(survey.id), await exportInHand(survey.id)];
    assert.equal(await inDays(4).erasing.eraseExpired(), 1);
    assert.ok(await finish(inHand, 7));
    for (const id of [done, inHand]) {
      const { status, expiresAt } = await admin.get(`/exports/${id}`);
      assert.equal(status, 'COMPLETED');
      assert.ok(Math.abs(Date.parse(expiresAt) - (Date.now() + 5 * dayMs)) < 600_000, expiresAt);
    }
  });

  it('erasing a respondent removes responses, partial ones too, with uploads, counts and export files, and nothing else', async () => {
    const survey = await make({ responseQuota: 50 });
    const uploadId = await survey.upload();
    const who = 'Zoë / O’Hara \\ 100%';
    const mine = [
      await survey.submit({ respondent: who }, uploadId),
      await survey.submit({ respondent: who }),
      await survey.submit({ respondent: who, isComplete: false }),
    ];
    const others = [await survey.submit({ respondent: 'somebody else' }), await survey.submit()];
    const exportId = await exportOf(survey.id);
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${encodeURIComponent(who)}`), {
      id: who,
      deleted: true,
      responses: 3,
      isFinished: true,
    });
    for (const id of mine) assert.equal((await admin.call('GET', `/responses/${id}`)).status, 404);
    for (const id of others) assert.equal((await admin.get(`/responses/${id}`)).id, id);
    assert.ok(!existsSync(fileOf(uploadId)));
    assert.equal((await admin.call('GET', `/uploads/${uploadId}`)).status, 404);
    await isWithdrawn(exportId);
    await shows(survey.id, 2);
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/${encodeURIComponent(who)}`), {
      id: who,
      deleted: true,
      responses: 0,
      isFinished: true,
    });
    const audit = await admin.get(`/audit?action=respondent.erased&objectId=${survey.id}`);
    assert.equal(audit.length, 2);
    assert.ok(!JSON.stringify(audit).includes('Zo'), 'the audit does not keep who it was');
  });

  it('more responses of a respondent than a batch holds are erased', async () => {
    const survey = await make();
    for (let n = 0; n < 12; n += 1)
      await Promise.all(Array.from({ length: 50 }, () => survey.submit({ respondent: 'busy' })));
    assert.deepEqual(await admin.remove(`/surveys/${survey.id}/respondents/busy`), {
      id: 'busy',
      deleted: true,
      responses: 600,
      isFinished: true,
    });
    await shows(survey.id, 0);
  });

  it('responses are erased at the age of their survey’s rule, or of the general one', async () => {
    const [short, long, general] = [await make({ retentionDays: 3 }), await make({ retentionDays: 30 }), await make()];
    const uploadId = await short.upload();
    const gone = await short.submit({}, uploadId);
    await short.submit({ isComplete: false });
    const kept = [await long.submit(), await general.submit()];
    await inDays(2).erasing.eraseExpired();
    await shows(short.id, 2);
    assert.equal(await inDays(4).erasing.eraseExpired(), 2);
    await shows(short.id, 0);
    const audit = await admin.get(`/audit?objectId=${short.id}&action=responses.expired`);
    assert.deepEqual(
      audit.map(({ actorKind, actorId, objectKind, details }: any) => [
        actorKind,
        actorId,
        objectKind,
        details.erased,
        details.retentionDays,
        Object.keys(details).sort(),
      ]),
      [['SYSTEM', null, 'survey', 2, 3, ['before', 'erased', 'retentionDays']]],
    );
    assert.equal((await admin.call('GET', `/responses/${gone}`)).status, 404);
    assert.ok(!existsSync(fileOf(uploadId)));
    for (const id of kept) assert.equal((await admin.get(`/responses/${id}`)).id, id);
    const rules = await retentionRules(stores.sql, 5, new Date(Date.now() + 6 * dayMs));
    assert.deepEqual(
      rules
        .filter(({ surveyId }) => [short.id, long.id, general.id].includes(surveyId))
        .map(({ days }) => days)
        .sort(),
      [3, 5],
    );
  });
});
