import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { isUnreachableError, probeStores } from '../../../../src/stores/connections/probe.ts';
import { StartError } from '../../../../src/stores/embedded/start-stores.ts';
import { createPostgres } from '../../../../src/stores/postgres/client.ts';
import { createSharedRedis } from '../../../../src/stores/redis/clients.ts';
import { eventually } from '../../../support/eventually.ts';
import { runToExit, sharedStoreUrls } from '../../../support/service.ts';
import { type SharedStores, sharedStores } from '../../../support/stores.ts';

const nobody = '127.0.0.1:1';
const log = createLog('silent');

/** The message must be enough for the operator to correct the setting. */
describe('the error for a store that cannot be used at the start names setting, address and reason, and no password', () => {
  let stores: SharedStores;
  before(async () => {
    stores = await sharedStores();
  });

  const changed = (url: string, change: (url: URL) => void): string => {
    const found = new URL(url);
    change(found);
    return found.href;
  };
  const isTold = (expected: RegExp) => (error: unknown) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, expected);
    assert.doesNotMatch(error.message, /hidden|\n/);
    return true;
  };
  const meetRedis = async (url: string) => {
    const redis = createSharedRedis(url, log);
    await probeStores.redis(redis, 'REDIS_URL', url).finally(() => redis.disconnect());
  };
  const meetPostgres = async (url: string) => {
    const sql = createPostgres(url, { log });
    await probeStores.postgres(sql, url).finally(() => sql.end({ timeout: 0 }));
  };
  const meetClickHouse = async (url: string) => {
    const clickhouse = createClickHouse({ urls: [url], log });
    await probeStores.clickhouse(clickhouse, [url]).finally(() => clickhouse.close());
  };

  it('Redis', async () => {
    // Again where a busy machine stops Redis for the second that a command may take.
    const isUsed = (url: string) => eventually(() => meetRedis(url));
    const isRefused = (url: string, expected: RegExp) =>
      eventually(() => assert.rejects(meetRedis(url), isTold(expected)));
    await isUsed(stores.redisUrl);
    await isRefused(
      `redis://:hidden@${nobody}`,
      /the server of REDIS_URL \(127\.0\.0\.1:1\) cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    );
    await isRefused(
      changed(stores.redisUrl, (url) => {
        url.password = 'hidden';
      }),
      /REDIS_URL \(127\.0\.0\.1:\d+\) cannot be used: WRONGPASS/,
    );
    await isUsed(`${stores.redisUrl}/1`);
    await isRefused(
      `${stores.redisUrl}/99`,
      /REDIS_URL \(127\.0\.0\.1:\d+\/99\) cannot be used: ERR DB index is out of range/,
    );
  });

  it('PostgreSQL', async () => {
    await meetPostgres(stores.databaseUrl);
    await assert.rejects(
      meetPostgres(`postgres://survey:hidden@${nobody}/survey`),
      isTold(/the server of DATABASE_URL \(127\.0\.0\.1:1\/survey\) cannot be used: connect ECONNREFUSED/),
    );
    await assert.rejects(
      meetPostgres(
        changed(stores.databaseUrl, (url) => {
          url.password = 'hidden';
        }),
      ),
      isTold(/DATABASE_URL \(.*\) cannot be used: password authentication failed/),
    );
    await assert.rejects(
      meetPostgres(
        changed(stores.databaseUrl, (url) => {
          url.pathname = '/nowhere';
        }),
      ),
      isTold(/DATABASE_URL \(.*\/nowhere\) cannot be used: database "nowhere" does not exist/),
    );
    await assert.rejects(
      meetPostgres(
        changed(stores.databaseUrl, (url) => {
          url.searchParams.set('channel_binding', 'require');
        }),
      ),
      isTold(/DATABASE_URL \(.*\) cannot be used: unrecognized configuration parameter "channel_binding"/),
    );
  });

  it('PostgreSQL whose database has another encoding than UTF8', async () => {
    for (const encoding of ['LATIN1', 'SQL_ASCII']) {
      const name = `encoding_${randomUUID().replaceAll('-', '')}`;
      const owner = createPostgres(stores.databaseUrl, { log, poolSize: 1 });
      await owner.unsafe(
        `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0`,
      );
      try {
        await assert.rejects(
          meetPostgres(
            changed(stores.databaseUrl, (url) => {
              url.pathname = `/${name}`;
            }),
          ),
          isTold(
            new RegExp(
              `DATABASE_URL \\(.*/${name}\\) cannot be used: the encoding of the database is ${encoding}, and UTF8 is needed`,
            ),
          ),
        );
      } finally {
        await owner.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
        await owner.end({ timeout: 2 });
      }
    }
  });

  it('ClickHouse', async () => {
    await meetClickHouse(stores.clickhouseUrl);
    await assert.rejects(
      meetClickHouse(`http://survey:hidden@${nobody}/survey`),
      isTold(/the server of CLICKHOUSE_URL \(127\.0\.0\.1:1\/survey\) cannot be used: connect ECONNREFUSED/),
    );
    await assert.rejects(
      meetClickHouse(
        changed(stores.clickhouseUrl, (url) => {
          url.password = 'hidden';
        }),
      ),
      isTold(/CLICKHOUSE_URL \(.*\) cannot be used: .*password is incorrect/),
    );
  });

  it('ClickHouse of an older version than statements can be sent to', async () => {
    const meet = (version: string) =>
      probeStores.clickhouse({ select: async <Row extends readonly unknown[]>() => [[version]] as unknown as Row[] }, [
        `http://survey:hidden@${nobody}/survey`,
      ]);
    await assert.rejects(
      meet('24.8.14.39'),
      isTold(
        /^the server of CLICKHOUSE_URL \(127\.0\.0\.1:1\/survey\) cannot be used: it is ClickHouse 24\.8\.14\.39, and 25\.6 or newer is needed$/,
      ),
    );
    await assert.rejects(meet('25.5.1.1'), isTold(/25\.6 or newer/));
    for (const version of ['25.6.1.1', '25.12.3.4', '26.1.1.1', 'of our own']) await meet(version);
  });

  it('ends the start with one line', async () => {
    const wrong = (url: string) =>
      changed(url, (found) => {
        found.password = 'hidden';
      });
    const starts: [string, string, RegExp][] = [
      ['REDIS_JOBS_URL', wrong(stores.redisJobsUrl), /WRONGPASS/],
      [
        'DATABASE_URL',
        changed(stores.databaseUrl, (url) => {
          url.pathname = '/nowhere';
        }),
        /database "nowhere" does not exist/,
      ],
      ['CLICKHOUSE_URL', wrong(stores.clickhouseUrl), /password is incorrect/],
    ];
    await Promise.all(
      starts.map(async ([name, url, reason]) => {
        const { code, said } = await runToExit({ env: { ...sharedStoreUrls(), [name]: url, LOG_LEVEL: 'silent' } });
        assert.equal(code, 1);
        assert.match(
          said,
          new RegExp(
            `^survey-service cannot start: the server of ${name} \\(127\\.0\\.0\\.1:\\d+.*\\) cannot be used: .*${reason.source}.*\n$`,
          ),
        );
        assert.doesNotMatch(said, /hidden/);
      }),
    );
  });

  it('does not end the start if the store is only unreachable', async () => {
    const away = [nobody, 'nobody.invalid'].flatMap((host) => [
      () => meetRedis(`redis://${host}`),
      () => meetPostgres(`postgres://${host}/survey`),
      () => meetClickHouse(`http://${host}`),
    ]);
    for (const meet of away) await assert.rejects(meet, isUnreachableError);
    const refused = [
      () =>
        meetRedis(
          changed(stores.redisUrl, (url) => {
            url.password = 'hidden';
          }),
        ),
      () =>
        meetPostgres(
          changed(stores.databaseUrl, (url) => {
            url.pathname = '/nowhere';
          }),
        ),
      () =>
        meetClickHouse(
          changed(stores.clickhouseUrl, (url) => {
            url.password = 'hidden';
          }),
        ),
    ];
    for (const meet of refused) await eventually(() => assert.rejects(meet, (error) => !isUnreachableError(error)));
  });
});
