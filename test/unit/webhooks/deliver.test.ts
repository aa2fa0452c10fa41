import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../src/log.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { DeliveryResult, DueDelivery } from '../../../src/stores/postgres/webhook-deliveries.ts';
import type { Webhook } from '../../../src/stores/postgres/webhook-row.ts';
import { createDeliverer, type DeliverDeps } from '../../../src/webhooks/deliver.ts';
import { makeSecret } from '../../../src/webhooks/sign.ts';
import { eventually } from '../../support/eventually.ts';
import { unlimitedRequests } from '../../support/request-limits.ts';

const at = new Date(Date.UTC(2026, 0, 1));
const webhook = {
  id: newId(),
  ownerId: newId(),
  scopeRole: 'ADMIN',
  surveyId: null,
  url: 'http://127.0.0.1/',
  events: ['survey.published'],
  description: null,
  isActive: true,
  isBatch: false,
  maxPerSecond: null,
  maxAgeSeconds: 1000,
  secretSealed: Buffer.alloc(0),
  oldSecrets: [],
  failingSince: null,
  pausedUntil: null,
  disabledAt: null,
  disabledReason: null,
  createdAt: at,
  updatedAt: at,
} as unknown as Webhook;
const deliveryOf = (): DueDelivery => ({
  id: newId(),
  webhookId: webhook.id,
  event: 'survey.published',
  occurredAt: at,
  data: {},
  status: 'PENDING',
  tries: 0,
  nextAttemptAt: at,
  pendingSince: at,
  batchId: null,
  createdAt: at,
});

/** A deliverer over rows in memory, with a hundred deliveries due at first. */
function setUp(
  fakes: {
    open?: DeliverDeps['secrets']['open'];
    due?: (held: readonly string[]) => Promise<DueDelivery[]>;
    settle?: () => Promise<void>;
    webhook?: Partial<Webhook>;
    perSecond?: number;
  } = {},
) {
  const rows = Array.from({ length: fakes.webhook?.isBatch ? 300 : 100 }, deliveryOf);
  const settled = new Set<string>();
  const did: string[] = [];
  /** The next turns that were stored in the row. */
  const turns: (Date | null)[] = [];
  const secret = makeSecret();
  const save = (name: string) => async (results: readonly DeliveryResult[]) => {
    await fakes.settle?.();
    for (const { id } of results) settled.add(id);
    did.push(name);
    return 'saved' as const;
  };
  const limits = unlimitedRequests();
  const { perSecond = limits.pace.perSecond() } = fakes;
  const deps: DeliverDeps = {
    requestLimits: { ...limits, pace: { ...limits.pace, perSecond: () => perSecond } },
    webhooks: {
      lease: async () => {
        did.push('lease');
        return { ...webhook, ...fakes.webhook };
      },
      renewLeases: async (renewals) => {
        did.push('extend');
        turns.push(...renewals.map(({ nextSendAt }) => nextSendAt));
        return new Map(renewals.map(({ webhookId }) => [webhookId, true]));
      },
      release: async () => void did.push('release'),
      markFailing: async () => undefined,
      pause: async () => undefined,
      disable: async () => true,
    },
    deliveries: {
      findDue: async (_id, { excludedIds, limit }) =>
        fakes.due?.(excludedIds) ??
        rows.filter(({ id }) => !settled.has(id) && !excludedIds.includes(id)).slice(0, limit),
      findPendingOfBatch: async () => [],
      bindBatch: async () => undefined,
      saveResults: save('settle'),
      saveResultsUnsynced: save('settle unsynced'),
    },
    send: async () => {
      did.push('send');
      return { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 1 };
    },
    cutConnections: () => undefined,
    secrets: { open: fakes.open ?? (() => secret) },
    scheduleSeconds: [1],
    metrics: { webhookAttempted: () => undefined },
    log: createLog('silent'),
    now: Date.now,
    random: Math.random,
    newId,
  };
  return {
    deliverer: createDeliverer(deps),
    deps,
    rows,
    settled,
    did,
    turns,
    count: (what: string) => did.filter((one) => one === what).length,
  };
}

