import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { misspelledSettings } from '../../src/settings/misspelled-settings.ts';
import { readSettings, SettingsError } from '../../src/settings/settings.ts';

describe('settings', () => {
  it('that are misspelled are found among the variables of the environment', () => {
    assert.deepEqual(
      misspelledSettings({
        RATE_LIMITS_API: '5',
        LOGLEVEL: 'info',
        WEBHOOK_SECRET: 'x',
        HOME: '/',
        PORT: '1',
        PATH: '',
      }),
      [
        { name: 'RATE_LIMITS_API', meant: 'RATE_LIMIT_API' },
        { name: 'LOGLEVEL', meant: 'LOG_LEVEL' },
        { name: 'WEBHOOK_SECRET', meant: undefined },
      ],
    );
  });

  it('of AI providers that are misspelled are found, and a singular in place of a plural', () => {
    const given = {
      OPENAI_API_KYE: 'x',
      ANTHROPIC_API_KEYS: 'x',
      GEMINI_MODEL_HIHG: 'x',
      AZURE_OPENAI_ENDPIONT: 'x',
      TRUSTED_PROXY: 'x',
      GEMINI_API_KEY: 'x',
      OPENAI_ORG_ID: 'x',
      SSH_PRIVATE_KEY: 'x',
    };
    assert.deepEqual(
      misspelledSettings(given).map(({ meant }) => meant),
      ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_MODEL_HIGH', 'AZURE_OPENAI_ENDPOINT', 'TRUSTED_PROXIES'],
    );
  });

  it('have the defaults of the contract', () => {
    const settings = readSettings({});
    assert.deepEqual(
      [settings.host, settings.port, settings.workers, settings.roles],
      ['127.0.0.1', 3000, 1, ['http', 'ingest', 'jobs']],
    );
    assert.deepEqual(settings.rateLimits, { auth: 10, submit: 60, api: 100 });
    assert.deepEqual(
      settings.webhookRetryScheduleSeconds,
      [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
    );
    assert.deepEqual(
      [
        settings.accessTokenTtlSeconds,
        settings.refreshTokenTtlSeconds,
        settings.ai.batchSize,
        settings.ai.batchDelayMs,
        settings.ai.cacheTtlSeconds,
      ],
      [900, 2_592_000, 50, 1000, 3600],
    );
  });

  it('bound the calls of API keys as given, and else no lower than those of a user', () => {
    const ceiling = (given: Record<string, string>) => readSettings(given).apiKeys.requestsPerMinute;
    assert.deepEqual(
      [
        ceiling({ API_KEY_REQUESTS_PER_MINUTE: '50' }),
        ceiling({ API_KEY_REQUESTS_PER_MINUTE: '2000', RATE_LIMIT_API: '5000' }),
        ceiling({ RATE_LIMIT_API: '5000' }),
        ceiling({}),
      ],
      [50, 2000, 5000, 1000],
    );
  });

  it('name the one that is wrong', () => {
    for (const [name, value] of [
      ['PORT', 'x'],
      ['PORT', '70000'],
      ['WORKERS', '0'],
      ['ROLES', 'http,cook'],
      ['REDIS_URL', 'http://x'],
      ['REDIS_URL', 'redis://127.0.0.1/surveys'],
      ['REDIS_JOBS_URL', 'redis://:100%sure@127.0.0.1'],
      ['DATABASE_URL', 'postgres://survey:100%sure@127.0.0.1/survey'],
      ['CLICKHOUSE_URL', 'http://127.0.0.1:8123,http://default:100%sure@127.0.0.1:8124'],
      ['CLICKHOUSE_URL', 'http://127.0.0.1:8123,http://127.0.0.1:0'],
      ['SECRETS_KEY', ' '.repeat(40)],
      ['TRUSTED_PROXIES', '10.0.0.0/33'],
      ['ADMIN_PASSWORD', 'short'],
      ['LOG_LEVEL', 'loud'],
      ['OPENAI_BASE_URL', 'nowhere'],
      ['UPLOAD_S3_BUCKET', 'a/b'],
      ['CORS_ORIGINS', 'foo'],
      ['CORS_ORIGINS', 'https://a.example,https://b.example/'],
      ['CORS_ORIGINS', 'https://A.example'],
      ['CORS_ORIGINS', 'https://a.example:443'],
      ['CORS_ORIGINS', 'https://*.example'],
      ['HOST', 'not a host'],
      ['PUBLIC_URL', 'https://surveys.example/y?z'],
      ['PUBLIC_URL', 'https://surveys.example/#top'],
      ['HOST', '999.1.1.1'],
      ['HOST', 'http://127.0.0.1'],
      ['HOST', '127.0.0.1:80'],
      ['HOST', '-x'],
      ['WEBHOOK_RETRY_SCHEDULE_SECONDS', '5,99999999999'],
      ['REFRESH_TOKEN_TTL_SECONDS', '9007199254740991'],
      ['RETENTION_DAYS', '9999999999'],
      ['AI_BATCH_DELAY_MS', '9999999999'],
      ['AI_RETRY_SCHEDULE_SECONDS', '2,86401'],
    ] as const)
      assert.throws(
        () => readSettings({ [name]: value }),
        (error) => error instanceof SettingsError && error.message.includes(name),
        name,
      );
  });

  it('refuse a PUBLIC_URL with a path, and say that the service needs a host of its own', () => {
    for (const publicUrl of ['http://host/surveys', 'https://host:8443/surveys/', 'http://host//', 'http://host/?a'])
      assert.throws(
        () => readSettings({ PUBLIC_URL: publicUrl }),
        /^SettingsError: Bad setting\. PUBLIC_URL: must end with its host or port: the service needs a host \(or subdomain\) of its own$/,
        publicUrl,
      );
  });

  it('take PUBLIC_URL as the origin that browsers send, however it is spelt', () => {
    for (const [given, origin] of [
      ['http://host', 'http://host'],
      ['https://host:8443/', 'https://host:8443'],
      ['http://[::1]:3000/', 'http://[::1]:3000'],
      ['HTTPS://Surveys.Example.org', 'https://surveys.example.org'],
      [' https://host:443', 'https://host'],
    ])
      assert.equal(readSettings({ PUBLIC_URL: given }).publicUrl, origin);
  });

  it('say that Redis is one server where several are given', () => {
    for (const name of ['REDIS_URL', 'REDIS_JOBS_URL'] as const) {
      for (const hosts of [
        'redis://a,redis://b',
        'redis://:word@a:6379,redis://:word@b:6379',
        'redis://a:1,b:2',
        'redis://a,b',
      ])
        assert.throws(
          () => readSettings({ [name]: hosts }),
          new RegExp(
            `^SettingsError: Bad setting\\. ${name}: must name one server: several servers, Redis Cluster and Redis Sentinel are not supported$`,
          ),
          hosts,
        );
    }
    assert.equal(readSettings({ REDIS_URL: 'redis://:a,b@host' }).redisUrl, 'redis://:a,b@host');
  });

  it('say that the port of a URL is impossible, not that the URL begins wrong', () => {
    for (const [name, value] of [
      ['REDIS_URL', 'redis://:word@127.0.0.1:637900'],
      ['DATABASE_URL', 'postgres://survey:word@[::1]:65536/survey'],
      ['CLICKHOUSE_URL', 'http://127.0.0.1:8123,http://127.0.0.1:0'],
    ] as const)
      assert.throws(
        () => readSettings({ [name]: value }),
        (error) =>
          error instanceof SettingsError &&
          error.message === `Bad setting. ${name}: must have a port from 1 to 65535, or none`,
        name,
      );
    const redisUrl = 'redis://:word@[::1]:65535/1';
    assert.equal(readSettings({ REDIS_URL: redisUrl }).redisUrl, redisUrl);
  });

  it('name the known roles if one is unknown, and take “all” for all of them', () => {
    assert.throws(() => readSettings({ ROLES: 'http,cook' }), /ROLES: must be one of all, http, ingest, jobs/);
    for (const named of ['all', 'http,all', 'http, ingest,jobs'])
      assert.deepEqual(readSettings({ ROLES: named }).roles, ['http', 'ingest', 'jobs']);
  });

  it('refuse fewer than all roles beside an embedded store, which no process with the others could use', () => {
    const urls = {
      REDIS_URL: 'redis://127.0.0.1:1',
      REDIS_JOBS_URL: 'redis://127.0.0.1:2',
      DATABASE_URL: 'postgres://127.0.0.1/survey',
      CLICKHOUSE_URL: 'http://127.0.0.1:3',
    };
    assert.throws(
      () => readSettings({ ROLES: 'http' }),
      (error) =>
        error instanceof SettingsError &&
        error.message ===
          'Bad setting. ROLES: must name all of http, ingest, jobs while stores are embedded, since no other process can use those: remove it, or set REDIS_URL, REDIS_JOBS_URL, DATABASE_URL, CLICKHOUSE_URL',
    );
    for (const [name] of Object.entries(urls))
      assert.throws(
        () => readSettings({ ...urls, [name]: '', ROLES: 'ingest,jobs' }),
        new RegExp(`ROLES: .* or set ${name}$`),
        name,
      );
    assert.deepEqual(readSettings({ ...urls, ROLES: 'jobs' }).roles, ['jobs']);
    assert.equal(readSettings({ ...urls, CLICKHOUSE_URL: '', ROLES: 'jobs,ingest,http' }).roles.length, 3);
  });

  it('of an S3-compatible storage are given together', () => {
    const [bucket, keys] = [
      { UPLOAD_S3_BUCKET: 'files' },
      { UPLOAD_S3_ACCESS_KEY_ID: 'a', UPLOAD_S3_SECRET_ACCESS_KEY: 'b' },
    ];
    assert.deepEqual(readSettings({ ...bucket, ...keys }).uploadBucket, {
      bucket: 'files',
      endpoint: undefined,
      region: 'us-east-1',
      prefix: 'uploads/',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    assert.equal(readSettings(bucket).uploadBucket?.credentials, undefined);
    assert.equal(readSettings({}).uploadBucket, undefined);
    for (const given of [
      keys,
      { UPLOAD_S3_ENDPOINT: 'http://127.0.0.1:1' },
      { ...bucket, UPLOAD_S3_ACCESS_KEY_ID: 'a' },
    ])
      assert.throws(() => readSettings(given), SettingsError);
  });

  it('accept origins as browsers send them', () => {
    const origins = ['https://a.example', 'http://localhost:5173', 'http://[::1]:3000', 'capacitor://localhost', '*'];
    assert.deepEqual(readSettings({ CORS_ORIGINS: origins.join(', ') }).corsOrigins, origins);
  });

  it('accept addresses and names to listen on', () => {
    for (const host of [
      '0.0.0.0',
      '::',
      '::1',
      'localhost',
      'survey-1.internal',
      'web_1',
      'host.docker.internal',
      'b1',
      'node-02',
    ])
      assert.equal(readSettings({ HOST: host }).host, host);
  });

  it('accept any word for a reset of the ADMIN except those that mean no', () => {
    for (const word of ['true', '2027-03-01']) assert.equal(readSettings({ ADMIN_RESET: word }).adminReset, word);
    for (const word of ['', 'false', 'FALSE', '0', 'no', 'off'])
      assert.equal(readSettings({ ADMIN_RESET: word }).adminReset, undefined, word);
  });

  it('treat an empty value as not given', () => {
    assert.equal(readSettings({ PORT: '', REDIS_URL: '' }).port, 3000);
  });
});
