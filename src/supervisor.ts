import { setTimeout as pause } from 'node:timers/promises';
import { checkSettings } from './auth/check-settings.ts';
import { createLog, type Log } from './log.ts';
import { freePort } from './processes/free-port.ts';
import { createHttpProcesses } from './processes/http-processes.ts';
import { createMainProcess } from './processes/main-process.ts';
import { createService, type Service, type StoreUrls } from './service.ts';
import { SettingsError, readSettings, type Settings } from './settings.ts';
import { StartError, startEmbeddedStores, type EmbeddedStores } from './stores/embedded/stores.ts';
import { isAbsence } from './stores/first-contact.ts';

/** The environment of an HTTP process, beside the settings. */
const [workerUrls, workerName] = ['SURVEY_WORKER_URLS', 'SURVEY_WORKER_NAME'];
const workerPatience = 'SURVEY_WORKER_PATIENCE_MS';
/** For the first answers of stores of which one is known to be away. */
const shortPatienceMs = 2000;
const untilThere = 'What is missing is tried again until it is there.';
/** From one question for the first ADMIN to the next, while the control plane is away again. */
const askAgainMs = 1000;
const stopDeadlineMs = 10_000;
const hardDeadlineMs = 15_000;

/**
 * Starts everything in order — settings, stores, service, further HTTP processes — prints where it is, and stops it in reverse on
 * SIGTERM or Ctrl-C. With WORKERS above 1 this process keeps ingest and jobs, and the HTTP processes share the port.
 */
export async function startSupervisor(): Promise<void> {
  const isWorker = process.env[workerUrls] !== undefined;
  let drainDelayMs = 0;
  let log: Log | undefined;
  const stopSteps: (() => Promise<void>)[] = [];
  const stop = once(async (signal: string) => {
    log?.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), hardDeadlineMs + drainDelayMs).unref();
    for (const step of stopSteps.reverse()) await step().catch((error: unknown) => log?.error({ err: error }, 'a step of the stop failed'));
    log?.info('stopped');
    process.exit(0);
  });
  listenForSignals(isWorker, stop);
  try {
    const settings = readSettings(process.env);
    await checkSettings(settings);
    ({ drainDelayMs } = settings);
    log = createLog(settings.logLevel, isWorker ? { part: process.env[workerName] } : {});
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
  const isInterface = settings.roles.includes('http');
  const isSpread = settings.workers > 1 && isInterface;
  if (isInterface) await freePort(settings.host, settings.port);
  const roles = isSpread ? settings.roles.filter((role) => role !== 'http') : settings.roles;
  const service = await createService({ settings, urls, roles, log, isPortShared: false, processName: 'main' });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  await service.meetStores();
  // Whoever finds the service ready can sign in.
  const { isAsked, admin } = await firstAdminNow(service);
  try {
    const listensOn = isSpread ? await startHttpProcesses({ settings, urls, service, log }, stopSteps) : await service.start();
    const troubles = service.troubles();
    printBanner(settings, admin, { port: listensOn, troubles });
    if (!isAsked || troubles.length > 0) void becomeComplete(service, { isAsked, log });
  } catch (error) {
    // A password that is made and not shown is lost.
    print(adminLines(admin));
    throw error;
  }
}

type FirstAdmin = Awaited<ReturnType<Service['firstAdmin']>>;

/** The first ADMIN, unless the control plane is away. */
async function firstAdminNow(service: Service): Promise<{ isAsked: boolean; admin: FirstAdmin }> {
  try {
    return { isAsked: true, admin: await service.firstAdmin() };
  } catch (error) {
    if (!isAbsence(error)) throw error;
    return { isAsked: false, admin: undefined };
  }
}

/** Makes what a degraded start had to leave out, as soon as the stores are there, and tells of it. */
async function becomeComplete(service: Service, { isAsked, log }: { isAsked: boolean; log: Log }): Promise<void> {
  try {
    await service.controlPlane;
    for (let found = { isAsked, admin: undefined as FirstAdmin }; !found.isAsked; ) {
      found = await firstAdminNow(service);
      print(adminLines(found.admin));
      if (!found.isAsked) await pause(askAgainMs);
    }
    await service.complete;
    log.info('the service is complete');
    print(['Survey service is complete.']);
  } catch (error) {
    log.error({ err: error }, 'the first ADMIN could not be looked after');
  }
}

interface Spread {
  settings: Settings;
  urls: StoreUrls;
  service: Service;
  log: Log;
}

async function startHttpProcesses({ settings, urls, service, log }: Spread, stopSteps: StopSteps): Promise<number> {
  // What this process has waited for in vain, none of them waits for as long again.
  const patience = () => (service.troubles().length > 0 ? { [workerPatience]: String(shortPatienceMs) } : {});
  // Looked at once more: while the stores were waited for, somebody may have taken it.
  const port = await freePort(settings.host, settings.port);
  const common = { [workerUrls]: JSON.stringify(urls), PORT: String(port), DATA_DIR: settings.dataDir };
  const env = (name: string) => ({ ...common, ...patience(), [workerName]: name });
  const processes = createHttpProcesses({ count: settings.workers, env, ownFigures: service.figures, log });
  stopSteps.push(processes.stop);
  return processes.start();
}

async function startWorker(settings: Settings, log: Log, stopSteps: StopSteps): Promise<void> {
  const urls = JSON.parse(process.env[workerUrls] ?? '{}') as StoreUrls;
  const main = createMainProcess();
  const service = await createService({ settings, urls, roles: ['http'], log, isPortShared: true, processName: process.env[workerName] ?? 'http', figuresOfAll: main.figuresOfAll });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  main.tellFigures(service.figures);
  const patienceMs = process.env[workerPatience];
  await service.meetStores(patienceMs === undefined ? {} : { answerMs: Number(patienceMs) });
  const port = (await service.start()) ?? settings.port;
  log.info({ port }, 'listening');
  main.listening(port);
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

interface Start {
  port: number | undefined;
  troubles: readonly string[];
}

function printBanner(settings: Settings, admin: FirstAdmin, { port, troubles }: Start): void {
  const shown = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const address = settings.publicUrl?.replace(/\/$/, '') ?? `http://${shown}:${port}`;
  const isInterface = settings.roles.includes('http');
  const roles = isInterface ? '' : `: ${settings.roles.join(', ')}`;
  const lines = [
    troubles.length === 0 ? `Survey service is ready${roles}.` : `Survey service runs DEGRADED${roles}: ${troubles.join('; ')}. ${untilThere}`,
    ...(isInterface ? [`  base address  ${address}/api/v1`, `  console       ${address}/docs`] : []),
    ...(!isInterface && port !== undefined ? [`  figures       http://${shown}:${port}/metrics`] : []),
    `  data          ${settings.dataDir}`,
    ...adminLines(admin),
  ];
  print(lines);
}

const print = (lines: readonly string[]): void => void process.stdout.write(lines.map((line) => `${line}\n`).join(''));

const adminLines = (admin: FirstAdmin): string[] => (admin ? [`  first ADMIN   ${admin.email}  password: ${admin.password}  (shown once)`] : []);

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
