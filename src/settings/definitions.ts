import { z } from 'zod';
import { accessSettings } from './access-settings.ts';
import { aiSettings } from './ai-settings.ts';
import { uploadSettings } from './upload-settings.ts';
import {
  address,
  addressList,
  documented,
  flag,
  integer,
  isCidr,
  isHost,
  isOrigin,
  list,
  redisAddress,
} from './value-kinds.ts';
import { webhookSettings } from './webhook-settings.ts';

export const roles = ['http', 'ingest', 'jobs'] as const;
export type Role = (typeof roles)[number];

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
    .refine(
      (text) => !URL.canParse(text) || /^[^/]+:\/\/[^/?#]+\/?$/.test(text),
      'must end with its host or port: the service needs a host (or subdomain) of its own',
    )
    .transform((text) => new URL(text).origin)
    .optional()
    .meta(
      documented({
        description:
          'Address that clients use, as in the OpenAPI document. Its pages may sign in and open WebSockets; with https, the cookie of a session is sent over https only.',
        values: 'http or https URL without a path',
        default: 'the address of each call',
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
  REDIS_URL: redisAddress.optional().meta(
    documented({
      description:
        'Redis for the intake: one server, no Redis Cluster. Its [configuration](operating.md#your-own-redis-postgresql-and-clickhouse) is checked at the start.',
      values: 'redis or rediss URL',
      default: 'embedded',
    }),
  ),
  REDIS_JOBS_URL: redisAddress.optional().meta(
    documented({
      description: 'Redis for job queues, limits and live messages: one server, no Redis Cluster.',
      values: 'redis or rediss URL',
      default: 'embedded',
    }),
  ),
  DATABASE_URL: address('postgres:', 'postgresql:')
    .optional()
    .meta(
      documented({
        description:
          'PostgreSQL: users, surveys, webhooks, outbox, AI jobs. Its [encoding and rights](operating.md#your-own-redis-postgresql-and-clickhouse) are checked at the start.',
        values: 'postgres or postgresql URL',
        default: 'embedded',
      }),
    ),
  CLICKHOUSE_URL: addressList('http:', 'https:')
    .optional()
    .meta(
      documented({
        description:
          'ClickHouse 25.6 or newer: responses. Several servers with commas. A database that it names and that is not there is made, so look at its name twice.',
        values: 'list of http or https URLs',
        default: 'embedded',
      }),
    ),
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/)
    .optional()
    .meta(
      documented({
        description:
          'Creates replicated and distributed tables on this cluster. Counts then [cost more](decisions/024-plans-of-counts.md).',
      }),
    ),
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
        description:
          'Roles that this process runs, with commas: `http`, `ingest`, `jobs`, or `all`. Fewer than all of them need [all four stores of your own](operating.md#your-own-redis-postgresql-and-clickhouse): embedded ones belong to one process.',
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

const limitSettings = {
  RATE_LIMIT_AUTH: integer(1)
    .default(10)
    .meta(
      documented({
        description:
          'Sign-ins and renewals of sessions of one client address together. A reload of the console is a renewal.',
        unit: 'requests a minute',
      }),
    ),
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
    .optional()
    .meta(
      documented({
        default: '1000, or RATE_LIMIT_API where that is higher',
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

const exportSettings = {
  EXPORT_USER_BYTES: integer(1)
    .default(10 * 1024 * 1024 * 1024)
    .meta(
      documented({
        description:
          'Finished files of one user, together. Above it requests are refused until some are removed or expire.',
        unit: 'bytes',
      }),
    ),
};

const retentionSettings = {
  RETENTION_DAYS: integer(1, 36_500)
    .optional()
    .meta(
      documented({
        description:
          'Age at which responses are erased. A survey may carry a shorter or longer one (`retentionDays`). Where the clock has gone ahead by more than two days, or the service rested for longer, nothing more is erased for a day.',
        unit: 'days',
        default: 'never',
      }),
    ),
};

export const environmentSchema = z.object({
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
  ...exportSettings,
  ...webhookSettings,
  ...retentionSettings,
  ...aiSettings,
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
  { title: 'Exports', settings: exportSettings },
  { title: 'Webhooks', settings: webhookSettings },
  { title: 'Retention', settings: retentionSettings },
  { title: 'AI', settings: aiSettings },
];
