import { setTimeout as pause } from 'node:timers/promises';
import { checkSettings } from '../auth/check-settings.ts';
import { createLog, type Log } from '../log.ts';
import { createService, type Service, type StoreUrls } from '../service.ts';
import { readSettings, type Settings, SettingsError } from '../settings.ts';
import { isUnreachableError } from '../stores/connections/probe.ts';
import { type EmbeddedStores, StartError, startEmbeddedStores } from '../stores/embedded/start-stores.ts';
import { freePort } from './free-port.ts';
import { createHttpProcesses } from './http-processes.ts';
import { createMainProcess } from './main-process.ts';

/** The environment of an HTTP process, beside the settings. */
const [storeUrlsVariable, processNameVariable] = ['SURVEY_WORKER_URLS', 'SURVEY_WORKER_NAME'];
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
  const isHttpProcess = process.env[storeUrlsVariable] !== undefined;
  let drainDelayMs = 0;
  let log: Log | undefined;
  const stopSteps: (() => Promise<void>)[] = [];
  const stop = runOnce(async (signal: string) => {
    log?.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), hardDeadlineMs + drainDelayMs).unref();
    for (const step of stopSteps.reverse())
      await step().catch((error: unknown) => log?.error({ err: error }, 'a step of the stop failed'));
    log?.info('stopped');
    process.exit(0);
  });
  listenForSignals(isHttpProcess, stop);
  try {
    const settings = readSettings(process.env);
    await checkSettings(settings);
    ({ drainDelayMs } = settings);
    log = createLog(settings.logLevel, isHttpProcess ? { part: process.env[processNameVariable] } : {});
    logUncaughtErrors(log);
    await (isHttpProcess ? startHttpProcess(settings, log, stopSteps) : startMainProcess(settings, log, stopSteps));
  } catch (error) {
    reportStartFailure(error, log);
    for (const step of stopSteps.reverse()) await step().catch(() => undefined);
    process.exit(1);
  }
}

type StopSteps = (() => Promise<void>)[];

function listenForSignals(isHttpProcess: boolean, stop: (signal: string) => void): void {
  let signals = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // Ctrl-C reaches the whole process group: workers wait for their parent's word.
      if (isHttpProcess && signal === 'SIGINT') return;
      signals += 1;
      if (signals > 1) process.exit(1);
      stop(signal);
    });
  if (isHttpProcess) process.on('disconnect', () => stop('disconnect'));
}

/** The last resort: whatever nobody caught is logged, and the process lives on. */
function logUncaughtErrors(log: Log): void {
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => log.error({ err: error }, 'an exception was not caught'));
}

async function startMainProcess(settings: Settings, log: Log, stopSteps: StopSteps): Promise<void> {
  const stores = await startEmbeddedStores({
    dataDir: settings.dataDir,
    log,
    env: process.env,
    intakeMemoryBytes: settings.intakeMemoryBytes,
    needed: {
      redis: !settings.redisUrl,
      redisJobs: !settings.redisJobsUrl,
      postgres: !settings.databaseUrl,
      clickhouse: !settings.clickhouseUrls,
    },
  });
  stopSteps.push(() => stores.stop());
  const urls = storeUrls(settings, stores);
  const servesHttp = settings.roles.includes('http');
  const hasHttpProcesses = settings.workers > 1 && servesHttp;
  if (servesHttp) await freePort(settings.host, settings.port);
  const roles = hasHttpProcesses ? settings.roles.filter((role) => role !== 'http') : settings.roles;
  const service = await createService({ settings, urls, roles, log, isPortShared: false, processName: 'main' });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  await service.meetStores();
  // Whoever finds the service ready can sign in.
  const { isAsked, admin } = await firstAdminNow(service);
  try {
    const listensOn = hasHttpProcesses
      ? await startHttpProcesses({ settings, urls, service, log }, stopSteps)
      : await service.start();
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
    if (!isUnreachableError(error)) throw error;
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

interface HttpProcessesContext {
  settings: Settings;
  urls: StoreUrls;
  service: Service;
  log: Log;
}

async function startHttpProcesses(
  { settings, urls, service, log }: HttpProcessesContext,
  stopSteps: StopSteps,
): Promise<number> {
  // What this process has waited for in vain, none of them waits for as long again.
  const patience = () => (service.troubles().length > 0 ? { [workerPatience]: String(shortPatienceMs) } : {});
  // Looked at once more: while the stores were waited for, somebody may have taken it.
  const port = await freePort(settings.host, settings.port);
  const common = { [storeUrlsVariable]: JSON.stringify(urls), PORT: String(port), DATA_DIR: settings.dataDir };
  const env = (name: string) => ({ ...common, ...patience(), [processNameVariable]: name });
  const processes = createHttpProcesses({
    count: settings.workers,
    env,
    collectOwnMetrics: service.collectOwnMetrics,
    log,
  });
  stopSteps.push(processes.stop);
  return processes.start();
}

async function startHttpProcess(settings: Settings, log: Log, stopSteps: StopSteps): Promise<void> {
  const urls = JSON.parse(process.env[storeUrlsVariable] ?? '{}') as StoreUrls;
  const main = createMainProcess();
  const service = await createService({
    settings,
    urls,
    roles: ['http'],
    log,
    isPortShared: true,
    processName: process.env[processNameVariable] ?? 'http',
    collectMetrics: main.collectMetrics,
  });
  stopSteps.push(() => service.stop(stopDeadlineMs));
  main.answerMetricsRequests(service.collectOwnMetrics);
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
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const address = settings.publicUrl?.replace(/\/$/, '') ?? `http://${host}:${port}`;
  const servesHttp = settings.roles.includes('http');
  const roles = servesHttp ? '' : `: ${settings.roles.join(', ')}`;
  const lines = [
    troubles.length === 0
      ? `Survey service is ready${roles}.`
      : `Survey service runs DEGRADED${roles}: ${troubles.join('; ')}. ${untilThere}`,
    ...(servesHttp ? [`  base address  ${address}/api/v1`, `  console       ${address}/docs`] : []),
    ...(!servesHttp && port !== undefined ? [`  metrics       http://${host}:${port}/metrics`] : []),
    `  data          ${settings.dataDir}`,
    ...adminLines(admin),
  ];
  print(lines);
}

const print = (lines: readonly string[]): void => void process.stdout.write(lines.map((line) => `${line}\n`).join(''));

const adminLines = (admin: FirstAdmin): string[] =>
  admin ? [`  first ADMIN   ${admin.email}  password: ${admin.password}  (shown once)`] : [];

function reportStartFailure(error: unknown, log: Log | undefined): void {
  const isExpected =
    error instanceof SettingsError ||
    error instanceof StartError ||
    (error instanceof Error && error.message.startsWith('cannot listen'));
  if (!isExpected) log?.error({ err: error }, 'the start failed');
  process.stderr.write(`survey-service cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
}

function runOnce(work: (signal: string) => Promise<void>): (signal: string) => void {
  let isDone = false;
  return (signal) => {
    if (isDone) return;
    isDone = true;
    void work(signal);
  };
}
