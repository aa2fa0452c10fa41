import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readAs } from './findings.ts';

/** A setting that is missing or wrong; the message names it. Ends the start with exit code 1. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));
/** What an operator writes who means no. */
const offWords = ['false', '0', 'no', 'off'];
const wordOrOff = z.string().max(200).transform((word) => (offWords.includes(word.toLowerCase()) ? undefined : word));
const flag = z.enum(['true', 'false', '1', '0', 'yes', 'no']).transform((text) => ['true', '1', 'yes'].includes(text));
const list = z.string().transform((text) => text.split(',').map((item) => item.trim()).filter((item) => item !== ''));
const address = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), `must be a URL that starts with ${protocols.join(' or ')}`);
const addressList = (...protocols: string[]) => list.pipe(z.array(address(...protocols)).min(1));
/** What is longer no clock of ours can hold. */
const longestSeconds = 10 * 366 * 86_400;
const longestWaitSeconds = 30 * 86_400;
const secondsList = list.pipe(z.array(whole(0, longestWaitSeconds)).min(1));

/** What a socket can listen on: an address, or a name, which does not look like one. */
function isHost(text: string): boolean {
  const labels = text.split('.');
  return isIP(text) > 0 || (labels.every((label) => /^\w([\w-]*\w)?$/.test(label)) && /[a-z]/i.test(labels.at(-1) ?? ''));
}

function isCidr(text: string): boolean {
  const [ip = '', bits, ...rest] = text.split('/');
  const version = isIP(ip);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/** As it stands in the header Origin, which is compared as it comes; other schemes than http are those of app shells. */
function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

const roles = ['http', 'ingest', 'jobs'] as const;
export type Role = (typeof roles)[number];

const environment = z.object({
  HOST: z.string().refine(isHost, 'must be an IP address or a name of this machine').default('127.0.0.1'),
  PORT: whole(0, 65535).default(3000),
  PUBLIC_URL: address('http:', 'https:').optional(),
  DATA_DIR: z.string().default('./.data'),
  REDIS_URL: address('redis:', 'rediss:').optional(),
  REDIS_JOBS_URL: address('redis:', 'rediss:').optional(),
  DATABASE_URL: address('postgres:', 'postgresql:').optional(),
  CLICKHOUSE_URL: addressList('http:', 'https:').optional(),
  CLICKHOUSE_CLUSTER: z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]*$/).optional(),
  ADMIN_EMAIL: z.string().default('admin@localhost'),
  ADMIN_PASSWORD: z.string().min(8).max(200).optional(),
  ADMIN_RESET: wordOrOff.optional(),
  JWT_PRIVATE_KEY: z.string().optional(),
  ACCESS_TOKEN_TTL_SECONDS: whole(1, 86_400).default(900),
  REFRESH_TOKEN_TTL_SECONDS: whole(1, longestSeconds).default(2_592_000),
  SECRETS_KEY: z.string().min(16).optional(),
  RATE_LIMIT_AUTH: whole(1).default(10),
  RATE_LIMIT_SUBMIT: whole(1).default(60),
  RATE_LIMIT_API: whole(1).default(100),
  TRUSTED_PROXIES: list.pipe(z.array(z.string().refine(isCidr, 'must be addresses or CIDR ranges'))).default([]),
  METRICS_PORT: whole(0, 65535).optional(),
  WORKERS: whole(1, 64).default(1),
  ROLES: list.pipe(z.array(z.enum(['all', ...roles])).min(1)).transform((named): Role[] => [...new Set(named.flatMap((role) => (role === 'all' ? roles : role)))]).default([...roles]),
  INTAKE_SHARDS: whole(1, 64).default(2),
  INTAKE_MEMORY_BYTES: whole(16 * 1024 * 1024).default(1024 * 1024 * 1024),
  INTAKE_MAY_LOSE: flag.default(false),
  UPLOAD_MAX_BYTES: whole(1).default(25 * 1024 * 1024),
  UPLOAD_S3_BUCKET: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/, 'must be the name of a bucket').optional(),
  UPLOAD_S3_ENDPOINT: address('http:', 'https:').optional(),
  UPLOAD_S3_REGION: z.string().regex(/^[A-Za-z0-9-]{1,64}$/).default('us-east-1'),
  UPLOAD_S3_ACCESS_KEY_ID: z.string().optional(),
  UPLOAD_S3_SECRET_ACCESS_KEY: z.string().optional(),
  UPLOAD_S3_PREFIX: z.string().max(500).default('uploads/'),
  DRAIN_DELAY_MS: whole(0, 10_000).default(0),
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),
  WEBHOOK_RETRY_SCHEDULE_SECONDS: secondsList.default([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]),
  CORS_ORIGINS: list.pipe(z.array(z.string().refine(isOrigin, 'must be * or origins as browsers send them, such as https://forms.example.org: lower case, without a path or the usual port'))).default([]),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  RETENTION_DAYS: whole(1, 36_500).optional(),
  AI_BATCH_SIZE: whole(1, 1000).default(50),
  AI_BATCH_DELAY_MS: whole(0, 3_600_000).default(1000),
  AI_CALL_TIMEOUT_SECONDS: whole(1, 600).default(90),
  AI_RETRY_SCHEDULE_SECONDS: secondsList.default([2, 10, 30]),
  AI_BATCHES_AT_ONCE: whole(1, 32).default(1),
  AI_CACHE_ENABLED: flag.default(true),
  AI_CACHE_TTL_SECONDS: whole(1, longestSeconds).default(3600),
  AI_ANONYMIZE_PII: flag.default(true),
});

