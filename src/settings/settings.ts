import { resolve } from 'node:path';
import { z } from 'zod';
import { validate } from '../platform/zod-messages.ts';
import {
  type ProviderName,
  type ProviderSettings,
  providerFields,
  providerPrefixes,
  providerSettings,
} from './ai-settings.ts';
import { environmentSchema, roles } from './definitions.ts';

/** A missing or invalid setting, named in the message. Ends the start with exit code 1. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

function parse<T extends z.ZodType>(schema: T, source: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ''));
  const read = validate(schema, given);
  if (read.isValid) return read.data;
  const lines = read.issues.map(({ path, message }) => `${path.split('.')[0]}: ${message}`);
  throw new SettingsError(`Bad setting. ${lines.join('; ')}`);
}

function readProvider(name: ProviderName, source: Record<string, string | undefined>): ProviderSettings {
  const found: Record<string, unknown> = parse(z.object(providerSettings(name)), source);
  return Object.fromEntries(
    Object.entries(providerFields)
      .map(([field, { suffix }]) => [field, found[`${providerPrefixes[name]}_${suffix}`]])
      .filter(([, value]) => value !== undefined),
  );
}

/** Where uploads lie in an S3-compatible storage; undefined: on disk. */
function readBucket(env: z.output<typeof environmentSchema>) {
  const {
    UPLOAD_S3_BUCKET: bucket,
    UPLOAD_S3_ACCESS_KEY_ID: accessKeyId,
    UPLOAD_S3_SECRET_ACCESS_KEY: secretAccessKey,
  } = env;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new SettingsError(
      'Bad setting. UPLOAD_S3_ACCESS_KEY_ID and UPLOAD_S3_SECRET_ACCESS_KEY: give both or neither',
    );
  if (bucket === undefined && (accessKeyId !== undefined || env.UPLOAD_S3_ENDPOINT !== undefined))
    throw new SettingsError('Bad setting. UPLOAD_S3_BUCKET: is needed with the other UPLOAD_S3 settings');
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  return bucket === undefined
    ? undefined
    : {
        bucket,
        endpoint: env.UPLOAD_S3_ENDPOINT,
        region: env.UPLOAD_S3_REGION,
        prefix: env.UPLOAD_S3_PREFIX,
        credentials,
      };
}

const storeSettings = ['REDIS_URL', 'REDIS_JOBS_URL', 'DATABASE_URL', 'CLICKHOUSE_URL'] as const;

/** Embedded stores belong to the process that starts them: what it has no role for would never be done. */
function refuseMissingRoles(env: z.output<typeof environmentSchema>): void {
  const embedded = storeSettings.filter((name) => env[name] === undefined);
  if (embedded.length === 0 || roles.every((role) => env.ROLES.includes(role))) return;
  throw new SettingsError(
    `Bad setting. ROLES: must name all of ${roles.join(', ')} while stores are embedded, since no other process can use those: remove it, or set ${embedded.join(', ')}`,
  );
}

/** Calls a minute of all API keys of one user together, unless the settings say otherwise. */
const leastKeyCeiling = 1000;

/**
 * Reads and checks every setting; the only reader of the environment. Throws a SettingsError that names the setting.
 */
export function readSettings(source: Record<string, string | undefined>) {
  const env = parse(environmentSchema, source);
  refuseMissingRoles(env);
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    publicUrl: env.PUBLIC_URL,
    dataDir: resolve(env.DATA_DIR),
    redisUrl: env.REDIS_URL,
    redisJobsUrl: env.REDIS_JOBS_URL,
    databaseUrl: env.DATABASE_URL,
    clickhouseUrls: env.CLICKHOUSE_URL,
    clickhouseCluster: env.CLICKHOUSE_CLUSTER,
    adminEmail: env.ADMIN_EMAIL,
    adminPassword: env.ADMIN_PASSWORD,
    adminReset: env.ADMIN_RESET,
    jwtPrivateKey: env.JWT_PRIVATE_KEY,
    accessTokenTtlSeconds: env.ACCESS_TOKEN_TTL_SECONDS,
    refreshTokenTtlSeconds: env.REFRESH_TOKEN_TTL_SECONDS,
    secretsKey: env.SECRETS_KEY,
    acceptChangedKeys: env.ACCEPT_CHANGED_KEYS,
    rateLimits: { auth: env.RATE_LIMIT_AUTH, submit: env.RATE_LIMIT_SUBMIT, api: env.RATE_LIMIT_API },
    apiKeys: {
      perUser: env.API_KEYS_PER_USER,
      // Keys without a limit of their own have the general one, which an unset ceiling does not lower.
      requestsPerMinute: env.API_KEY_REQUESTS_PER_MINUTE ?? Math.max(leastKeyCeiling, env.RATE_LIMIT_API),
    },
    trustedProxies: env.TRUSTED_PROXIES,
    metricsPort: env.METRICS_PORT,
    workers: env.WORKERS,
    roles: env.ROLES,
    intakeShards: env.INTAKE_SHARDS,
    intakeMemoryBytes: env.INTAKE_MEMORY_BYTES,
    intakeMayLose: env.INTAKE_MAY_LOSE,
    liveStreamsPerUser: env.LIVE_STREAMS_PER_USER,
    crosstabMaxCells: env.CROSSTAB_MAX_CELLS,
    uploadMaxBytes: env.UPLOAD_MAX_BYTES,
    uploadUnclaimedMinutes: env.UPLOAD_UNCLAIMED_MINUTES,
    uploadLimits: {
      surveyUnclaimedBytes: env.UPLOAD_SURVEY_UNCLAIMED_BYTES,
      addressHourlyBytes: env.UPLOAD_ADDRESS_HOURLY_BYTES,
      diskReservePercent: env.UPLOAD_DISK_RESERVE_PERCENT,
    },
    uploadBucket: readBucket(env),
    exportUserBytes: env.EXPORT_USER_BYTES,
    drainDelayMs: env.DRAIN_DELAY_MS,
    webhookAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE,
    webhookLimits: {
      perSurvey: env.WEBHOOK_MAX_PER_SURVEY,
      perUser: env.WEBHOOK_MAX_PER_USER,
      hostConnections: env.WEBHOOK_HOST_CONNECTIONS,
      hostRequestsPerSecond: env.WEBHOOK_HOST_REQUESTS_PER_SECOND,
      busyRequestsPerSecond: env.WEBHOOK_BUSY_REQUESTS_PER_SECOND,
    },
    webhookRetryScheduleSeconds: env.WEBHOOK_RETRY_SCHEDULE_SECONDS,
    corsOrigins: env.CORS_ORIGINS,
    logLevel: env.LOG_LEVEL,
    retentionDays: env.RETENTION_DAYS,
    ai: {
      batchSize: env.AI_BATCH_SIZE,
      batchDelayMs: env.AI_BATCH_DELAY_MS,
      batchesAtOnce: env.AI_BATCHES_AT_ONCE,
      callTimeoutMs: env.AI_CALL_TIMEOUT_SECONDS * 1000,
      retryWaitsSeconds: env.AI_RETRY_SCHEDULE_SECONDS,
      isCacheEnabled: env.AI_CACHE_ENABLED,
      cacheTtlSeconds: env.AI_CACHE_TTL_SECONDS,
      isAnonymising: env.AI_ANONYMIZE_PII,
      providers: {
        openai: readProvider('openai', source),
        anthropic: readProvider('anthropic', source),
        gemini: readProvider('gemini', source),
        azure: readProvider('azure', source),
      },
    },
  });
}

export type Settings = ReturnType<typeof readSettings>;
