import { z } from 'zod';
import { Problem } from '../../errors.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { type healthResult, healthSchema } from '../schemas/common.ts';

export interface HealthRoutesDeps {
  /** True from the moment that the service begins to stop. */
  isDraining(): boolean;
  /** The refusal that a submission would get because the intake is too full. */
  fullIntakeProblem(): Problem | undefined;
  /** Writes to the intake; resolves when the write is on disk. */
  writeToIntake(): Promise<unknown>;
  /** Checks of the stores that submissions do not need, by name. */
  dependencies: Readonly<Record<string, () => Promise<unknown>>>;
  /** A monotonic clock. */
  nowMs?(): number;
  /** Longest time for one check. */
  timeoutMs?: number;
}

const defaultTimeoutMs = 500;
/** Results are cached for this time. */
const resultMaxAgeMs = 500;

type Result = z.infer<typeof healthResult>;

/** /health/live and /health/ready, at the root. */
export function healthRoutes(deps: HealthRoutesDeps): Route[] {
  return [liveRoute(), readyRoute(deps)];
}

function liveRoute(): Route {
  return route({
    method: 'GET',
    path: '/health/live',
    operationId: 'getLiveness',
    tag: 'Service',
    summary: 'Check that the process runs',
    description: 'Uses no store: any reply means that the process runs.',
    access: { kind: 'public' },
    limit: 'none',
    ignoresQuery: true,
    reply: z.strictObject({ status: z.literal('live') }),
    replyStatus: 200,
    handle: async () => ok({ status: 'live' }),
  });
}

export interface HealthState {
  /** The result of each check, by its name. */
  checks: Readonly<Record<string, Result>>;
  /** Dependencies that are away although submissions may be taken. */
  degraded: string[];
  /** Why submissions are not taken; undefined: they are. */
  reason: Reason | undefined;
}

/** The check of the stores; concurrent and close callers share one. */
export function createHealthCheck(deps: HealthRoutesDeps): () => Promise<HealthState> {
  const checkCached = cached(deps, () => checkStores(deps));
  return async () => {
    const found = await checkCached();
    const checks = {
      ...found,
      running: deps.isDraining() ? 'failed' : 'ok',
      room: deps.fullIntakeProblem() ? 'failed' : 'ok',
    } as const;
    const degraded = Object.keys(deps.dependencies).filter((name) => found[name] !== 'ok');
    return { checks, degraded, reason: notReadyReason(checks) };
  };
}

function readyRoute(deps: HealthRoutesDeps): Route {
  const { timeoutMs = defaultTimeoutMs } = deps;
  const check = createHealthCheck(deps);
  return route({
    method: 'GET',
    path: '/health/ready',
    operationId: 'getReadiness',
    tag: 'Service',
    summary: 'Check that submissions are accepted',
    description:
      `Ready means that the intake writes to disk within ${timeoutMs} ms and has room, and that the service is not stopping. Other stores that are away (ClickHouse, PostgreSQL, the Redis for jobs) are named in ` +
      '`degraded`, and so is `storedResponses` where ClickHouse has moved a damaged part out of its tables. Otherwise 503 SERVICE_UNAVAILABLE with the same fields in `details`. The stores are checked at most twice a second.',
    access: { kind: 'public' },
    limit: 'none',
    ignoresQuery: true,
    reply: healthSchema,
    replyStatus: 200,
    refusals: ['SERVICE_UNAVAILABLE'],
    handle: async () => {
      const { checks, degraded, reason } = await check();
      if (reason === undefined) return ok({ status: 'ready', checks, degraded });
      throw new Problem('SERVICE_UNAVAILABLE', reasons[reason], {
        retryAfterSeconds: 2,
        details: { reason, status: 'not ready', checks, degraded },
      });
    },
  });
}

const reasons = {
  DRAINING: 'The service is stopping',
  INTAKE_UNAVAILABLE: 'The intake cannot be written to',
  INTAKE_FULL: 'The intake is full for the moment',
} as const;

type Reason = keyof typeof reasons;

function notReadyReason(checks: Readonly<Record<string, Result>>): Reason | undefined {
  if (checks['running'] !== 'ok') return 'DRAINING';
  if (checks['intake'] !== 'ok') return 'INTAKE_UNAVAILABLE';
  return checks['room'] === 'ok' ? undefined : 'INTAKE_FULL';
}

async function checkStores({
  writeToIntake,
  dependencies,
  timeoutMs = defaultTimeoutMs,
}: HealthRoutesDeps): Promise<Record<string, Result>> {
  const checks = Object.entries({ intake: writeToIntake, ...dependencies });
  return Object.fromEntries(
    await Promise.all(checks.map(async ([name, check]) => [name, await runCheck(check, timeoutMs)] as const)),
  );
}

async function runCheck(check: () => Promise<unknown>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Result>((resolve) => {
    // After a pause of this process, such as a swapped-out one has, replies that came meanwhile are read first.
    timer = setTimeout(() => setImmediate(resolve, 'timed out'), timeoutMs);
  });
  const answer = Promise.resolve()
    .then(check)
    .then(
      (): Result => 'ok',
      (): Result => 'failed',
    );
  return Promise.race([answer, timeout]).finally(() => clearTimeout(timer));
}

/** Shares one load among concurrent callers, and with later ones until it is `resultMaxAgeMs` old. */
function cached<T>(
  { nowMs = () => performance.now() }: Pick<HealthRoutesDeps, 'nowMs'>,
  load: () => Promise<T>,
): () => Promise<T> {
  let last: { atMs: number; found: Promise<T> } | undefined;
  return () => {
    if (!last || nowMs() - last.atMs >= resultMaxAgeMs) last = { atMs: nowMs(), found: load() };
    return last.found;
  };
}
