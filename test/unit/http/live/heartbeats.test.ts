import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { decodeLiveCursor, encodeLiveCursor, endOfEntry } from '../../../../src/domain/live-cursor.ts';
import { openEventStream } from '../../../../src/http/live/event-stream.ts';
import { createFeed, type FeedDeps } from '../../../../src/http/live/feed.ts';
import type { StreamingBody } from '../../../../src/http/server/reply.ts';
import { createLog } from '../../../../src/log.ts';
import type { StreamEntry } from '../../../../src/stores/redis/intake/stream.ts';
import { bareLive, listener, unused } from '../../../support/bare-live.ts';
import { eventually } from '../../../support/eventually.ts';

const surveyId = '01900000-0000-7000-8000-000000000001';

/**
 * An event stream over a shard that the test fills. `hold`: what is read of the survey's own entries only comes when
 * the test lets it.
 */
async function listen() {
  const entries: StreamEntry[] = [];
  const held: (() => void)[] = [];
  const state = { text: '', isHeld: false, isFull: false };
  const upTo = (position: { ms: number }) => entries.filter(({ id }) => Number(id.split('-')[0]) > position.ms);
  const stream = {
    acknowledged: async () => endOfEntry('0-0'),
    findDeleted: async () => [],
    read: async (_shard: unknown, after: { ms: number }, count: number) => upTo(after).slice(0, count),
    bounds: async () => ({
      oldest: undefined,
      newest: endOfEntry(entries.at(-1)?.id ?? '0-0'),
      isTrimmed: false,
      removals: 0,
    }),
  };
  // An unknown survey causes no event, but is looked up if an entry has rows of it.
  const lookUp = () =>
    new Promise<undefined>((resolve) => (state.isHeld ? held.push(() => resolve(undefined)) : resolve(undefined)));
  const deps = {
    stream,
    shards: { of: () => ({ index: 0 }) },
    actors: { lookUp, sync: lookUp },
    log: createLog('silent'),
  } as unknown as FeedDeps;
  const feed = createFeed(deps);
  let writable: () => void = () => undefined;
  const body: StreamingBody = {
    isOver: false,
    end: unused,
    close: unused,
    onEnd: () => undefined,
    onWritable: (go) => {
      writable = go;
    },
    write: (text) => {
      state.text += text;
      return !state.isFull;
    },
  };
  const survey = blankSurvey(surveyId, surveyId, 0);
  const session = openEventStream(
    {
      ...bareLive(new Set(), () => undefined),
      access: { find: async () => survey, rightOf: async () => 'read' },
      feed,
    },
    listener,
    body,
  );
  await session.subscribe({ surveyId, channels: ['responses'] });
  const beat = () => mock.timers.tick(5000);
  const ids = () => [...state.text.matchAll(/^id: (.*)$/gm)].map(([, cursor]) => decodeLiveCursor(cursor ?? '')?.ms);
  const add = (ms: number, of: string) =>
    entries.push({
      id: `${ms}-0`,
      count: 1,
      codeColumns: 0,
      surveyIds: [of],
      filled: [],
      rows: Buffer.from(JSON.stringify([of, 'r', 0, 1, 0, 1, 1, 0, -1, 'en', '', {}, [], [], 0])),
    } as unknown as StreamEntry);
  return { state, held, feed, session, beat, ids, add, drain: () => writable() };
}

describe('the heartbeats of an event stream', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  it('carry a changed cursor, without an event', async () => {
    const { state, feed, session, beat, ids, add } = await listen();
    beat();
    assert.deepEqual(ids(), [0], 'that of the beginning holds still');
    add(1000, 'another survey');
    await eventually(() => {
      beat();
      assert.deepEqual(ids(), [0, 1000]);
    });
    assert.ok(
      state.text.endsWith(`:\nid: ${encodeLiveCursor(endOfEntry('1000-0'))}\n\n`),
      'a comment and an id: nothing that is dispatched',
    );
    beat();
    assert.ok(state.text.endsWith('\n\n:\n\n'));
    session.close();
    feed.stop();
  });

  it('never carry a cursor past undelivered events', async () => {
    const { state, held, feed, session, beat, ids, add } = await listen();
    state.isHeld = true;
    add(1000, surveyId);
    await eventually(() => assert.equal(held.length, 1));
    add(2000, 'another survey');
    for (let n = 0; n < 3; n += 1) beat();
    assert.deepEqual(ids(), [0]);
    for (const go of held) go();
    await eventually(() => {
      beat();
      assert.deepEqual(ids().at(-1), 2000);
    });
    session.close();
    feed.stop();
  });

  it('carry no cursor for a stalled client, nor without subscription to responses', async () => {
    const { state, feed, session, beat, ids, add } = await listen();
    state.isFull = true;
    beat();
    const written = state.text;
    add(1000, 'another survey');
    await eventually(() => assert.equal(feed.deliveredUpTo(surveyId)?.ms, 1000));
    beat();
    assert.equal(state.text, `${written}:\n\n`, 'only what keeps the server from cutting it off');
    assert.deepEqual(ids(), [0]);
    session.unsubscribe(surveyId);
    assert.equal(session.deliveredCursor(), undefined);
    session.close();
    feed.stop();
  });
});
