import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { validate } from './platform/zod-messages.ts';

/** A missing or invalid setting, named in the message. Ends the start with exit code 1. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

const integer = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));
/** Values that operators use for "no". */
const offWords = ['false', '0', 'no', 'off'];
const textOrOff = z
  .string()
  .max(200)
  .transform((word) => (offWords.includes(word.toLowerCase()) ? undefined : word));
const flag = z.enum(['true', 'false', '1', '0', 'yes', 'no']).transform((text) => ['true', '1', 'yes'].includes(text));
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const address = (...protocols: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a URL that starts with ${protocols.join(' or ')}`,
    );
const addressList = (...protocols: string[]) => list.pipe(z.array(address(...protocols)).min(1));
/** Upper bounds of durations. */
const longestSeconds = 10 * 366 * 86_400;
const longestWaitSeconds = 30 * 86_400;
const secondsList = list.pipe(z.array(integer(0, longestWaitSeconds)).min(1));

/** Whether a socket can listen on it: an IP address, or a host name that does not look like one. */
function isHost(text: string): boolean {
  const labels = text.split('.');
  return (
    isIP(text) > 0 || (labels.every((label) => /^\w([\w-]*\w)?$/.test(label)) && /[a-z]/i.test(labels.at(-1) ?? ''))
  );
}

function isCidr(text: string): boolean {
  const [ip = '', bits, ...rest] = text.split('/');
  const version = isIP(ip);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/**
 * Whether a text is `*` or a value of the Origin header, which is compared verbatim; app shells use other schemes than
 * http.
 */
function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

const roles = ['http', 'ingest', 'jobs'] as const;
export type Role = (typeof roles)[number];

/** Texts of docs/settings.md that the schema does not provide. */
interface SettingText {
  description: string;
  unit?: string;
  /** Allowed values, if the schema does not show them. */
  values?: string;
  /** Behaviour while unset, if the schema has no default. */
  default?: string;
}
const documented = ({ default: unset, ...rest }: SettingText) => (unset === undefined ? rest : { ...rest, unset });

const addressSettings = {
  HOST: z
    .string()
    .refine(isHost, 'must be an IP address or a name of this machine')
    .default('127.0.0.1')
    .meta(documented({ description: 'Address that the HTTP server listens on.', values: 'IP address or host name' })),
  PORT: integer(0, 65535)
    .default(3000)
    .meta(documented({ description: 'Port of the HTTP server; 0 takes a free one.' })),
  PUBLIC_URL: address('http:', 'https:')
    .optional()
    .meta(
      documented({
        description: 'Address that clients use, shown in the start message and in the OpenAPI document.',
        values: 'http or https URL',
        default: 'derived from HOST and PORT',
      }),
    ),
  TRUSTED_PROXIES: list
    .pipe(z.array(z.string().refine(isCidr, 'must be addresses or CIDR ranges')))
    .default([])
    .meta(
      documented({
        description: 'Addresses or CIDR ranges of proxies, with commas. `X-Forwarded-For` is believed from these only.',
        values: 'list of addresses or CIDR ranges',
      }),
    ),
  CORS_ORIGINS: list
    .pipe(
      z.array(
        z
          .string()
          .refine(
            isOrigin,
            'must be * or origins as browsers send them, such as https://forms.example.org: lower case, without a path or the usual port',
          ),
      ),
    )
    .default([])
    .meta(
      documented({
        description:
          'Origins that browsers may call from, as browsers send them (`https://forms.example.org`), with commas. `*` opens the public routes only.',
        values: 'list of origins',
      }),
    ),
};

