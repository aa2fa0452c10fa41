import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../src/log.ts';
import { type ClickHouse, createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from './client.ts';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';
import { type RunningService, startService } from './service.ts';

export const reconcileMain = fileURLToPath(new URL('../../src/reconcile/main.js', import.meta.url));

export interface ReconcileFixture {
  service: RunningService;
  admin: Client;
  clickhouse: ClickHouse;
}

interface Ended {
  code: number | null;
  said: string;
}

/**
 * A service on stores of its own for the tests of a suite, and the command that compares them: `take` is given the
 * service before the first test.
 */
export function useReconcile(take: (fixture: ReconcileFixture) => void) {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  let clickhouse: ClickHouse;
  before(async () => {
    service = await startService({ dataDir });
    admin = await adminClient(service);
    const { clickhouse: url = '' } = runningStores(dataDir);
    clickhouse = createClickHouse({ urls: [url], log: createLog('silent') });
    take({ service, admin, clickhouse });
  });
  after(async () => {
    await clickhouse.close();
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function runWith(settings: Record<string, string>, ...args: string[]): Promise<Ended> {
    const child = spawn(process.execPath, [reconcileMain, ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, said })));
  }

  return {
    dataDir,
    run: (...args: string[]) => runWith({}, ...args),
    runWith,
    /** An ACTIVE survey with so many responses, which are stored. */
    async survey(responses: number): Promise<{ id: string; responseIds: string[] }> {
      const { id } = await admin.create('/surveys', { title: 'Reconciled', status: 'ACTIVE' });
      const replies = await Promise.all(Array.from({ length: responses }, () => admin.submit(id, { answers: [] })));
      await eventually(async () =>
        assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, responses),
      );
      return { id, responseIds: replies.map(({ body }) => body.data.responseId) };
    },
  };
}
