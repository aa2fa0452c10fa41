import { z } from 'zod';
import { Problem } from '../../errors.ts';
import type { DescribedRoute } from '../reference/described-route.ts';
import { ok, route, type Route } from '../route.ts';
import { healthSchema } from '../schemas/common.ts';

export interface HealthRoutesDeps {
  /** Set from the moment that the service begins to stop. */
  isDraining(): boolean;
  /** The refusal that a submission would get because the intake is too full. */
  pressure(): Problem | undefined;
  /** Writes to the intake and settles when the write is on disk. */
  writeToIntake(): Promise<unknown>;
  /** What the service can take submissions without: name → a question that settles when it answers. */
  others: Readonly<Record<string, () => Promise<unknown>>>;
  /** By a clock that nobody sets. */
  nowMs?(): number;
  /** How long a store may take to answer. */
  patienceMs?: number;
}

const usualPatienceMs = 500;
/** However often it is asked, the stores are asked once in this time. */
const freshMs = 500;

type Result = 'ok' | 'failed' | 'timed out';

/** `/health/live` and `/health/ready`, for the root table. */
export function healthRoutes(deps: HealthRoutesDeps): DescribedRoute[] {
  return [liveRoute(), { ...readyRoute(deps), refusals: ['SERVICE_UNAVAILABLE'] }];
}

function liveRoute(): Route {
  return route({
    method: 'GET', path: '/health/live', tag: 'Service', summary: 'Whether the process runs', description: 'Asks nothing of any store: a reply at all means yes.',
    access: { kind: 'public' }, limit: 'none', bearsAnyQuery: true, reply: z.strictObject({ status: z.literal('live') }), replyStatus: 200,
    handle: async () => ok({ status: 'live' }),
  });
}

function readyRoute(deps: HealthRoutesDeps): Route {
  const { patienceMs = usualPatienceMs } = deps;
  const look = fresh(deps, () => lookAround(deps));
  return route({
    method: 'GET', path: '/health/ready', tag: 'Service', summary: 'Whether submissions are taken',
    description:
      `Ready means that the intake has a submission on disk within ${patienceMs} ms and has room, and that the service is not stopping. What can be missing meanwhile (the response store, the control plane, AI) is named in ` +
      '`degraded`. Otherwise 503 SERVICE_UNAVAILABLE with the same fields in `details`. The stores are asked at most twice a second.',
    access: { kind: 'public' }, limit: 'none', bearsAnyQuery: true, reply: healthSchema, replyStatus: 200,
    handle: async () => {
      const found = await look();
      const checks = { ...found, running: deps.isDraining() ? 'failed' : 'ok', room: deps.pressure() ? 'failed' : 'ok' } as const;
      const degraded = Object.keys(deps.others).filter((name) => found[name] !== 'ok');
      const reason = reasonAgainst(checks);
      if (reason === undefined) return ok({ status: 'ready', checks, degraded });
      throw new Problem('SERVICE_UNAVAILABLE', reasons[reason], { retryAfterSeconds: 2, details: { reason, status: 'not ready', checks, degraded } });
    },
  });
}

const reasons = {
  DRAINING: 'The service is stopping',
  INTAKE_UNAVAILABLE: 'The intake cannot be written to',
  INTAKE_FULL: 'The intake is full for the moment',
} as const;

type Reason = keyof typeof reasons;

function reasonAgainst(checks: Readonly<Record<string, Result>>): Reason | undefined {
  if (checks['running'] !== 'ok') return 'DRAINING';
  if (checks['intake'] !== 'ok') return 'INTAKE_UNAVAILABLE';
  return checks['room'] === 'ok' ? undefined : 'INTAKE_FULL';
}

async function lookAround({ writeToIntake, others, patienceMs = usualPatienceMs }: HealthRoutesDeps): Promise<Record<string, Result>> {
  const questions = Object.entries({ intake: writeToIntake, ...others });
  return Object.fromEntries(await Promise.all(questions.map(async ([name, ask]) => [name, await resultOf(ask, patienceMs)] as const)));
}

async function resultOf(ask: () => Promise<unknown>, patienceMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve('timed out'), patienceMs);
  });
  const answer = Promise.resolve().then(ask).then((): Result => 'ok', (): Result => 'failed');
  return Promise.race([answer, patience]).finally(() => clearTimeout(timer));
}

/** One look serves all who ask while it lasts, and for a moment after it began. */
function fresh<T>({ nowMs = () => performance.now() }: Pick<HealthRoutesDeps, 'nowMs'>, look: () => Promise<T>): () => Promise<T> {
  let last: { atMs: number; found: Promise<T> } | undefined;
  return () => {
    if (!last || nowMs() - last.atMs >= freshMs) last = { atMs: nowMs(), found: look() };
    return last.found;
  };
}