const storeSettings = {
  DATA_DIR: z
    .string()
    .default('./.data')
    .meta(
      documented({ description: 'Folder of the embedded stores, keys, uploads and export files.', values: 'path' }),
    ),
  REDIS_URL: address('redis:', 'rediss:')
    .optional()
    .meta(
      documented({
        description:
          'Redis for the intake. Its [configuration](operating.md#your-own-redis-postgresql-and-clickhouse) is checked at the start.',
        values: 'redis or rediss URL',
        default: 'embedded',
      }),
    ),
  REDIS_JOBS_URL: address('redis:', 'rediss:')
    .optional()
    .meta(
      documented({
        description: 'Redis for job queues, limits and live messages.',
        values: 'redis or rediss URL',
        default: 'embedded',
      }),
    ),
  DATABASE_URL: address('postgres:', 'postgresql:')
    .optional()
    .meta(
      documented({
        description: 'PostgreSQL: users, surveys, webhooks, outbox, AI jobs.',
        values: 'postgres or postgresql URL',
        default: 'embedded',
      }),
    ),
  CLICKHOUSE_URL: addressList('http:', 'https:')
    .optional()
    .meta(
      documented({
        description: 'ClickHouse 25.6 or newer: responses. Several servers with commas.',
        values: 'list of http or https URLs',
        default: 'embedded',
      }),
    ),
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/)
    .optional()
    .meta(documented({ description: 'Creates replicated and distributed tables on this cluster.' })),
};

const intakeSettings = {
  INTAKE_SHARDS: integer(1, 64)
    .default(2)
    .meta(
      documented({
        description:
          'Redis streams that surveys are spread over. [Fixed](operating.md#intake_shards-is-n-but-this-intake-was-begun-with-m) once the intake was used.',
        unit: 'streams',
      }),
    ),
  INTAKE_MEMORY_BYTES: integer(16 * 1024 * 1024)
    .default(1024 * 1024 * 1024)
    .meta(
      documented({
        description: 'Memory limit of the embedded intake. Above 80 % of it submissions are refused.',
        unit: 'bytes',
      }),
    ),
  INTAKE_MAY_LOSE: flag
    .default(false)
    .meta(
      documented({ description: 'Accepts a server of REDIS_URL whose configuration can lose acknowledged responses.' }),
    ),
};

