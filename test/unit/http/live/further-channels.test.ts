import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import {
  decodeLiveCursor,
  encodeLiveCursor,
  endOfEntry,
  isAfter,
  type LivePosition,
} from '../../../../src/domain/live-cursor.ts';
import { type ClientStream, createLiveMessage } from '../../../../src/http/live/client-stream.ts';
import type { LiveEvent } from '../../../../src/http/live/event-reader.ts';
import { type Channel, createSession } from '../../../../src/http/live/session.ts';
import type { EventSubscriber } from '../../../../src/http/live/topic.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { bareLive, listener } from '../../../support/bare-live.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));
const survey = blankSurvey(newId(), listener.userId, Date.now());
const cursorAt = (ms: number): string => encodeLiveCursor(endOfEntry(`${ms}-0`));

function responseAt(ms: number, row = 0): LiveEvent {
  const position = { ms, seq: 0, row };
  const cursor = encodeLiveCursor(position);
  return { ...createLiveMessage('response', { cursor }), cursor, position, responseId: newId(), submittedAtMs: ms };
}

/** A client, with room or without, of a stream in which the newest response came at 3000. */
function connect() {
  const stored = [1000, 2000, 3000].map(responseAt);
  let deliveredUpTo: LivePosition | undefined;
  let newest = endOfEntry('3000-0');
  let subscriber: EventSubscriber | undefined;
  const bare = bareLive(new Set(), () => undefined);
  const deps = {
    ...bare,
    access: { find: async () => survey, rightOf: async () => 'own' as const },
    statusMessage: () => createLiveMessage('status'),
    quotas: { subscribe: async () => () => undefined },
    feed: {
      ...bare.feed,
      newestPosition: async () => newest,
      deliveredUpTo: () => deliveredUpTo,
      read: async (_surveyId: string, after: LivePosition) => ({
        events: stored.filter(({ position }) => isAfter(position, after)),
        end: newest,
        isLast: true,
        gap: undefined,
      }),
      attach: (_surveyId: string, attached: EventSubscriber) => {
        subscriber = attached;
        return true;
      },
      detach: () => undefined,
    },
  };
  let giveRoom = (): void => undefined;
  let room: Promise<void> | undefined;
  const received: { type: string; cursor?: string }[] = [];
  const client: ClientStream = {
    write: (frames) => void received.push(...frames.map(({ text }) => JSON.parse(text))),
    get isCongested() {
      return room !== undefined;
    },
    isOver: false,
    whenWritable: () => room ?? Promise.resolve(),
  };
  const session = createSession(deps, listener, client);
  return {
    received,
    subscribe: (channels: readonly Channel[], after?: string) =>
      session.subscribe({ surveyId: survey.id, channels, after }),
    /** The cursor that the client would resume with. */
    lastCursor: () => received.findLast(({ cursor }) => cursor !== undefined)?.cursor,
    accept(event: LiveEvent) {
      newest = event.position;
      stored.push(event);
      subscriber?.deliver([event]);
    },
    /** The feed has read so far, other surveys too. */
    goOnTo: (ms: number) => {
      deliveredUpTo = endOfEntry(`${ms}-0`);
    },
    setCongested() {
      room = new Promise((resolve) => {
        giveRoom = resolve;
      });
    },
    async setWritable() {
      room = undefined;
      giveRoom();
      await settled();
    },
  };
}

describe('a client that subscribes to further channels of a survey', () => {
  it('can resume with the cursor that it is told then, also before what it missed has come', async () => {
    const { subscribe, lastCursor, received, setCongested, setWritable } = connect();
    setCongested();
    await subscribe(['responses'], cursorAt(0));
    await subscribe(['status']);
    assert.equal(lastCursor(), cursorAt(0));
    await setWritable();
    assert.equal(received.filter(({ type }) => type === 'response').length, 3);
    await subscribe(['jobs']);
    assert.equal(lastCursor(), cursorAt(3000));
  });

  it('can resume with it while it lags', async () => {
    const { subscribe, lastCursor, received, accept, setCongested, setWritable } = connect();
    await subscribe(['responses']);
    setCongested();
    for (const ms of [4000, 5000]) accept(responseAt(ms));
    await subscribe(['status']);
    const resumed = decodeLiveCursor(lastCursor() ?? '') ?? assert.fail();
    assert.ok(isAfter({ ms: 4000, seq: 0, row: 0 }, resumed) && !isAfter(endOfEntry('3000-0'), resumed));
    await setWritable();
    assert.deepEqual(
      received.map(({ type }) => type),
      ['subscribed', 'subscribed', 'lagged', 'status', 'response', 'response'],
    );
  });

  it('can resume with it while it lags, between two responses that were accepted together', async () => {
    const { subscribe, lastCursor, accept, setCongested } = connect();
    await subscribe(['responses']);
    const [first, second] = [responseAt(4000, 0), responseAt(4000, 1)];
    accept(first);
    setCongested();
    accept(second);
    await subscribe(['status']);
    assert.equal(lastCursor(), first.cursor);
  });

  it('can resume with it while it lags, with nothing read twice of what other surveys had accepted before', async () => {
    const { subscribe, lastCursor, accept, goOnTo, setCongested } = connect();
    await subscribe(['responses']);
    goOnTo(700_000);
    setCongested();
    accept(responseAt(700_001));
    await subscribe(['status']);
    assert.equal(lastCursor(), cursorAt(700_000));
  });

  it('can resume with it where other surveys of the stream went on, and long after its own last response', async () => {
    const { subscribe, lastCursor, goOnTo } = connect();
    await subscribe(['responses']);
    goOnTo(700_000);
    await subscribe(['status']);
    assert.equal(lastCursor(), cursorAt(700_000));
  });

  it('has its responses start over only where they are among the channels that it names with a cursor', async () => {
    const { subscribe, lastCursor, received } = connect();
    await subscribe(['responses']);
    await subscribe(['status'], cursorAt(1000));
    await settled();
    assert.deepEqual(
      received.map(({ type }) => type),
      ['subscribed', 'subscribed', 'status'],
    );
    assert.equal(lastCursor(), cursorAt(3000));
    await subscribe(['responses'], cursorAt(1000));
    await settled();
    assert.equal(received.filter(({ type }) => type === 'response').length, 2);
  });
});
