import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createErasureLog } from '../../../../src/stores/redis/append-only-file.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';

describe('the rewrite of an append-only file', () => {
  it('is waited for no longer once the service stops', async () => {
    const stopping = new AbortController();
    let looks = 0;
    const redis = {
      async info(section: string) {
        if (section === 'server') return 'run_id:1f\r\n';
        looks += 1;
        if (looks === 2) stopping.abort();
        return 'aof_rewrite_in_progress:1\r\n';
      },
      hset: async () => 1,
    } as unknown as Redis;
    const stream = { newestId: async () => '1-0', hasEntryUpTo: async () => false };
    const erasureLog = createErasureLog({ redis, jobsRedis: redis, stream, shards: createShards(1) });
    assert.equal(await erasureLog.rewrite(Date.now(), 600_000, stopping.signal), false);
    assert.equal(looks, 2);
  });

  it('is noted where the service stops while it runs, and begun no more after that', async () => {
    const stopping = new AbortController();
    const asked: string[] = [];
    const redis = {
      async info(section: string) {
        if (section === 'server') return 'run_id:1f\r\n';
        return `aof_rewrite_in_progress:${asked.length}\r\n`;
      },
      async bgrewriteaof() {
        asked.push('rewrite');
        stopping.abort();
      },
      async hset(_key: string, field: string) {
        asked.push(field);
      },
    } as unknown as Redis;
    const stream = { newestId: async () => '1-0', hasEntryUpTo: async () => false };
    const erasureLog = createErasureLog({ redis, jobsRedis: redis, stream, shards: createShards(1) });
    assert.equal(await erasureLog.rewrite(Date.now(), 600_000, stopping.signal), false);
    assert.deepEqual(asked.splice(0), ['rewrite', 'rewritten']);
    assert.equal(await erasureLog.rewrite(Date.now(), 600_000, stopping.signal), false);
    assert.deepEqual(asked, []);
  });
});
