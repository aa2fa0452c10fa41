import { rmSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client, createClient } from './client.ts';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';
import { type RunningService, startService } from './service.ts';
import { startReceiver } from './webhook-receiver.ts';

export interface WebhookChaosOptions {
  /** How long there are load and kills at least: longer where not every victim has had its turn. */
  seconds: number;
  /** Submissions a second, each of which makes two events. */
  perSecond: number;
  /** Milliseconds from one kill to the next. */
  killEveryMs: number;
  say?(line: string): void;
}

export interface WebhookChaosReport {
  kills: Record<Victim, number>;
  /** Events whose cause was answered with success. */
  committed: number;
  /** Those of them that never arrived. */
  missing: string[];
  /** Responses in the service at the end, and how many different ones were delivered. */
  stored: number;
  delivered: number;
  /** Events that came under more than one webhook-id. */
  underSeveralIds: string[];
  requests: number;
  /** Requests whose webhook-id had come before. */
  repeated: number;
  repeatedShare: number;
  /** Calls that got no answer or a refusal: without any the run has proved nothing. */
  failedCalls: number;
}

const victims = ['jobs', 'redisJobs', 'postgres', 'ingest'] as const;
type Victim = (typeof victims)[number];

const senderCount = 8;
const receiverDelayMs = 2;
const arrivalWithinMs = 120_000;

/**
 * Kills — always with SIGKILL, one after the other — the process that delivers, the Redis of its jobs, PostgreSQL, and
 * the process that takes and stores responses, while responses are submitted, surveys published and quotas filled; then
 * compares what was committed with what arrived.
 */
export async function runWebhookChaos({
  seconds,
  perSecond,
  killEveryMs,
  say = () => undefined,
}: WebhookChaosOptions): Promise<WebhookChaosReport> {
  const dataDir = temporaryDataDir();
  const stores = await startEmbeddedStores({
    dataDir,
    needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
    log: createLog('silent'),
    env: process.env,
  });
  const parts = createParts(dataDir, stores);
  const arrivals = await startArrivals();
  try {
    await parts.start('ingest');
    await parts.start('jobs');
    const load = await startLoad(parts.front, arrivals, perSecond);
    const kills = await killInTurn({ seconds, killEveryMs, parts, say });
    await load.stop();
    say(`${load.committed.size} events committed, ${arrivals.requests()} requests so far`);
    return { kills, ...(await compare({ load, arrivals, say })) };
  } finally {
    await parts.stop();
    await stores.stop();
    await arrivals.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The service in two processes: one takes and stores responses, one delivers. */
function createParts(dataDir: string, stores: EmbeddedStores) {
  const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
  const urls = {
    REDIS_URL: redisUrl,
    REDIS_JOBS_URL: redisJobsUrl,
    DATABASE_URL: databaseUrl,
    CLICKHOUSE_URL: clickhouseUrl,
  };
  const roles = { ingest: 'http,ingest', jobs: 'jobs' };
  const running = new Map<keyof typeof roles, RunningService>();
  const start = async (part: keyof typeof roles) =>
    void running.set(
      part,
      await startService({
        dataDir,
        env: {
          ...urls,
          WEBHOOK_ALLOW_PRIVATE: 'true',
          ACCESS_TOKEN_TTL_SECONDS: '3600',
          ROLES: roles[part],
          ...(part === 'jobs' && { METRICS_PORT: '0' }),
        },
      }),
    );
  return {
    start,
    front(): RunningService {
      const front = running.get('ingest');
      if (!front) throw new Error('it has not been started');
      return front;
    },
    async kill(victim: Victim): Promise<void> {
      if (victim === 'jobs' || victim === 'ingest') {
        await running.get(victim)?.kill();
        // It may come up while PostgreSQL is still on its way.
        return eventually(() => start(victim), 60_000, 200);
      }
      const pid = stores.pid(victim);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    },
    async stop(): Promise<void> {
      for (const service of running.values()) await service.stop().catch(() => undefined);
    },
  };
}

type Parts = ReturnType<typeof createParts>;

async function killInTurn({
  seconds,
  killEveryMs,
  parts,
  say,
}: Pick<WebhookChaosOptions, 'seconds' | 'killEveryMs'> & { parts: Parts; say(line: string): void }): Promise<
  Record<Victim, number>
> {
  const kills: Record<Victim, number> = { jobs: 0, redisJobs: 0, postgres: 0, ingest: 0 };
  const until = Date.now() + seconds * 1000;
  for (let n = 0; ; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, killEveryMs));
    if (Date.now() > until && Object.values(kills).every((count) => count > 0)) return kills;
    const victim = victims[n % victims.length] ?? 'jobs';
    say(`kill -9 ${victim}`);
    await parts.kill(victim);
    say(`${victim} is back`);
    kills[victim] += 1;
  }
}

