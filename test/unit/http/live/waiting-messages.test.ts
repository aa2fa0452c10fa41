import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LiveMessage } from '../../../../src/http/live/client-stream.ts';
import { createMessageHandler } from '../../../../src/http/live/message-handler.ts';
import { createSession } from '../../../../src/http/live/session.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { bareLive, listener } from '../../../support/bare-live.ts';
import { eventually } from '../../../support/eventually.ts';

it('messages that wait for a slow store are few, and further ones are refused until those have a reply', async () => {
  const sent: LiveMessage[] = [];
  const closed: number[] = [];
  let answer = (): void => {};
  const answered = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined);
  });
  const deps = {
    ...bareLive(new Set(), () => undefined),
    access: { find: () => answered, rightOf: async () => 'own' },
  };
  const session = createSession(deps as never, listener as never, {
    write: (messages) => void sent.push(...messages),
    isCongested: false,
    isOver: false,
    whenWritable: async () => {},
  });
  const handler = createMessageHandler({ session, close: (code) => void closed.push(code), log: deps.log });
  const subscribe = JSON.stringify({ type: 'subscribe', surveyId: newId(), channels: ['status'] }).padEnd(16_000);
  for (let n = 0; n < 199; n++) handler.handle(subscribe, false);
  const codes = () => sent.map(({ text }) => JSON.parse(text).code);
  assert.deepEqual(codes(), Array(4).fill('RATE_LIMITED'), 'one reply for fifty');
  answer();
  await eventually(() => assert.deepEqual(codes().slice(4), Array(4).fill('NOT_FOUND'), 'of the four that had room'));
  handler.handle(subscribe, false);
  await eventually(() => assert.deepEqual(codes().slice(8), ['NOT_FOUND'], 'there is room again'));
  assert.equal(closed.length, 0);
});
