import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createRewriteErasureLog } from '../../../../src/pipelines/maintenance/rewrite-erasure-log.ts';
import { runningStores } from '../../../../src/stores/embedded/start-stores.ts';
import type { Stores } from '../../../../src/stores/stores.ts';
import { adminClient, type Client } from '../../../support/client.ts';
import { temporaryDataDir } from '../../../support/data-dir.ts';
import { eraseAllDeleted } from '../../../support/erase-all-deleted.ts';
import { eventually } from '../../../support/eventually.ts';
import { type RunningService, startService } from '../../../support/service.ts';
import { openStoresOf, urlsOf } from '../../../support/service-stores.ts';

/** The files below a folder that hold the text. */
function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      try {
        return readFileSync(file).includes(text);
      } catch {
        // A store may remove its files at any moment.
        return false;
      }
    });
}

describe('erased answers in the files of DATA_DIR', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  before(async () => {
    service = await startService({ dataDir });
    admin = await adminClient(service);
    stores = await openStoresOf(service, urlsOf(runningStores(dataDir)));
    await removeReplacedParts();
  });
  after(async () => {
    await stores.close();
    assert.equal(await service.stop(), 0);
    rmSync(dataDir, { recursive: true, force: true });
  });

  const answered = async (text: string) => {
    const { id } = await admin.create('/surveys', { title: 'Erased' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What?' });
    await admin.post(`/surveys/${id}/publish`);
    const reply = await admin.submit(id, { answers: [{ questionId: question.id, textValue: text }] });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    return { surveyId: String(id), responseId: String(reply.body.data.responseId) };
  };
  const total = async (surveyId: string) => (await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses;
  /** Trims the stream as after ten minutes. */
  const trimStreams = () =>
    eventually(async () => {
      for (const shard of stores.shards.all) {
        await stores.stream.trim(shard, '18446744073709551615-18446744073709551615');
        assert.equal((await stores.stream.stats(shard)).length, 0);
      }
    }, 20_000);
  /** ClickHouse removes the files of replaced parts after eight minutes; in seconds here. */
  const removeReplacedParts = () =>
    stores.clickhouse.command(
      `ALTER TABLE ${stores.clickhouse.table('responses')} MODIFY SETTING old_parts_lifetime = 1, merge_tree_clear_old_parts_interval_seconds = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1`,
    );
  /** No file holds the text any more, within a minute. */
  const isGone = async (text: string): Promise<void> => {
    for (let attempt = 0; filesWith(text, dataDir).length > 0 && attempt < 30; attempt += 1)
      await new Promise((resolve) => setTimeout(resolve, 2000));
    assert.deepEqual(filesWith(text, dataDir), []);
  };
  const rewrite = () =>
    createRewriteErasureLog({
      erasureLog: stores.erasureLog,
      now: Date.now,
      log: createLog('error'),
      settleMs: 0,
      intervalMs: 0,
    });

  it('are gone once the append-only file was rewritten after their rows left the stream', async () => {
    const answer = 'Erased-answer-5d0e7f';
    const { surveyId, responseId } = await answered(answer);
    await eventually(async () => assert.equal(await total(surveyId), 1));
    assert.ok(filesWith(answer, dataDir).length > 0, 'the test can find it while it is there');
    await admin.remove(`/responses/${responseId}`);
    const run = rewrite();
    await run();
    const waiting = await stores.erasureLog.state();
    assert.ok(waiting.waiting, 'a rewrite waits');
    await run();
    assert.equal((await stores.erasureLog.state()).rewrittenAtMs, 0, 'the stream still holds the row');
    await trimStreams();
    await eraseAllDeleted(stores.responses);
    await run();
    const { erasures, covered, waiting: left } = await stores.erasureLog.state();
    assert.deepEqual([covered, left], [erasures, undefined]);
    await isGone(answer);
  });

  it('are gone after a survey was deleted', async () => {
    const answer = 'Answer-of-a-deleted-survey-81ac';
    const { surveyId } = await answered(answer);
    await eventually(async () => assert.equal(await total(surveyId), 1));
    const { erasures } = await stores.erasureLog.state();
    await admin.remove(`/surveys/${surveyId}`);
    await eventually(async () => assert.ok((await stores.erasureLog.state()).erasures > erasures), 20_000);
    const run = rewrite();
    await run();
    await trimStreams();
    await eraseAllDeleted(stores.responses);
    await run();
    await isGone(answer);
  });
});
