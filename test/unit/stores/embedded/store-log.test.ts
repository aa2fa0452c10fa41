import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tellingLineOf } from '../../../../src/stores/embedded/store-log.ts';

const started = [
  '7:C 28 Nov 2026 10:00:00.000 # WARNING Memory overcommit must be enabled! Without it, a background save may fail',
  '7:M 28 Nov 2026 10:00:00.001 * monotonic clock: POSIX clock_gettime',
  '7:M 28 Nov 2026 10:00:00.002 * Running mode=standalone, port=6379.',
];

describe('the line of a log that tells why a store has ended', () => {
  for (const line of [
    '# Bad file format reading the append only file a.aof: make a backup of your AOF file, then use ./redis-check-aof --fix',
    '# Unable to obtain the AOF file a.aof length. stat: No such file or directory',
    '# Error writing to the AOF file: No space left on device',
  ])
    it(`is "${line.slice(0, 40)}…" and no warning about memory`, () => {
      assert.equal(tellingLineOf([...started, line, '# Exiting', ''].join('\n')), line);
    });

  it('is the last one where none is about trouble', () => {
    assert.equal(tellingLineOf(`${started.join('\n')}\n`), started.at(-1));
    assert.equal(tellingLineOf(''), 'it wrote nothing');
  });
});