/** The four providers' settings share one shape; A, B and C may carry a base URL, D must carry its endpoint. */
const providerEnvironment = (prefix: string) => ({
  [`${prefix}_API_KEY`]: z.string().min(1).optional(),
  [`${prefix}_BASE_URL`]: address('http:', 'https:').optional(),
  [`${prefix}_ENDPOINT`]: address('http:', 'https:').optional(),
  [`${prefix}_DEPLOYMENT`]: z.string().min(1).optional(),
  [`${prefix}_MODEL_HIGH`]: z.string().min(1).optional(),
  [`${prefix}_MODEL_LOW`]: z.string().min(1).optional(),
  [`${prefix}_RPM`]: whole(1).optional(),
  [`${prefix}_TPM`]: whole(1).optional(),
});

export interface ProviderSettings {
  apiKey?: string;
  baseUrl?: string;
  endpoint?: string;
  deployment?: string;
  modelHigh?: string;
  modelLow?: string;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
}

export const providerPrefixes = { openai: 'OPENAI', anthropic: 'ANTHROPIC', gemini: 'GEMINI', azure: 'AZURE_OPENAI' } as const;
export type ProviderName = keyof typeof providerPrefixes;

function parse<T extends z.ZodType>(schema: T, source: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ''));
  const read = readAs(schema, given);
  if (read.isFit) return read.data;
  const lines = read.findings.map(({ path, message }) => `${path.split('.')[0]}: ${message}`);
  throw new SettingsError(`Bad setting. ${lines.join('; ')}`);
}

function readProvider(name: ProviderName, source: Record<string, string | undefined>): ProviderSettings {
  const prefix = providerPrefixes[name];
  const found: Record<string, unknown> = parse(z.object(providerEnvironment(prefix)), source);
  const pairs = [
    ['apiKey', 'API_KEY'], ['baseUrl', 'BASE_URL'], ['endpoint', 'ENDPOINT'], ['deployment', 'DEPLOYMENT'],
    ['modelHigh', 'MODEL_HIGH'], ['modelLow', 'MODEL_LOW'], ['requestsPerMinute', 'RPM'], ['tokensPerMinute', 'TPM'],
  ] as const;
  return Object.fromEntries(pairs.map(([field, suffix]) => [field, found[`${prefix}_${suffix}`]]).filter(([, value]) => value !== undefined));
}

/** Where uploads lie in an S3-compatible storage; undefined: on disk. */
function readBucket(env: z.output<typeof environment>) {
  const { UPLOAD_S3_BUCKET: bucket, UPLOAD_S3_ACCESS_KEY_ID: accessKeyId, UPLOAD_S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) throw new SettingsError('Bad setting. UPLOAD_S3_ACCESS_KEY_ID and UPLOAD_S3_SECRET_ACCESS_KEY: give both or neither');
  if (bucket === undefined && (accessKeyId !== undefined || env.UPLOAD_S3_ENDPOINT !== undefined)) throw new SettingsError('Bad setting. UPLOAD_S3_BUCKET: is needed with the other UPLOAD_S3 settings');
  const credentials = accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  return bucket === undefined ? undefined : { bucket, endpoint: env.UPLOAD_S3_ENDPOINT, region: env.UPLOAD_S3_REGION, prefix: env.UPLOAD_S3_PREFIX, credentials };
}

/** Reads and checks every setting; the only reader of the environment. Throws a SettingsError that names the setting. */
export function readSettings(source: Record<string, string | undefined>) {
  const env = parse(environment, source);
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
    rateLimits: { auth: env.RATE_LIMIT_AUTH, submit: env.RATE_LIMIT_SUBMIT, api: env.RATE_LIMIT_API },
    trustedProxies: env.TRUSTED_PROXIES,
    metricsPort: env.METRICS_PORT,
    workers: env.WORKERS,
    roles: env.ROLES,
    intakeShards: env.INTAKE_SHARDS,
    intakeMemoryBytes: env.INTAKE_MEMORY_BYTES,
    intakeMayLose: env.INTAKE_MAY_LOSE,
    uploadMaxBytes: env.UPLOAD_MAX_BYTES,
    uploadBucket: readBucket(env),
    drainDelayMs: env.DRAIN_DELAY_MS,
    webhookAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE,
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
