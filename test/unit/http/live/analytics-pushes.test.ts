import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnalyticsPushes } from '../../../../src/http/live/analytics-pushes.ts';
import type { ClientStream, LiveMessage } from '../../../../src/http/live/client-stream.ts';
import { createLog } from '../../../../src/log.ts';
import { eventually } from '../../../support/eventually.ts';

/** A second in the service. */
const everyMs = 60;

interface Listener extends ClientStream {
  frames: string[];
  isCongested: boolean;
  /** How many wait for room. */
  waits(): number;
  hasRoom(): void;
}

function createListener(): Listener {
  let waiting: (() => void)[] = [];
  const frames: string[] = [];
  return {
    frames,
    isCongested: false,
    isOver: false,
    waits: () => waiting.length,
    write: (written: readonly LiveMessage[]) => void frames.push(...written.map(({ text }) => text)),
    whenWritable: () => new Promise((resolve) => waiting.push(resolve)),
    hasRoom() {
      this.isCongested = false;
      for (const go of waiting) go();
      waiting = [];
    },
  };
}

function createPushes({ computingMs = 0, isAway = false } = {}) {
  const computed: number[] = [];
  const atOnce = { now: 0, most: 0 };
  const watchers = new Set<() => void>();
  const asked: number[] = [];
  const pushes = createAnalyticsPushes({
    log: createLog('silent'),
    minIntervalMs: everyMs,
    retryMs: 10,
    feed: {
      onStored: async (_surveyId, touched) => {
        asked.push(performance.now());
        if (isAway) throw new Error('Redis is away');
        watchers.add(touched);
        return () => watchers.delete(touched);
      },
    },
    compute: async () => {
      computed.push(performance.now());
      atOnce.most = Math.max(atOnce.most, ++atOnce.now);
      await new Promise((resolve) => setTimeout(resolve, computingMs));
      atOnce.now -= 1;
      return { totalResponses: computed.length };
    },
  });
  return {
    pushes,
    computed,
    atOnce,
    asked,
    watchers,
    touch: () => {
      for (const touched of watchers) touched();
    },
  };
}

/** The time apart, but for what the machine made the one before wait. */
function assertApart(computed: readonly number[]): void {
  for (const [index, at] of computed.entries())
    if (index > 0) assert.ok(at - (computed[index - 1] ?? 0) > everyMs / 2, `${computed}`);
}

describe('analytics pushes', () => {
  it('compute at most once in an interval, however many subscribers and changes there are', async () => {
    const { pushes, computed, watchers, touch } = createPushes();
    const listeners = Array.from({ length: 200 }, createListener);
    const leave = listeners.map((listener) => pushes.subscribe('s', listener));
    await eventually(() => assert.ok(listeners.every(({ frames }) => frames.length === 1)));
    const changing = setInterval(touch, 5);
    await eventually(() => assert.ok(computed.length >= 3));
    clearInterval(changing);
    assertApart(computed);
    await eventually(() => assert.ok(listeners.every(({ frames }) => frames.length >= 3)));
    for (const go of leave) go();
    await eventually(() => assert.equal(watchers.size, 0, 'nobody listens, nothing is followed'));
  });

  it('compute no sooner and never twice at once for a subscriber that leaves and comes back', async () => {
    const { pushes, computed, atOnce, watchers, touch } = createPushes({ computingMs: 2 * everyMs });
    const listener = createListener();
    while (computed.length < 4) {
      const leave = pushes.subscribe('s', listener);
      await new Promise((resolve) => setTimeout(resolve, 5));
      touch();
      leave();
    }
    assertApart(computed);
    assert.equal(atOnce.most, 1);
    await eventually(() => assert.equal(watchers.size, 0, 'nobody listens, nothing is followed'));
  });

  it('compute for four surveys at once, and not for those that wait and that nobody listens to any more', async () => {
    const { pushes, computed, atOnce, watchers } = createPushes({ computingMs: everyMs });
    const listener = createListener();
    const leave = Array.from({ length: 20 }, (_, n) => pushes.subscribe(`${n}`, listener));
    await eventually(() => assert.equal(computed.length, 4));
    for (const go of leave.slice(0, 12)) go();
    await eventually(() => assert.equal(listener.frames.length, 8));
    assert.deepEqual([atOnce.most, computed.length], [4, 12]);
    for (const go of leave.slice(12)) go();
    await eventually(() => assert.equal(watchers.size, 0));
  });

  it('send a congested client only the latest message once it has room', async () => {
    const { pushes, touch } = createPushes();
    const [slow, quick] = [createListener(), createListener()];
    const leave = [slow, quick].map((listener) => pushes.subscribe('s', listener));
    await eventually(() => assert.equal(slow.frames.length, 1));
    slow.isCongested = true;
    for (const count of [2, 3]) {
      touch();
      await eventually(() => assert.equal(quick.frames.length, count));
    }
    assert.equal(slow.waits(), 1, 'once, however many frames come meanwhile');
    slow.hasRoom();
    await eventually(() => assert.deepEqual(slow.frames, [quick.frames[0], quick.frames[2]]));
    for (const go of leave) go();
  });

  it('write for one survey at a time to a client that each message fills', async () => {
    const { pushes } = createPushes();
    const listener = createListener();
    const written: boolean[] = [];
    const filled: ClientStream = {
      get isCongested() {
        return listener.isCongested;
      },
      isOver: false,
      whenWritable: listener.whenWritable,
      write: (messages) => {
        written.push(listener.isCongested);
        listener.write(messages);
        listener.isCongested = true;
      },
    };
    const surveys = ['a', 'b', 'c', 'd'];
    const leave = surveys.map((surveyId) => pushes.subscribe(surveyId, filled));
    for (let count = 1; count < surveys.length; count += 1) {
      await eventually(() => assert.equal(listener.waits(), surveys.length - count));
      assert.equal(listener.frames.length, count);
      listener.hasRoom();
    }
    await eventually(() => assert.equal(listener.frames.length, surveys.length));
    assert.deepEqual(written, [false, false, false, false], 'never to a client without room');
    assert.deepEqual(new Set(listener.frames.map((text) => JSON.parse(text).surveyId)), new Set(surveys));
    for (const go of leave) go();
  });

  it('ask for notifications again and again while Redis is away, but once at the most when everybody has left', async () => {
    const { pushes, computed, asked } = createPushes({ isAway: true });
    const leave = pushes.subscribe('s', createListener());
    await eventually(() => assert.ok(asked.length >= 3));
    leave();
    const before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 2 * everyMs));
    assert.ok(asked.length <= before + 1, `${asked}`);
    assert.equal(computed.length, 0);
    pushes.subscribe('s', createListener())();
    assert.ok(asked.length > before, 'who comes back opens another group');
  });

  it('compute again after changes may have been missed', async () => {
    const { pushes, computed } = createPushes();
    const leave = pushes.subscribe('s', createListener());
    await eventually(() => assert.equal(computed.length, 1));
    pushes.touchAll();
    await eventually(() => assert.equal(computed.length, 2));
    leave();
  });
});
