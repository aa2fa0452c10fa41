import { rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createLog } from '../../src/log.ts';
import { startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from './client.ts';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';
import { type FreezingProxy, startFreezingProxy } from './freezing-proxy.ts';
import { type RunningService, startService } from './service.ts';

export const postgresFaults = {
  /** Open and new connections carry nothing and are not closed. */
  frozen: (proxy: FreezingProxy) => proxy.freezeAll(),
  /** Open connections carry nothing and are not closed; new ones are served. */
  open: (proxy: FreezingProxy) => proxy.freezeOpen(),
  /** Open connections are closed, new ones refused. */
  stopped: (proxy: FreezingProxy) => proxy.refuse(),
} as const;

export type PostgresFault = keyof typeof postgresFaults;

export interface PostgresChaosOptions {
  fault: PostgresFault;
  perSecond: number;
  /** Duration of the fault. The load begins before it and ends after it. */
  seconds: number;
  say?(line: string): void;
}

export interface PostgresChaosReport {
  acknowledged: number;
  /** Submissions by another status than 201; 0: no reply. */
  refused: Record<string, number>;
  /** The most that the response store was behind the acknowledged submissions. */
  maxLagSeconds: number;
  /** Acknowledged responses that are not stored at the end. */
  lost: string[];
  /** Samples during the fault in which /health/ready named the control plane as degraded, of all of them. */
  readySaidSo: [said: number, of: number];
  /** Replies of the analytics route during the fault, and the time of the slowest. */
  analytics: { statuses: Record<string, number>; slowestMs: number; maxLagSeconds: number };
  /** From the end of the fault until the analytics route showed all that was acknowledged by then. */
  recoveredSeconds: number;
}

const beforeSeconds = 3;
const afterSeconds = 5;
const storedWithinMs = 60_000;
const callWithinMs = 30_000;
const idleMs = 5000;

/**
 * Submits at an even pace to a service whose connections to PostgreSQL fail, and looks every second how far the
 * response store and the analytics route are behind what was acknowledged, and what /health/ready says. In the end
 * every acknowledged id is looked for.
 */
export async function runPostgresChaos({
  fault,
  perSecond,
  seconds,
  say = () => undefined,
}: PostgresChaosOptions): Promise<PostgresChaosReport> {
  const dataDir = temporaryDataDir();
  const needed = { redis: true, redisJobs: true, postgres: true, clickhouse: true };
  const stores = await startEmbeddedStores({ dataDir, needed, log: createLog('silent'), env: process.env });
  const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
  const proxy = await startFreezingProxy(databaseUrl);
  let service: RunningService | undefined;
  try {
    const urls = {
      REDIS_URL: redisUrl,
      REDIS_JOBS_URL: redisJobsUrl,
      DATABASE_URL: proxy.url,
      CLICKHOUSE_URL: clickhouseUrl,
    };
    service = await startService({ env: { ...urls, ACCESS_TOKEN_TTL_SECONDS: '86400', LOG_LEVEL: 'warn' } });
    const admin = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Without PostgreSQL', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'How likely?' });
    const load = startLoad({ port: service.port, surveyId: survey.id, questionId: question.id, perSecond });
    const storedIds = createIdReader(clickhouseUrl, survey.id);
    const watch = startWatch({ service, admin, surveyId: survey.id, load, storedIds, say });
    await pause(beforeSeconds * 1000);
    await postgresFaults[fault](proxy);
    watch.during(true);
    await pause(seconds * 1000);
    watch.during(false);
    const endedAt = performance.now();
    const goal = load.acknowledgedAt.size;
    await proxy.serve();
    const recovered = eventually(
      async () => {
        const { totalResponses } = await admin.get(`/analytics/surveys/${survey.id}`);
        if (totalResponses < goal) throw new Error(`${totalResponses} of ${goal}`);
        return (performance.now() - endedAt) / 1000;
      },
      storedWithinMs,
      100,
    );
    await pause(afterSeconds * 1000);
    await load.end();
    const recoveredSeconds = await recovered;
    const all = [...load.acknowledgedAt.keys()];
    const missing = async () => {
      const present = new Set(await storedIds.list());
      return all.filter((id) => !present.has(id));
    };
    // Responses that are not stored after this time count as lost.
    await eventually(
      async () => {
        if ((await storedIds.count()) < all.length) throw new Error('some are on their way');
      },
      storedWithinMs,
      200,
    ).catch(() => undefined);
    await watch.end();
    return {
      acknowledged: all.length,
      refused: load.refused,
      lost: await missing(),
      recoveredSeconds: rounded(recoveredSeconds),
      ...watch.found,
    };
  } finally {
    await service?.stop();
    await proxy.stop();
    await stores.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The violated expectations; empty if all hold. */
export function failuresOf(
  { refused, lost, maxLagSeconds, readySaidSo: [said] }: PostgresChaosReport,
  mostLagSeconds = 15,
): string[] {
  return [
    ...(Object.keys(refused).length > 0 ? [`refused: ${JSON.stringify(refused)}`] : []),
    ...(lost.length > 0 ? [`${lost.length} were lost`] : []),
    ...(maxLagSeconds > mostLagSeconds ? [`the response store was ${maxLagSeconds} s behind`] : []),
    ...(said === 0 ? ['/health/ready never named the control plane: the fault did not bite, or nobody was told'] : []),
  ];
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

interface LoadOptions {
  port: number;
  surveyId: string;
  questionId: string;
  perSecond: number;
}

type Load = ReturnType<typeof startLoad>;

/** Sends submissions at an even pace until it is ended, whether or not earlier ones were answered. */
function startLoad({ port, surveyId, questionId, perSecond }: LoadOptions) {
  // The service closes what was idle for ten seconds: a call over such a connection would look like a refusal.
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: idleMs });
  /** By id, in the order of the acknowledgements. */
  const acknowledgedAt = new Map<string, number>();
  const refused: Record<string, number> = {};
  const running = new Set<Promise<void>>();
  let isEnding = false;
  const path = `/api/v1/responses/surveys/${surveyId}/submit`;
  const submit = (n: number): Promise<void> =>
    new Promise((resolve) => {
      const body = JSON.stringify({ answers: [{ questionId, numberValue: n % 11 }] });
      const refuse = (status: number) => {
        refused[status] = (refused[status] ?? 0) + 1;
        resolve();
      };
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const call = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (reply) => {
        const pieces: Buffer[] = [];
        reply.on('data', (piece: Buffer) => pieces.push(piece));
        reply.once('end', () => {
          if (reply.statusCode !== 201) return refuse(reply.statusCode ?? 0);
          acknowledgedAt.set(JSON.parse(Buffer.concat(pieces).toString()).data.responseId, performance.now());
          resolve();
        });
      });
      call.once('error', () => refuse(0));
      call.end(body);
    });
  const send = async (): Promise<void> => {
    const startedAt = performance.now();
    for (let n = 0; !isEnding; n += 1) {
      const aheadMs = startedAt + (n * 1000) / perSecond - performance.now();
      if (aheadMs > 1) await pause(aheadMs);
      const call = submit(n);
      running.add(call);
      void call.finally(() => running.delete(call));
    }
  };
  const sending = send();
  return {
    acknowledgedAt,
    refused,
    async end(): Promise<void> {
      isEnding = true;
      await sending;
      await Promise.all(running);
      agent.destroy();
    },
  };
}

type IdReader = ReturnType<typeof createIdReader>;

/** Reads what the response store holds, without the service. */
function createIdReader(clickhouseUrl: string, surveyId: string) {
  const { origin, username, password, pathname } = new URL(clickhouseUrl);
  const headers = { authorization: `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}` };
  const database = pathname.slice(1) || 'survey';
  const ask = async (columns: string): Promise<string[]> => {
    const query = `SELECT ${columns} FROM ${database}.responses WHERE survey_id = '${surveyId}' FORMAT TSV`;
    const reply = await fetch(origin, {
      method: 'POST',
      headers,
      body: query,
      signal: AbortSignal.timeout(callWithinMs),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(text);
    return text.split('\n').filter((line) => line !== '');
  };
  return {
    count: async (): Promise<number> => Number((await ask('uniqExact(response_id)'))[0]),
    list: (): Promise<string[]> => ask('DISTINCT response_id'),
  };
}

interface WatchOptions {
  service: RunningService;
  admin: Client;
  surveyId: string;
  load: Load;
  storedIds: IdReader;
  say(line: string): void;
}

/** Takes a sample every second; a question that takes longer is not put a second time meanwhile. */
function startWatch({ service, admin, surveyId, load, storedIds, say }: WatchOptions) {
  const found: Pick<PostgresChaosReport, 'maxLagSeconds' | 'readySaidSo' | 'analytics'> = {
    maxLagSeconds: 0,
    readySaidSo: [0, 0],
    analytics: { statuses: {}, slowestMs: 0, maxLagSeconds: 0 },
  };
  const startedAt = performance.now();
  let isDuring = false;
  let [lag, ready, analytics] = ['', '', ''];

  /** For how long the first submission that is not among so many had been acknowledged. */
  const lagOf = (count: number, atMs: number): number => {
    const first = [...load.acknowledgedAt.values()][count];
    return first === undefined ? 0 : Math.max(0, rounded((atMs - first) / 1000));
  };
  const lookAtStore = async (): Promise<void> => {
    const atMs = performance.now();
    const count = await storedIds.count();
    const seconds = lagOf(count, atMs);
    found.maxLagSeconds = Math.max(found.maxLagSeconds, seconds);
    lag = `stored ${count}, ${seconds} s behind`;
  };
  const lookAtReadiness = async (): Promise<void> => {
    const reply = await fetch(`${service.origin}/health/ready`, { signal: AbortSignal.timeout(callWithinMs) });
    const body = (await reply.json()) as { data?: { degraded: string[] }; details?: { degraded: string[] } };
    const degraded = (body.data ?? body.details)?.degraded ?? [];
    if (isDuring) {
      found.readySaidSo[1] += 1;
      if (degraded.includes('controlPlane')) found.readySaidSo[0] += 1;
    }
    ready = `ready ${reply.status} degraded [${degraded.join(' ')}]`;
  };
  const lookAtAnalytics = async (): Promise<void> => {
    const atMs = performance.now();
    const wasDuring = isDuring;
    const { status, body } = await admin.call('GET', `/analytics/surveys/${surveyId}`);
    const ms = Math.round(performance.now() - atMs);
    const seconds = status === 200 ? lagOf(body.data.totalResponses, atMs) : undefined;
    analytics = `analytics ${status} after ${ms} ms${seconds === undefined ? '' : `, ${seconds} s behind`}`;
    if (!wasDuring) return;
    const { statuses } = found.analytics;
    statuses[status] = (statuses[status] ?? 0) + 1;
    found.analytics.slowestMs = Math.max(found.analytics.slowestMs, ms);
    found.analytics.maxLagSeconds = Math.max(found.analytics.maxLagSeconds, seconds ?? 0);
  };

  const looks = [lookAtStore, lookAtReadiness, lookAtAnalytics].map((look) => ({
    look,
    running: undefined as Promise<void> | undefined,
  }));
  const timer = setInterval(() => {
    for (const item of looks) {
      item.running ??= item
        .look()
        .catch((error: unknown) => say(`a look failed: ${String(error)}`))
        .finally(() => {
          item.running = undefined;
          return item.running;
        });
    }
    const refused = Object.values(load.refused).reduce((sum, count) => sum + count, 0);
    const second = Math.round((performance.now() - startedAt) / 1000);
    say(
      `${second} s${isDuring ? ' (fault)' : ''}: acknowledged ${load.acknowledgedAt.size}, refused ${refused}, ${lag}, ${ready}, ${analytics}`,
    );
  }, 1000);
  return {
    found,
    during(isUnderWay: boolean): void {
      isDuring = isUnderWay;
    },
    async end(): Promise<void> {
      clearInterval(timer);
      await Promise.all(looks.map(({ running }) => running));
    },
  };
}
