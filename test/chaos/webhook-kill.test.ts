import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runWebhookChaos } from '../support/webhook-chaos.ts';

describe('webhooks under kill -9', () => {
  // The long version, two minutes: npm run chaos:webhooks
  it('tell of everything that was committed, at least once, each under one id, and hardly ever twice', async () => {
    const report = await runWebhookChaos({ seconds: 12, perSecond: 400, killEveryMs: 3000 });
    assert.ok(Object.values(report.kills).every((count) => count > 0), JSON.stringify(report.kills));
    assert.ok(report.failedCalls > 0, 'the kills were felt');
    assert.deepEqual(report.missing, []);
    assert.deepEqual(report.underSeveralIds, [], 'the same webhook-id on every attempt');
    assert.equal(report.told, report.stored, 'no event without its cause, no cause without its event');
    // In so short a time a kill weighs more than in the long version, which holds 0.1 % of all: what was just being sent goes out again.
    const kills = Object.values(report.kills).reduce((sum, count) => sum + count, 0);
    assert.ok(report.repeated <= report.requests * 0.001 + 3 * kills, `${report.repeated} of ${report.requests} requests were repetitions, after ${kills} kills`);
  });
});
