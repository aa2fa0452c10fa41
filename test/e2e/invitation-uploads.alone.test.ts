import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { assertLoopStaysFree, loopBarMs } from '../support/free-loop.ts';
import { uploadInvitations } from '../support/invitations.ts';
import { slowness } from '../support/machine-speed.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

/** What one collection of garbage may add to the bar of the event loop is in it. */
const longestMs = 60;
const mebibyte = 1024 * 1024;
const csv = { 'content-type': 'text/csv' };
const numbered = (count: number, row: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => row(n)).join('');

describe('large uploads of invitations', () => {
  const probe = createProcessProbe();
  let service: RunningService;
  let admin: Client;
  let collectorId: string;
  before(async () => {
    service = await startService({ env: { ...probe.env, WORKERS: '1' } });
    admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'By invitation', status: 'ACTIVE' });
    collectorId = (await admin.create(`/surveys/${id}/collectors`, { name: 'List', kind: 'INVITATION' })).id;
  });
  after(async () => assert.equal(await service?.stop(), 0));

  for (const [name, wanted, body, headers] of [
    ['megabytes of blank lines', 400, '\n'.repeat(8 * mebibyte)],
    ['100,000 empty rows', 201, '{}\n'.repeat(100_000)],
    ['100,000 lines of CSV', 201, `reference,metadata.a\n${numbered(100_000, (n) => `guest ${n},b\n`)}`, csv],
    ['megabytes of blank lines of CSV', 400, `reference\n${'\n'.repeat(8 * mebibyte)}`, csv],
    ['more columns than a row may have', 400, `${numbered(9000, (n) => `metadata.${n},`)}reference\n`, csv],
    [
      'rows of the largest size',
      201,
      `${JSON.stringify({ metadata: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, 'x'.repeat(1000)])) })}\n`.repeat(
        2000,
      ),
    ],
  ] as const)
    it(`do not block the event loop: ${name}`, () =>
      assertLoopStaysFree(probe, service.pid, { p99Ms: loopBarMs, maxMs: longestMs }, async () => {
        const { status } = await uploadInvitations(service, admin, collectorId, body, headers);
        assert.equal(status, wanted);
      }));

  it('take no more than ten seconds for 100,000 rows on a machine at rest', async () => {
    const rows = numbered(100_000, (n) => `{"reference":"timed ${n}"}\n`);
    const startedAt = performance.now();
    assert.equal((await uploadInvitations(service, admin, collectorId, rows)).status, 201);
    const tookMs = performance.now() - startedAt;
    assertWithin(10_000 * slowness(), tookMs);
  });
});
