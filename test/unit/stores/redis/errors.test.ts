import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRedisUnavailable } from '../../../../src/stores/redis/errors.ts';

const named = (name: string, message: string) => Object.assign(new Error(message), { name });

describe('an error of Redis', () => {
  it('means unavailable if nobody replies or the server cannot serve now', () => {
    for (const message of [
      'Command timed out',
      'Connection is closed.',
      "Stream isn't writeable and enableOfflineQueue options is false",
      'LOADING Redis is loading the dataset in memory',
      'BUSY Redis is busy running a script.',
      'MISCONF Errors writing to the AOF file',
      "OOM command not allowed when used memory > 'maxmemory'.",
      'NOREPLICAS Not enough good replicas to write.',
      "READONLY You can't write against a read only replica.",
      'EXECABORT Transaction discarded because of previous errors.',
    ])
      assert.ok(isRedisUnavailable(new Error(message)), message);
    assert.ok(
      isRedisUnavailable(named('MaxRetriesPerRequestError', 'Reached the max retries per request limit (which is 1).')),
    );
    for (const code of ['ECONNREFUSED', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'NR_CLOSED'])
      assert.ok(isRedisUnavailable(Object.assign(new Error(`connect ${code} 10.0.0.7:6379`), { code })), code);
  });

  it('is an internal error otherwise', () => {
    for (const message of [
      'WRONGTYPE Operation against a key holding the wrong kind of value',
      "ERR wrong number of arguments for 'get' command",
      'NOSCRIPT No matching script.',
      'cannot read properties of undefined',
      'BUSYGROUP Consumer Group name already exists',
    ])
      assert.ok(!isRedisUnavailable(new Error(message)), message);
    for (const thrown of [undefined, null, 'Command timed out', { message: 'Command timed out' }])
      assert.ok(!isRedisUnavailable(thrown));
  });
});