/** A receiver that checks every signature on arrival and notes which event came under which id. */
async function startArrivals() {
  const idsOf = new Map<string, Set<string>>();
  const ids = new Set<string>();
  const toldOf = new Map<string, Set<string>>();
  let requests = 0;
  let verifier: Webhook | undefined;
  const receiver = await startReceiver((received, reply) => {
    const { event, data } = (verifier as Webhook).verify(received.body, received.headers) as {
      event: string;
      data: { surveyId: string; responseId?: string };
    };
    const key = `${event} ${data.responseId ?? data.surveyId}`;
    idsOf.set(key, (idsOf.get(key) ?? new Set()).add(received.id));
    if (event === 'response.submitted') toldOf.set(data.surveyId, (toldOf.get(data.surveyId) ?? new Set()).add(key));
    ids.add(received.id);
    requests += 1;
    setTimeout(() => reply.writeHead(200).end(), receiverDelayMs);
  });
  return {
    url: receiver.url,
    idsOf,
    close: receiver.close,
    requests: () => requests,
    repeated: () => requests - ids.size,
    toldOf: (surveyId: string) => toldOf.get(surveyId)?.size ?? 0,
    expectSecret: (secret: string) => {
      verifier = new Webhook(secret);
    },
  };
}

type Arrivals = Awaited<ReturnType<typeof startArrivals>>;

/** Submits at an even pace to one survey, and every second fills the quota of a new one. */
async function startLoad(front: () => RunningService, arrivals: Arrivals, perSecond: number) {
  const admin = await adminClient(front());
  // The process that replies now: it returns on another port.
  const again = (): Client => createClient(front(), admin.token);
  const committed = new Set<string>();
  let [isOver, failedCalls] = [false, 0];
  const hook = await admin.create('/webhooks', {
    url: arrivals.url,
    events: ['response.submitted', 'response.completed', 'survey.published', 'quota.reached'],
  });
  arrivals.expectSecret(hook.secret);
  const survey = await admin.create('/surveys', { title: 'Chaos', status: 'ACTIVE' });
  const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
  const submit = async (surveyId: string, questionId: string): Promise<boolean> => {
    const responseId = newId();
    const reply = await again()
      .submit(surveyId, { responseId, answers: [{ questionId, numberValue: 1 }] })
      .catch(() => undefined);
    if (reply?.status !== 201) return false;
    committed.add(`response.submitted ${responseId}`).add(`response.completed ${responseId}`);
    return true;
  };
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const paced = async (everyMs: number, step: () => Promise<boolean>) => {
    for (let nextAt = performance.now(); !isOver; nextAt = Math.max(nextAt + everyMs, performance.now() - 1000)) {
      await pause(Math.max(0, nextAt - performance.now()));
      if (await step().catch(() => false)) continue;
      failedCalls += 1;
      await pause(50);
    }
  };
  const fillQuota = async () => {
    const made = await again().create('/surveys', { title: 'Soon full', responseQuota: 2 });
    const asked = await again().create(`/surveys/${made.id}/questions`, { type: 'NUMBER', text: 'n' });
    await again().post(`/surveys/${made.id}/publish`);
    committed.add(`survey.published ${made.id}`);
    const taken = [await submit(made.id, asked.id), await submit(made.id, asked.id)];
    if (taken.every(Boolean)) committed.add(`quota.reached ${made.id}`);
    return true;
  };
  const running = [
    paced(1000, fillQuota),
    ...Array.from({ length: senderCount }, () =>
      paced((1000 * senderCount) / perSecond, () => submit(survey.id, question.id)),
    ),
  ];
  return {
    committed,
    surveyId: survey.id as string,
    hookId: hook.id as string,
    again,
    failedCalls: () => failedCalls,
    async stop(): Promise<void> {
      isOver = true;
      await Promise.all(running);
    },
  };
}

type Load = Awaited<ReturnType<typeof startLoad>>;

async function compare({
  load,
  arrivals,
  say,
}: {
  load: Load;
  arrivals: Arrivals;
  say(line: string): void;
}): Promise<Omit<WebhookChaosReport, 'kills'>> {
  const { committed, surveyId, hookId, again } = load;
  const missing = () => [...committed].filter((key) => !arrivals.idsOf.has(key));
  const stored = async () => (await again().get(`/analytics/surveys/${surveyId}`)).totalResponses;
  const isSettled = async () => {
    if (missing().length > 0) throw new Error('not all has arrived');
    // What got no reply may be stored as well, and its delivery is not written down before.
    if (arrivals.toldOf(surveyId) !== (await stored())) throw new Error('stored and delivered responses differ');
    const waiting = await again().get(`/webhooks/${hookId}/deliveries?status=PENDING&limit=1`);
    if (waiting.length > 0) throw new Error('deliveries still wait');
  };
  await eventually(isSettled, arrivalWithinMs, 200).catch((error: Error) =>
    say(`after ${arrivalWithinMs / 1000} s: ${error.message}`),
  );
  const totalResponses = await stored();
  const [requests, repeated] = [arrivals.requests(), arrivals.repeated()];
  return {
    committed: committed.size,
    missing: missing(),
    stored: totalResponses,
    delivered: arrivals.toldOf(surveyId),
    underSeveralIds: [...arrivals.idsOf].filter(([, ids]) => ids.size > 1).map(([key]) => key),
    requests,
    repeated,
    repeatedShare: repeated / requests,
    failedCalls: load.failedCalls(),
  };
}
