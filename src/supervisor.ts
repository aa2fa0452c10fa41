import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createLog, type Log } from './log.ts';
import { createService, type Service, type StoreUrls } from './service.ts';
import { SettingsError, readSettings, type Settings } from './settings.ts';
import { StartError, startEmbeddedStores, type EmbeddedStores } from './stores/embedded/stores.ts';

const stopDeadlineMs = 10_000;
const hardDeadlineMs = 15_000;

/**
 * Starts everything in order — settings, stores, service, further HTTP processes — prints where it is, and stops it in reverse on
 * SIGTERM or Ctrl-C. With WORKERS above 1 this process keeps ingest and jobs, and the HTTP processes share the port.
 */
export async function startSupervisor(): Promise<void> {
  const isWorker = process.env['SURVEY_WORKER_URLS'] !== undefined;
  let log: Log | undefined;
  const stopSteps: (() => Promise<void>)[] = [];
  const stop = once(async (signal: string) => {
    log?.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), hardDeadlineMs).unref();
    for (const step of stopSteps.reverse()) await step().catch((error: unknown) => log?.error({ err: error }, 'a step of the stop failed'));
    log?.info('stopped');
    process.exit(0);
  });
  listenForSignals(isWorker, stop);
  try {
    const settings = readSettings(process.env);
    log = createLog(settings.logLevel, isWorker ? { part: 'http' } : {});
    watchForSurprises(log);
    await (isWorker ? startWorker(settings, log, stopSteps) : startAll(settings, log, stopSteps));
  } catch (error) {
    fail(error, log);
    for (const step of stopSteps.reverse()) await step().catch(() => undefined);
    process.exit(1);
  }
}

type StopSteps = (() => Promise<void>)[];

function listenForSignals(isWorker: boolean, stop: (signal: string) => void): void {
  let signals = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // Ctrl-C reaches the whole process group: workers wait for their parent's word.
      if (isWorker && signal === 'SIGINT') return;
      signals += 1;
      if (signals > 1) process.exit(1);
      stop(signal);
    });
  if (isWorker) process.on('disconnect', () => stop('disconnect'));
}

/** The last resort: whatever nobody caught is logged, and the process lives on. */
function watchForSurprises(log: Log): void {
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => log.error({ err: error }, 'an exception was not caught'));
}

async function startAll(settings: Settings, log: Log, stopSteps: StopSteps): Promise<void> {
  const stores = await startEmbeddedStores({
    dataDir: settings.dataDir, log, env: process.env, intakeMemoryBytes: settings.intakeMemoryBytes,
    need: { redis: !settings.redisUrl, redisJobs: !settings.redisJobsUrl, postgres: !settings.databaseUrl, clickhouse: !settings.clickhouseUrls },
  });
  stopSteps.push(() => stores.stop());
  const urls = storeUrls(settings, stores);
  const isSpread = settings.workers > 1 && settings.roles.includes('http');
  const roles = isSpread ? settings.roles.filter((role) => role !== 'http') : settings.roles;
  const service = await createService({ settings, urls, roles, log, isPortShared: false });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  const port = isSpread ? await startWorkers(settings, urls, log, stopSteps) : await service.start();
  printBanner(settings, service, port);
}

async function startWorker(settings: Settings, log: Log, stopSteps: StopSteps): Promise<void> {
  const urls = JSON.parse(process.env['SURVEY_WORKER_URLS'] ?? '{}') as StoreUrls;
  const service = await createService({ settings, urls, roles: ['http'], log, isPortShared: true });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  process.send?.({ port: await service.start() });
}

function storeUrls(settings: Settings, stores: EmbeddedStores): StoreUrls {
  const given = (url: string | undefined, name: string): string => {
    if (url === undefined) throw new StartError(`no URL for ${name}`);
    return url;
  };
  return {
    redis: given(settings.redisUrl ?? stores.redisUrl, 'REDIS_URL'),
    redisJobs: given(settings.redisJobsUrl ?? stores.redisJobsUrl, 'REDIS_JOBS_URL'),
    postgres: given(settings.databaseUrl ?? stores.databaseUrl, 'DATABASE_URL'),
    clickhouse: settings.clickhouseUrls ?? [given(stores.clickhouseUrl, 'CLICKHOUSE_URL')],
  };
}

/** Forks the HTTP processes; one that dies is started again. Resolves with the port when all listen. */
async function startWorkers(settings: Settings, urls: StoreUrls, log: Log, stopSteps: StopSteps): Promise<number> {
  if (settings.port === 0) throw new StartError('PORT 0 cannot be shared by several WORKERS: name a port');
  const children = new Set<ChildProcess>();
  let isStopping = false;
  const start = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(new URL('./main.js', import.meta.url)), { env: { ...process.env, SURVEY_WORKER_URLS: JSON.stringify(urls), WORKERS: '1', DATA_DIR: settings.dataDir } });
      children.add(child);
      child.once('message', (message: { port: number }) => resolve(message.port));
      child.once('exit', (code) => {
        children.delete(child);
        reject(new StartError(`an HTTP process ended with code ${code ?? 'none'}`));
        if (isStopping) return;
        log.warn({ code }, 'an HTTP process died and is started again');
        setTimeout(() => void start().catch(() => undefined), 500);
      });
    });
  stopSteps.push(async () => {
    isStopping = true;
    await Promise.all([...children].map((child) => new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGTERM');
    })));
  });
  const ports = await Promise.all(Array.from({ length: settings.workers }, start));
  return ports[0] ?? settings.port;
}

function printBanner(settings: Settings, service: Service, port: number): void {
  const shown = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const address = settings.publicUrl?.replace(/\/$/, '') ?? `http://${shown}:${port}`;
  const lines = [
    `Survey service is ready.`,
    `  base address  ${address}/api/v1`,
    `  console       ${address}/docs`,
    `  data          ${settings.dataDir}`,
    ...(service.createdAdmin ? [`  first ADMIN   ${service.createdAdmin.email}  password: ${service.createdAdmin.password}  (shown once)`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function fail(error: unknown, log: Log | undefined): void {
  const isExpected = error instanceof SettingsError || error instanceof StartError || (error instanceof Error && error.message.startsWith('cannot listen'));
  if (!isExpected) log?.error({ err: error }, 'the start failed');
  process.stderr.write(`survey-service cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
}

function once(work: (signal: string) => Promise<void>): (signal: string) => void {
  let isDone = false;
  return (signal) => {
    if (isDone) return;
    isDone = true;
    void work(signal);
  };
}
