import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxUnwrittenMessages } from '../../src/webhooks/delivery-queue.ts';
import { socketsPerEndpoint } from '../../src/webhooks/send.ts';
import { runWebhookChaos } from '../support/webhook-chaos.ts';

describe('webhooks under kill -9', () => {
  // The long version, two minutes: npm run chaos:webhooks
  it('report every committed event at least once under one id, and hardly ever twice', async () => {
    const report = await runWebhookChaos({ seconds: 12, perSecond: 400, killEveryMs: 3000 });
    assert.ok(
      Object.values(report.kills).every((count) => count > 0),
      JSON.stringify(report.kills),
    );
    assert.ok(report.failedCalls > 0, 'the kills were felt');
    assert.deepEqual(report.missing, []);
    assert.deepEqual(report.underSeveralIds, [], 'the same webhook-id on every attempt');
    assert.equal(report.delivered, report.stored, 'no event without its cause, no cause without its event');
    // Only who delivers can repeat: what was under way, and what came back and was not written down yet. The long
    // version holds that against 0.1 % of all.
    const most = report.kills.jobs * (socketsPerEndpoint + maxUnwrittenMessages);
    assert.ok(
      report.repeated <= most,
      `${report.repeated} of ${report.requests} requests were repetitions, ${most} may be: ${JSON.stringify(report.kills)}`,
    );
  });
});
