import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endOfEntry, type LivePosition } from '../../../../src/domain/live-cursor.ts';
import { encodeResponse } from '../../../../src/domain/response-row.ts';
import type { ClientStream } from '../../../../src/http/live/client-stream.ts';
import type { LiveEvent } from '../../../../src/http/live/event-reader.ts';
import { createFeed, type FeedDeps } from '../../../../src/http/live/feed.ts';
import { createFollower } from '../../../../src/http/live/follower.ts';
import { createLog } from '../../../../src/log.ts';
import { OfNewerVersion } from '../../../../src/stores/postgres/survey-rows.ts';
import { eventually } from '../../../support/eventually.ts';

const [readable, unreadable] = ['01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-00000000000b'];
const log = createLog('silent');

const rowOf = (surveyId: string, ms: number): string =>
  encodeResponse(
    {
      surveyId,
      responseId: `01900000-0000-7000-8000-${String(ms).padStart(12, '0')}`,
      submittedAtMs: ms,
      version: 1,
      surveyVersion: 1,
      outcome: 'COMPLETED',
      completedAtMs: ms,
      durationMs: -1,
      language: 'en',
      respondent: '',
      metadata: {},
    },
    { numbers: [], texts: [], codes: [] },
  );

/** A shard of two surveys, the questions of one of which this version cannot read until the test says so. */
function openShard() {
  const state = {
    entries: [] as { id: string; surveyIds: string[]; rows: Buffer }[],
    isReadable: false,
    stored: '0-0',
  };
  const stream = {
    acknowledged: async () => endOfEntry(state.stored),
    findDeleted: async (_shard: unknown, events: readonly unknown[]) => events.map(() => false),
    read: async (_shard: unknown, { ms }: LivePosition, count: number) =>
      state.entries.filter(({ id }) => Number(id.split('-')[0]) > ms).slice(0, count),
    bounds: async () => ({
      oldest: endOfEntry('1-0'),
      newest: endOfEntry(state.entries.at(-1)?.id ?? '0-0'),
      isTrimmed: false,
      deletions: 0,
    }),
  };
  const compiled = {
    survey: { version: 1, questions: [] },
    questions: [],
    all: [],
    collectors: { slot: undefined, codePositions: [], byCode: new Map() },
  };
  const lookUp = async (surveyId: string) => {
    if (surveyId === unreadable && !state.isReadable) throw new OfNewerVersion();
    return { survey: { version: 1 }, compiled };
  };
  const actors = { lookUp, sync: lookUp };
  const feed = createFeed({ stream, shards: { of: () => ({ index: 0 }) }, actors, log } as unknown as FeedDeps);
  const followers: ReturnType<typeof createFollower>[] = [];
  const heardOf = (surveyId: string): number[] => {
    const heard: number[] = [];
    const client = {
      isOver: false,
      isCongested: false,
      whenWritable: async () => undefined,
      write: (events: readonly LiveEvent[]) => heard.push(...events.map(({ position }) => position.ms)),
    } as unknown as ClientStream;
    const unused = () => undefined;
    const deps = { feed, client, log, lagged: unused, sent: unused, missed: unused };
    const follower = createFollower(deps, surveyId, endOfEntry('0-0'));
    followers.push(follower);
    follower.start(true);
    return heard;
  };
  const add = (ms: number, surveyId: string) =>
    state.entries.push({ id: `${ms}-0`, surveyIds: [surveyId], rows: Buffer.from(rowOf(surveyId, ms)) });
  const stop = (): void => {
    for (const follower of followers) follower.stop();
    feed.stop();
  };
  return { state, feed, heardOf, add, stop };
}

describe('a survey whose responses this process cannot read', () => {
  it('keeps the responses of no other survey from its listeners, and its own until it can be read', async () => {
    const { state, heardOf, add, stop } = openShard();
    const [heard, late] = [heardOf(readable), heardOf(unreadable)];
    add(1000, readable);
    add(2000, unreadable);
    add(3000, readable);
    await eventually(() => assert.deepEqual(heard, [1000, 3000]));
    add(4000, unreadable);
    add(5000, readable);
    await eventually(() => assert.deepEqual(heard, [1000, 3000, 5000]));
    assert.deepEqual(late, []);
    state.isReadable = true;
    await eventually(() => assert.deepEqual(late, [2000, 4000]));
    add(6000, unreadable);
    await eventually(() => assert.deepEqual(late, [2000, 4000, 6000]));
    stop();
  });

  it('keeps no other from hearing that its responses are stored', async () => {
    const { state, feed, heardOf, add, stop } = openShard();
    heardOf(unreadable);
    let notified = 0;
    await feed.onStored(readable, () => {
      notified += 1;
    });
    add(1000, unreadable);
    add(2000, readable);
    state.stored = '2000-0';
    await eventually(() => assert.ok(notified > 0));
    stop();
  });
});
