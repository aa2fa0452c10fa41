import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from './client.ts';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';
import { type RunningService, startService } from './service.ts';

/**
 * Something that goes wrong in the embedded ClickHouse at the nth system call of a kind, while an insert is under way.
 */
export interface EngineFault {
  calls: keyof typeof systemCalls;
  effect: keyof typeof effects;
  /** From 1. */
  when: number;
}

const systemCalls = {
  rename: 'rename,renameat,renameat2',
  write: 'write,pwrite64,writev',
  fdatasync: 'fdatasync,fsync',
};
const effects = { EIO: 'error=EIO', ENOSPC: 'error=ENOSPC', KILL: 'signal=KILL' };

export interface EngineChaosOptions {
  /** The path of strace. */
  strace: string;
  faults: readonly EngineFault[];
  /** Responses sent into each fault. */
  responses?: number;
  say?(line: string): void;
}

export interface EngineChaosReport {
  /** How many of the faults happened, by kind. */
  triggered: Record<string, number>;
  /**
   * How often the engine answered nothing any more after a fault and was killed, as the service would do some time
   * later.
   */
  hung: number;
  accepted: number;
  /** Accepted responses that the service does not show at the end. */
  lost: string[];
  /** Responses shown that were not accepted, or shown twice. */
  surplus: number;
  /** Counts in the survey's row. */
  counted: number;
  /** Rows that the engine had said it had stored and did not hold. */
  missing: number;
}

const attachedWithinMs = 10_000;
const storedWithinMs = 20_000;
const acceptedWithinMs = 60_000;
const comparedWithinMs = 150_000;
const triggeredWithinMs = 1500;
const detachWithinMs = 500;
const answersWithinMs = 3000;

/**
 * Sends responses to a service whose ClickHouse fails in the middle of the insert that takes them: system calls of the
 * engine that return an error, or that are its last. Waits after each fault until all that was accepted can be counted,
 * and compares the ids at the end.
 */
