import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openReply } from '../../../../src/http/server/reply.ts';
import { fakeResponse } from '../../../support/fake-response.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

// In a process of its own: memory is looked at, and all of it is collected.
describe('a reply to a slow reader', () => {
  it('keeps no memory of its waits, however often it waits', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const waits = 20_000;
    async function* source(): AsyncIterable<Uint8Array> {
      const piece = Buffer.from('a');
      for (let n = 0; n < waits; n += 1) yield piece;
    }
    const { response, drain, written } = fakeResponse({ roomBytes: 1 });
    const done = openReply(response).stream(200, [], source());
    const heldAfter = async (pieces: number): Promise<number> => {
      while (written.body.length < pieces) {
        await settled();
        drain();
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    const early = await heldAfter(2000);
    const late = await heldAfter(waits - 2000);
    assert.ok(late - early < 1_500_000, `${Math.round((late - early) / (waits - 4000))} bytes a wait`);
    await heldAfter(waits);
    drain();
    await done;
  });
});