const processSettings = {
  ROLES: list
    .pipe(z.array(z.enum(['all', ...roles])).min(1))
    .transform((named): Role[] => [...new Set(named.flatMap((role) => (role === 'all' ? roles : role)))])
    .default([...roles])
    .meta(
      documented({
        description: 'Roles that this process runs, with commas: `http`, `ingest`, `jobs`, or `all`.',
        values: 'list of `http`, `ingest`, `jobs`, `all`',
      }),
    ),
  WORKERS: integer(1, 64)
    .default(1)
    .meta(
      documented({
        description: 'HTTP processes that share one port. Above 1 the main process keeps ingest and jobs.',
        unit: 'processes',
      }),
    ),
  METRICS_PORT: integer(0, 65535)
    .optional()
    .meta(
      documented({ description: 'Port on which a process without the http role serves `/metrics` and `/health/*`.' }),
    ),
  DRAIN_DELAY_MS: integer(0, 10_000)
    .default(0)
    .meta(
      documented({
        description:
          'Time between failing readiness and closing the port. Replies during it close their connections, so that a balancer that goes on asking is not cut off. For rolling restarts set it longer than the balancer needs to notice, as 5000.',
        unit: 'milliseconds',
      }),
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .meta(documented({ description: 'Least level that is logged. Logs are JSON lines on standard error.' })),
};

const accessSettings = {
  ADMIN_EMAIL: z
    .string()
    .default('admin@localhost')
    .meta(
      documented({
        description: 'E-mail address of the first ADMIN. Used only while there is no user, and by ADMIN_RESET.',
      }),
    ),
  ADMIN_PASSWORD: z
    .string()
    .min(8)
    .max(200)
    .optional()
    .meta(
      documented({
        description: 'Password of the first ADMIN, used like ADMIN_EMAIL.',
        unit: 'characters',
        default: 'made and printed once',
      }),
    ),
  ADMIN_RESET: textOrOff.optional().meta(
    documented({
      description:
        'Any word, when nobody can sign in any more. At the next start the user of ADMIN_EMAIL (made if missing) becomes an ADMIN with ADMIN_PASSWORD or a printed password, and all sessions and API keys of that user end. Each word works once for an address; another reset needs another word. `false`, `0`, `no` and `off` mean no.',
      unit: 'characters',
    }),
  ),
  JWT_PRIVATE_KEY: z
    .string()
    .optional()
    .meta(
      documented({
        description:
          'Ed25519 signing key of access tokens: PEM, JWK or JWK set. With several keys the first signs and all verify ([rotation](operating.md#change-keys)).',
        default: 'made, in DATA_DIR/keys',
      }),
    ),
  SECRETS_KEY: z
    .string()
    .min(16)
    .optional()
    .meta(
      documented({
        description:
          'Encrypts AI provider keys and webhook secrets, and keys the hashes of client addresses in rate limits. It cannot be [changed without loss](operating.md#change-keys).',
        unit: 'characters',
        default: 'made, in DATA_DIR/keys',
      }),
    ),
  ACCEPT_CHANGED_KEYS: flag.default(false).meta(
    documented({
      description:
        "A start with other keys than the database was used with is refused. With this setting the keys of this process become the installation's, for when the [old ones are lost](operating.md#change-keys).",
    }),
  ),
  ACCESS_TOKEN_TTL_SECONDS: integer(1, 86_400)
    .default(900)
    .meta(documented({ description: 'Lifetime of an access token.', unit: 'seconds' })),
  REFRESH_TOKEN_TTL_SECONDS: integer(1, longestSeconds)
    .default(2_592_000)
    .meta(documented({ description: 'Lifetime of a refresh token.', unit: 'seconds' })),
};

const limitSettings = {
  RATE_LIMIT_AUTH: integer(1)
    .default(10)
    .meta(documented({ description: 'Sign-in calls of one client address.', unit: 'requests a minute' })),
  RATE_LIMIT_SUBMIT: integer(1)
    .default(60)
    .meta(
      documented({
        description: 'Submissions of one client address to one survey. A survey may carry a limit of its own.',
        unit: 'requests a minute',
      }),
    ),
  RATE_LIMIT_API: integer(1)
    .default(100)
    .meta(
      documented({
        description: 'All other calls of one user, API key or client address. An API key may carry a limit of its own.',
        unit: 'requests a minute',
      }),
    ),
};

const apiKeySettings = {
  API_KEY_REQUESTS_PER_MINUTE: integer(1, 1_000_000)
    .default(1000)
    .meta(
      documented({
        description:
          'Calls of all API keys of one user together, and the highest limit of one of them. An ADMIN may set another for a user (`apiKeyRequestsPerMinute`), also for an ADMIN.',
        unit: 'requests a minute',
      }),
    ),
  API_KEYS_PER_USER: integer(1, 10_000)
    .default(20)
    .meta(documented({ description: 'API keys that one user may have.', unit: 'keys' })),
};

const liveSettings = {
  LIVE_STREAMS_PER_USER: integer(1)
    .default(100)
    .meta(
      documented({
        description: 'Live streams, server-sent events and WebSockets, that one user may have open in one process.',
        unit: 'streams',
      }),
    ),
};

const analyticsSettings = {
  CROSSTAB_MAX_CELLS: integer(1, 1_000_000)
    .default(50_000)
    .meta(documented({ description: 'Cells of a crosstab with its banner; 50,000 are about 6 MB.', unit: 'cells' })),
};

const uploadSettings = {
  UPLOAD_MAX_BYTES: integer(1)
    .default(25 * 1024 * 1024)
    .meta(documented({ description: 'Largest upload.', unit: 'bytes' })),
  UPLOAD_UNCLAIMED_MINUTES: integer(1, 7 * 24 * 60)
    .default(60)
    .meta(documented({ description: 'How long a file waits for a response that names it.', unit: 'minutes' })),
  UPLOAD_SURVEY_UNCLAIMED_BYTES: integer(1)
    .default(2 * 1024 * 1024 * 1024)
    .meta(documented({ description: 'Files of one survey that no response names yet, together.', unit: 'bytes' })),
  UPLOAD_ADDRESS_HOURLY_BYTES: integer(1)
    .default(512 * 1024 * 1024)
    .meta(documented({ description: 'What one client address may upload in an hour.', unit: 'bytes' })),
  UPLOAD_DISK_RESERVE_PERCENT: integer(0, 99)
    .default(10)
    .meta(
      documented({
        description:
          'Share of the disk of DATA_DIR that uploads leave to the stores; at least 256 MiB. Below it uploads are refused.',
        unit: 'percent',
      }),
    ),
  UPLOAD_S3_BUCKET: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .meta(
      documented({
        description: 'Bucket of an S3-compatible storage for uploads.',
        default: 'uploads are stored in DATA_DIR',
      }),
    ),
  UPLOAD_S3_ENDPOINT: address('http:', 'https:')
    .optional()
    .meta(
      documented({ description: 'Address of an S3-compatible service.', values: 'http or https URL', default: 'AWS' }),
    ),
  UPLOAD_S3_REGION: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .default('us-east-1')
    .meta(documented({ description: 'Region of the bucket.' })),
  UPLOAD_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .meta(
      documented({
        description: 'Key of the storage; given together with UPLOAD_S3_SECRET_ACCESS_KEY.',
        default: 'the sources of the AWS SDK',
      }),
    ),
  UPLOAD_S3_SECRET_ACCESS_KEY: z
    .string()
    .optional()
    .meta(documented({ description: 'Secret of that key.', default: 'the sources of the AWS SDK' })),
  UPLOAD_S3_PREFIX: z
    .string()
    .max(500)
    .default('uploads/')
    .meta(documented({ description: 'Prefix of the object keys in the bucket.', unit: 'characters' })),
};

const webhookSettings = {
  WEBHOOK_ALLOW_PRIVATE: flag.default(false).meta(
    documented({
      description:
        'Allows private addresses as webhook targets and as AI endpoints that are entered in-app. For development and tests.',
    }),
  ),
  WEBHOOK_MAX_PER_SURVEY: integer(1, 10_000)
    .default(20)
    .meta(documented({ description: 'Webhooks that name the same survey; an ADMIN may create more.' })),
  WEBHOOK_MAX_PER_USER: integer(1, 100_000)
    .default(100)
    .meta(documented({ description: 'Webhooks of a user; an ADMIN may create more.' })),
  WEBHOOK_HOST_CONNECTIONS: integer(1, 10_000)
    .default(20)
    .meta(
      documented({
        description: 'Connections of each jobs process to one host, over all webhooks, and so requests to it at once.',
      }),
    ),
  WEBHOOK_HOST_REQUESTS_PER_SECOND: integer(1, 100_000)
    .default(500)
    .meta(
      documented({ description: 'Requests of each jobs process to one host, over all webhooks.', unit: 'a second' }),
    ),
  WEBHOOK_RETRY_SCHEDULE_SECONDS: secondsList
    .default([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
    .meta(
      documented({
        description: 'Waits between the attempts of a delivery, with commas; each varies by ± 20 %.',
        unit: 'seconds',
      }),
    ),
};

const retentionSettings = {
  RETENTION_DAYS: integer(1, 36_500)
    .optional()
    .meta(
      documented({
        description: 'Age at which responses are erased. A survey may carry a shorter or longer one (`retentionDays`).',
        unit: 'days',
        default: 'never',
      }),
    ),
};

const aiSettings = {
  AI_ANONYMIZE_PII: flag.default(true).meta(
    documented({
      description:
        'Replaces personal data in answers [before they are sent](guide/ai.md#what-a-provider-receives) to a provider.',
    }),
  ),
  AI_BATCH_SIZE: integer(1, 1000)
    .default(50)
    .meta(documented({ description: 'Answers in one call of an analysis.', unit: 'answers' })),
  AI_BATCH_DELAY_MS: integer(0, 3_600_000)
    .default(1000)
    .meta(documented({ description: 'Least wait between two calls of an analysis.', unit: 'milliseconds' })),
  AI_BATCHES_AT_ONCE: integer(1, 32)
    .default(1)
    .meta(documented({ description: 'Calls of one analysis that are under way together.', unit: 'calls' })),
  AI_CALL_TIMEOUT_SECONDS: integer(1, 600)
    .default(90)
    .meta(documented({ description: 'Time for a whole reply of a provider.', unit: 'seconds' })),
  AI_RETRY_SCHEDULE_SECONDS: secondsList.default([2, 10, 30]).meta(
    documented({
      description: 'Waits before a call of an analysis is repeated after the provider broke down, with commas.',
      unit: 'seconds',
    }),
  ),
  AI_CACHE_ENABLED: flag
    .default(true)
    .meta(documented({ description: 'Keeps replies that fit, so that nothing is asked twice.' })),
  AI_CACHE_TTL_SECONDS: integer(1, longestSeconds)
    .default(3600)
    .meta(documented({ description: 'How long replies are kept.', unit: 'seconds' })),
};

const environmentSchema = z.object({
  ...addressSettings,
  ...storeSettings,
  ...intakeSettings,
  ...processSettings,
  ...accessSettings,
  ...limitSettings,
  ...apiKeySettings,
  ...liveSettings,
  ...analyticsSettings,
  ...uploadSettings,
  ...webhookSettings,
  ...retentionSettings,
  ...aiSettings,
});

/** The four providers' settings share one shape; A, B and C may carry a base URL, D must carry its endpoint. */
const providerSchema = (prefix: string) => ({
  [`${prefix}_API_KEY`]: z
    .string()
    .min(1)
    .optional()
    .meta(documented({ description: 'Key of the account; the provider can be used when it is set.' })),
  [`${prefix}_BASE_URL`]: address('http:', 'https:')
    .optional()
    .meta(
      documented({
        description: 'Address of a compatible service. Not for Azure.',
        values: 'http or https URL',
        default: 'the provider’s own',
      }),
    ),
  [`${prefix}_ENDPOINT`]: address('http:', 'https:')
    .optional()
    .meta(
      documented({
        description: 'Address of the resource. Azure only, where it is needed.',
        values: 'http or https URL',
      }),
    ),
  [`${prefix}_DEPLOYMENT`]: z
    .string()
    .min(1)
    .optional()
    .meta(documented({ description: 'Name of the deployment. Azure only, where it is needed.' })),
  [`${prefix}_MODEL_HIGH`]: z
    .string()
    .min(1)
    .optional()
    .meta(
      documented({
        description:
          'Model that writes: surveys, reports, conversations. At Azure it only says which model the deployment is, for the price.',
      }),
    ),
  [`${prefix}_MODEL_LOW`]: z
    .string()
    .min(1)
    .optional()
    .meta(documented({ description: 'Model that sorts: analyses. At Azure as for MODEL_HIGH.' })),
  [`${prefix}_RPM`]: integer(1)
    .optional()
    .meta(documented({ description: 'Requests that the account may send.', unit: 'requests a minute' })),
  [`${prefix}_TPM`]: integer(1)
    .optional()
    .meta(documented({ description: 'Tokens that the account may use.', unit: 'tokens a minute' })),
});

/** Every setting by section, for docs/settings.md, which scripts/docs-settings.mjs writes. */
export const settingSections: readonly { title: string; settings: Readonly<Record<string, z.ZodType>> }[] = [
  { title: 'Address', settings: addressSettings },
  { title: 'Stores', settings: storeSettings },
  { title: 'Intake', settings: intakeSettings },
  { title: 'Processes and logs', settings: processSettings },
  { title: 'Administrator, keys and tokens', settings: accessSettings },
  { title: 'Rate limits', settings: { ...limitSettings, ...apiKeySettings, ...liveSettings } },
  { title: 'Analytics', settings: analyticsSettings },
  { title: 'Uploads', settings: uploadSettings },
  { title: 'Webhooks', settings: webhookSettings },
  { title: 'Retention', settings: retentionSettings },
  { title: 'AI', settings: aiSettings },
];

/** The settings of one AI provider, by their names. */
export const providerSettings = (name: ProviderName): Readonly<Record<string, z.ZodType>> =>
  providerSchema(providerPrefixes[name]);

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

export const providerPrefixes = {
  openai: 'OPENAI',
  anthropic: 'ANTHROPIC',
  gemini: 'GEMINI',
  azure: 'AZURE_OPENAI',
} as const;
export type ProviderName = keyof typeof providerPrefixes;

function parse<T extends z.ZodType>(schema: T, source: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ''));
  const read = validate(schema, given);
  if (read.isValid) return read.data;
  const lines = read.issues.map(({ path, message }) => `${path.split('.')[0]}: ${message}`);
  throw new SettingsError(`Bad setting. ${lines.join('; ')}`);
}

function readProvider(name: ProviderName, source: Record<string, string | undefined>): ProviderSettings {
  const prefix = providerPrefixes[name];
  const found: Record<string, unknown> = parse(z.object(providerSchema(prefix)), source);
  const pairs = [
    ['apiKey', 'API_KEY'],
    ['baseUrl', 'BASE_URL'],
    ['endpoint', 'ENDPOINT'],
    ['deployment', 'DEPLOYMENT'],
    ['modelHigh', 'MODEL_HIGH'],
    ['modelLow', 'MODEL_LOW'],
    ['requestsPerMinute', 'RPM'],
    ['tokensPerMinute', 'TPM'],
  ] as const;
  return Object.fromEntries(
    pairs.map(([field, suffix]) => [field, found[`${prefix}_${suffix}`]]).filter(([, value]) => value !== undefined),
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

/** Prefixes that no other program's environment is likely to use. */
const ownPrefixes = ['RATE_LIMIT', 'INTAKE_', 'WEBHOOK_', 'UPLOAD_', 'AI_'];
/** Shorter names are too near to common variables, such as HOST to HOME. */
const minComparedLength = 7;
const maxTypos = 2;

/** Environment variables that are no settings but look like one, with the setting that they resemble. */
export function misspelledSettings(
  source: Record<string, string | undefined>,
): { name: string; meant: string | undefined }[] {
  const known = Object.keys(environmentSchema.shape);
  return Object.keys(source)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name, meant: known.find((other) => isMisspelling(name, other)) }))
    .filter(({ name, meant }) => meant !== undefined || ownPrefixes.some((prefix) => name.startsWith(prefix)));
}

function isMisspelling(name: string, known: string): boolean {
  return (
    known.length >= minComparedLength &&
    Math.abs(name.length - known.length) <= maxTypos &&
    editDistance(name.toUpperCase(), known) <= maxTypos
  );
}

/** Levenshtein distance: the fewest characters inserted, deleted or replaced that turn one text into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (character === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/**
 * Reads and checks every setting; the only reader of the environment. Throws a SettingsError that names the setting.
 */
export function readSettings(source: Record<string, string | undefined>) {
  const env = parse(environmentSchema, source);
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
      // Keys without a limit of their own have the general one.
      requestsPerMinute: Math.max(env.API_KEY_REQUESTS_PER_MINUTE, env.RATE_LIMIT_API),
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
    drainDelayMs: env.DRAIN_DELAY_MS,
    webhookAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE,
    webhookLimits: {
      perSurvey: env.WEBHOOK_MAX_PER_SURVEY,
      perUser: env.WEBHOOK_MAX_PER_USER,
      hostConnections: env.WEBHOOK_HOST_CONNECTIONS,
      hostRequestsPerSecond: env.WEBHOOK_HOST_REQUESTS_PER_SECOND,
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