export async function runEngineChaos({
  strace,
  faults,
  responses = 8,
  say = () => undefined,
}: EngineChaosOptions): Promise<EngineChaosReport> {
  const dataDir = temporaryDataDir();
  const stores = await startEmbeddedStores({
    dataDir,
    needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
    log: createLog('silent'),
    env: process.env,
  });
  const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
  let service: RunningService | undefined;
  try {
    service = await startService({
      env: {
        REDIS_URL: redisUrl,
        REDIS_JOBS_URL: redisJobsUrl,
        DATABASE_URL: databaseUrl,
        CLICKHOUSE_URL: clickhouseUrl,
        ACCESS_TOKEN_TTL_SECONDS: '86400',
      },
    });
    const admin = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Faults', status: 'ACTIVE' });
    const accepted = new Set<string>();
    const triggered: Record<string, number> = {};
    let [late, hung] = [0, 0];
    for (const fault of faults) {
      const name = `${fault.effect} at ${fault.calls}`;
      const inject = await eventually(
        async () => injectInto(strace, await enginePid(stores), fault, join(dataDir, 'strace')),
        acceptedWithinMs,
      );
      await Promise.all(Array.from({ length: responses }, () => submit(admin, survey.id, accepted)));
      const isStored = async (): Promise<boolean> => {
        const { totalResponses } = await admin.get(`/analytics/surveys/${survey.id}`);
        return totalResponses >= accepted.size - late;
      };
      const bite = await inject.end(isStored);
      triggered[name] = (triggered[name] ?? 0) + (bite ? 1 : 0);
      if (bite && fault.effect !== 'KILL') hung += await endIfHung(stores, clickhouseUrl);
      await eventually(
        async () => {
          const { totalResponses } = await admin.get(`/analytics/surveys/${survey.id}`);
          if (totalResponses >= accepted.size - late) return;
          throw Object.assign(new Error(`${totalResponses} of ${accepted.size} after ${name}, ${fault.when}`), {
            late: accepted.size - totalResponses,
          });
        },
        storedWithinMs,
        100,
      ).catch((error: Error & { late?: number }) => {
        // The next fault does not wait for these again; the comparison at the end does.
        late = error.late ?? late;
        say(error.message.slice(0, 150));
      });
      if (bite) say(`${name}, ${fault.when}: ${bite}`);
    }
    // The check of what was stored runs once a minute, and stores again what an engine has lost since.
    let compared: Awaited<ReturnType<typeof compare>> | undefined;
    await eventually(
      async () => {
        compared = await compare(admin, survey.id, accepted);
        if (compared.lost.length > 0) throw new Error(`${compared.lost.length} responses are not shown`);
      },
      comparedWithinMs,
      1000,
    ).catch((error: Error) => {
      if (!compared) throw error;
    });
    if (!compared) throw new Error('nothing was compared');
    return { triggered, hung, accepted: accepted.size, ...compared, missing: await missingRows(service) };
  } finally {
    await service?.stop();
    await stores.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Process id of a running engine, which may be restarting. */
function enginePid(stores: EmbeddedStores): Promise<number> {
  return eventually(() => {
    const pid = stores.pid('clickhouse');
    if (pid === undefined) throw new Error('the engine is between two lives');
    return pid;
  }, acceptedWithinMs);
}

/** A call between the engine's own threads that fails leaves it hanging. */
async function endIfHung(stores: EmbeddedStores, url: string): Promise<number> {
  const { origin, password } = new URL(url);
  const asked = fetch(`${origin}/?query=SELECT%201&password=${password}`, {
    signal: AbortSignal.timeout(answersWithinMs),
  });
  if (
    await asked.then(
      () => true,
      () => false,
    )
  )
    return 0;
  const pid = stores.pid('clickhouse');
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  return 1;
}

/** A submission that is not accepted at once is sent again under its id, as a client does. */
async function submit(admin: Client, surveyId: string, accepted: Set<string>): Promise<void> {
  const responseId = newId();
  await eventually(async () => {
    const { status } = await admin.submit(surveyId, { responseId, answers: [] });
    if (status !== 201) throw new Error(`${status}`);
  }, acceptedWithinMs);
  accepted.add(responseId);
}

/**
 * Attaches strace with the fault; `end` waits for the fault for a while, at least until all is stored without it,
 * detaches, and gives the call that went wrong, if one did.
 */
async function injectInto(strace: string, pid: number, { calls, effect, when }: EngineFault, file: string) {
  const names = systemCalls[calls];
  const child = spawn(
    strace,
    [
      '-f',
      '-q',
      '-p',
      String(pid),
      '-e',
      `trace=${names}`,
      '-e',
      `inject=${names}:${effects[effect]}:when=${when}`,
      '-o',
      file,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // The engine may end before strace is there: then another life of it is tried.
  await eventually(
    () => {
      if (!readdirSync(`/proc/${pid}/task`).every((thread) => isTraced(`/proc/${pid}/task/${thread}`)))
        throw new Error('strace is not attached to all threads');
    },
    attachedWithinMs,
    5,
  ).catch(async (error: unknown) => {
    child.kill('SIGKILL');
    await ended;
    throw error;
  });
  /** The call that went wrong, as strace shows it. */
  const biteIn = (): string | undefined => {
    try {
      return /^.*(?:\(INJECTED\)|killed by SIGKILL).*$/m.exec(readFileSync(file, 'utf8'))?.[0];
    } catch {
      return undefined;
    }
  };
  return {
    async end(isStored: () => Promise<boolean>): Promise<string | undefined> {
      const startedAt = performance.now();
      const isWaiting = async (): Promise<boolean> => {
        const waitedMs = performance.now() - startedAt;
        return waitedMs < triggeredWithinMs || (waitedMs < storedWithinMs && !(await isStored().catch(() => false)));
      };
      while (!biteIn() && (await isWaiting())) await pause(50);
      child.kill('SIGTERM');
      // strace may not notice the end of a process that is killed while it is traced.
      const timer = setTimeout(() => child.kill('SIGKILL'), detachWithinMs);
      await ended;
      clearTimeout(timer);
      const bite = biteIn();
      rmSync(file, { force: true });
      return bite;
    },
  };
}

const isTraced = (folder: string): boolean => /^TracerPid:\t[1-9]/m.test(readFileSync(join(folder, 'status'), 'utf8'));

async function compare(
  admin: Client,
  surveyId: string,
  accepted: ReadonlySet<string>,
): Promise<Pick<EngineChaosReport, 'lost' | 'surplus' | 'counted'>> {
  const shown = new Map<string, number>();
  for (let cursor = ''; ; ) {
    const { status, body } = await admin.call('GET', `/responses/surveys/${surveyId}?limit=1000${cursor}`);
    if (status !== 200) throw new Error(`the list gave ${status}`);
    for (const { id } of body.data) shown.set(id, (shown.get(id) ?? 0) + 1);
    if (!body.pagination.nextCursor) break;
    cursor = `&cursor=${body.pagination.nextCursor}`;
  }
  const total = [...shown.values()].reduce((sum, times) => sum + times, 0);
  return {
    lost: [...accepted].filter((id) => !shown.has(id)),
    surplus: total - [...accepted].filter((id) => shown.has(id)).length,
    counted: (await admin.get(`/surveys/${surveyId}`)).responseCount,
  };
}

async function missingRows(service: RunningService): Promise<number> {
  const figures = await (await fetch(`${service.origin}/metrics`)).text();
  return Number(/^ingest_missing_rows_total (\d+)/m.exec(figures)?.[1] ?? 0);
}