describe('delivering to an endpoint', () => {
  it('sends each delivery once and writes each outcome', async () => {
    const { deliverer, rows, settled, count } = setUp();
    assert.equal(await deliverer.drain(webhook.id), 'idle');
    assert.equal(count('send'), rows.length);
    assert.equal(settled.size, rows.length);
  });

  it('waits for the disk with each outcome, but not while the pace is short', async () => {
    const ample = setUp({ webhook: { isBatch: true }, perSecond: 1000 });
    await ample.deliverer.drain(webhook.id);
    assert.deepEqual([ample.count('settle') > 0, ample.count('settle unsynced')], [true, 0]);
    const short = setUp({ webhook: { isBatch: true }, perSecond: 99 });
    await short.deliverer.drain(webhook.id);
    assert.deepEqual([short.count('settle'), short.count('settle unsynced') > 0], [0, true]);
    assert.equal(short.settled.size, short.rows.length);
  });

  it('reports a secret of another SECRETS_KEY once in five minutes, though it is tried each second', async () => {
    let nowMs = Date.now();
    const { deps, count } = setUp({
      open: () => {
        throw new Error('Unsupported state or unable to authenticate data');
      },
    });
    const { drain } = createDeliverer({ ...deps, now: () => nowMs });
    const reports = async (): Promise<boolean> =>
      drain(webhook.id).then(
        () => false,
        () => true,
      );
    const seconds = [0, 1, 2, 299, 301, 302, 600, 602];
    const startedAtMs = nowMs;
    const reported: number[] = [];
    for (const second of seconds) {
      nowMs = startedAtMs + 1000 * second;
      if (await reports()) reported.push(second);
    }
    assert.deepEqual(reported, [0, 301, 602]);
    assert.deepEqual([count('release'), count('send')], [seconds.length, 0]);
  });

  it('waits for a new secret after SECRETS_KEY was changed, and needs none of the replaced ones', async () => {
    const [former, present] = [Buffer.from('former'), Buffer.from('present')];
    const open = (sealed: Uint8Array) => {
      if (Buffer.from(sealed).equals(former)) throw new Error('Unsupported state or unable to authenticate data');
      return makeSecret();
    };
    const lost = setUp({ open, webhook: { secretSealed: former } });
    await assert.rejects(lost.deliverer.drain(webhook.id), /another SECRETS_KEY: rotate it/);
    assert.deepEqual([lost.settled.size, lost.count('release')], [0, 1]);
    const rotated = setUp({
      open,
      webhook: { secretSealed: present, oldSecrets: [{ sealed: former, until: new Date(Date.now() + 60_000) }] },
    });
    await rotated.deliverer.drain(webhook.id);
    assert.equal(rotated.settled.size, rotated.rows.length);
  });

  it('sends only a few messages while their outcomes cannot be written, because a crash would repeat them', async () => {
    let answer: () => void = () => undefined;
    const stuck = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { deliverer, rows, count } = setUp({ settle: () => stuck });
    const draining = deliverer.drain(webhook.id);
    await eventually(() => assert.ok(count('send') >= 10));
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(count('send') <= 15, `${count('send')} were sent`);
    answer();
    await draining;
    assert.equal(count('send'), rows.length);
  });

  it('releases the lease only when all outcomes are written, even if rows can no longer be read', async () => {
    let reads = 0;
    const rows = Array.from({ length: 8 }, deliveryOf);
    const due = async () => {
      reads += 1;
      if (reads > 1) throw new Error('the database is away');
      return rows;
    };
    const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 30));
    const { deliverer, did, settled } = setUp({ due, settle: slowly });
    await assert.rejects(deliverer.drain(webhook.id), /away/);
    assert.equal(settled.size, rows.length);
    assert.equal(did.at(-1), 'release');
  });

  it('delivers to an endpoint once at a time, even if the lease has run out', async () => {
    const { deliverer, rows, count } = setUp({ settle: () => new Promise((resolve) => setTimeout(resolve, 5)) });
    await Promise.all([deliverer.drain(webhook.id), deliverer.drain(webhook.id), deliverer.drain(webhook.id)]);
    assert.equal(count('lease'), 1);
    assert.equal(count('send'), rows.length);
  });

  it('leaves messages whose turn comes after the slice to a later run', async (test) => {
    const { deliverer, settled, count } = setUp({ webhook: { isBatch: true, maxPerSecond: 1 } });
    const clock = performance.now.bind(performance);
    let ahead = 0;
    test.mock.method(performance, 'now', () => clock() + ahead);
    for (const sent of [1, 2, 3]) {
      assert.equal(await deliverer.drain(webhook.id), 'idle', 'the next turn is a hundred seconds away');
      assert.deepEqual([count('send'), settled.size], [sent, sent * 100]);
      ahead += 100_000;
    }
  });

  it('notes a turn that is longer than the lease before it sends, so that no other process sends earlier after a crash', async () => {
    const batches = setUp({ webhook: { isBatch: true, maxPerSecond: 1 } });
    await batches.deliverer.drain(webhook.id);
    assert.deepEqual(batches.did, ['lease', 'extend', 'send', 'settle', 'release']);
    const aheadMs = (batches.turns[0]?.getTime() ?? 0) - Date.now();
    assert.ok(aheadMs > 90_000 && aheadMs <= 100_000, `${aheadMs} ms`);
    const quick = setUp({ webhook: { maxPerSecond: 1000 } });
    await quick.deliverer.drain(webhook.id);
    assert.equal(quick.count('extend'), 0, 'the lease keeps others away long enough');
  });

  it('sends nothing when noting the turn takes so long that the lease may be lost', async (test) => {
    const clock = performance.now.bind(performance);
    let ahead = 0;
    test.mock.method(performance, 'now', () => clock() + ahead);
    const { deliverer, deps, count } = setUp({ webhook: { isBatch: true, maxPerSecond: 1 } });
    let isAway = true;
    Object.assign(deps.webhooks, {
      renewLeases: async () => {
        if (!isAway) return new Map([[webhook.id, true]]);
        ahead += 7000;
        throw new Error('the database was away');
      },
    });
    await deliverer.drain(webhook.id);
    assert.equal(count('send'), 0);
    isAway = false;
    await deliverer.drain(webhook.id);
    assert.equal(count('send'), 1, 'the unused turn is still there');
  });

  it('reports more work when the next turn comes just after its slice', async (test) => {
    const clock = performance.now.bind(performance);
    let ahead = 0;
    test.mock.method(performance, 'now', () => clock() + ahead);
    test.mock.timers.enable({ apis: ['setInterval'] });
    const { deliverer, count, turns } = setUp({ webhook: { maxPerSecond: 1 } });
    const draining = deliverer.drain(webhook.id);
    await eventually(() => assert.equal(count('settle'), 1));
    test.mock.timers.tick(1500);
    assert.ok(turns[0], 'the next turn is stored for a process that takes over');
    // Renewed all the time, to just before the end of its slice.
    for (let renewals = 0; renewals < 13; renewals += 1) {
      ahead += 1500;
      test.mock.timers.tick(1500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(await draining, 'more');
    assert.equal(count('send'), 2);
  });

  it('keeps to its rate after it has waited for the other endpoints of its host', async () => {
    const { deps } = setUp();
    const [slow, paced] = [Array.from({ length: 5 }, () => newId()), newId()];
    Object.assign(deps.webhooks, {
      lease: async ({ webhookId }: { webhookId: string }) => ({
        ...webhook,
        id: webhookId,
        maxPerSecond: webhookId === paced ? 4 : null,
      }),
    });
    const held: (() => void)[] = [];
    const sentAt: number[] = [];
    const deliverer = createDeliverer({
      ...deps,
      requestLimits: { ...deps.requestLimits, host: { connections: 5, requestsPerSecond: 100_000 } },
      send: async (request) => {
        if (request.endpointId === paced) sentAt.push(performance.now());
        else await new Promise<void>((resolve) => held.push(resolve));
        return deps.send(request);
      },
    });
    const draining = slow.map((id) => deliverer.drain(id));
    await eventually(() => assert.equal(held.length, 5, 'all connections to the host are in use'));
    draining.push(deliverer.drain(paced));
    // Long enough for five turns at four a second.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(sentAt.length, 0);
    const isServed = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 10);
    await eventually(() => assert.ok(sentAt.length >= 3));
    deliverer.stop();
    const gaps = sentAt.slice(1).map((atMs, index) => Math.round(atMs - (sentAt[index] ?? 0)));
    assert.ok(
      gaps.slice(0, 2).every((ms) => ms >= 100),
      `${gaps.join(' and ')} ms apart`,
    );
    await Promise.all(draining).finally(() => clearInterval(isServed));
  });

  it('stops at once while it waits for its turn', async () => {
    const { deliverer, count } = setUp({ webhook: { maxPerSecond: 0.1 } });
    const draining = deliverer.drain(webhook.id);
    await eventually(() => assert.equal(count('settle'), 1));
    const stoppedAt = performance.now();
    deliverer.stop();
    await draining;
    assert.ok(performance.now() - stoppedAt < 5000, `${performance.now() - stoppedAt} ms`);
    assert.equal(count('send'), 1);
  });
});
