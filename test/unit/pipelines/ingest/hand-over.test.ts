import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHandOver } from '../../../../src/pipelines/ingest/hand-over.ts';
import type { StreamEntry } from '../../../../src/stores/redis/intake/stream.ts';
import { streamEntry } from '../../../support/intake.ts';

const entriesOf = (ids: readonly string[], bytes = 100): StreamEntry[] =>
  ids.map((id) => streamEntry(id, { rows: Buffer.alloc(bytes) }));
const idsOf = (entries: readonly StreamEntry[]) => entries.map(({ id }) => id);

describe('stored entries that are to be forwarded', () => {
  it('are taken once, all together, in their order', () => {
    const handOver = createHandOver();
    handOver.add('0-0', entriesOf(['1-0', '2-0']));
    handOver.add('2-0', entriesOf(['3-0']));
    assert.deepEqual(idsOf(handOver.takeAfter('0-0')), ['1-0', '2-0', '3-0']);
    assert.deepEqual(handOver.takeAfter('3-0'), []);
    handOver.add('3-0', entriesOf(['10-0']));
    assert.deepEqual(idsOf(handOver.takeAfter('3-0')), ['10-0']);
  });

  it('are read from the stream where some between them and the position are not held', () => {
    const handOver = createHandOver();
    handOver.add('5-0', entriesOf(['6-0', '7-0']));
    assert.deepEqual(handOver.takeAfter('0-0'), []);
    assert.deepEqual(idsOf(handOver.takeAfter('5-0')), ['6-0', '7-0']);
  });

  it('are those after the position alone, when the stream was read past the first of them', () => {
    const handOver = createHandOver();
    handOver.add('5-0', entriesOf(['6-0', '6-1', '10-0']));
    assert.deepEqual(idsOf(handOver.takeAfter('6-1')), ['10-0']);
    handOver.add('10-0', entriesOf(['11-0']));
    assert.deepEqual(handOver.takeAfter('11-0'), []);
  });

  it('are no more than eight megabytes', () => {
    const handOver = createHandOver();
    const megabytes = 1024 * 1024;
    handOver.add('0-0', entriesOf(['1-0'], 5 * megabytes));
    handOver.add('1-0', entriesOf(['2-0'], 5 * megabytes));
    assert.deepEqual(handOver.takeAfter('0-0'), []);
    handOver.add('2-0', entriesOf(['3-0'], 5 * megabytes));
    assert.deepEqual(handOver.takeAfter('1-0'), []);
    assert.deepEqual(idsOf(handOver.takeAfter('2-0')), ['3-0']);
  });
});
