import { setTimeout as pause } from 'node:timers/promises';
import { checkSettings } from '../auth/check-settings.ts';
import { loadSigningKeys } from '../auth/signing-keys.ts';
import { createLog, type Log } from '../log.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';
import { errorMessage } from '../platform/start-error.ts';
import { createService, type Service } from '../service.ts';
import { misspelledSettings } from '../settings/misspelled-settings.ts';
import { readSettings, type Settings, SettingsError } from '../settings/settings.ts';
import { isUnreachableError } from '../stores/connections/probe.ts';
import { refuseIntakeLeftBehind } from '../stores/embedded/append-only-files.ts';
import { type EmbeddedStores, StartError, startEmbeddedStores } from '../stores/embedded/start-stores.ts';
import { warnOfUncheckedCertificate } from '../stores/postgres/certificate-check.ts';
import { connectionsPerProcess } from '../stores/postgres/client.ts';
import type { StoreUrls } from '../stores/stores.ts';
import { refuseUploadsOnDisk } from '../stores/uploads/disk.ts';
import { createMainProcessClient, type HttpProcessStart, isHttpProcess, readHttpProcessStart } from './channel.ts';
import { warnOfLowDescriptorLimit } from './descriptor-limit.ts';
import { createHttpProcesses, freePort } from './http-processes.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';
import { warnOfSmallUploadBudgets } from './upload-budgets.ts';

/** How long HTTP processes wait for the first answers of stores when the main process has waited in vain. */
const shortStoresTimeoutMs = 2000;
/** Between attempts to compare the keys and to create the first ADMIN after a degraded start. */
const firstAdminRetryMs = 1000;
const stopDeadlineMs = 10_000;
/** Each step of a stop that comes after its deadline has half a second more. */
const httpProcessStopsWithinMs = stopDeadlineMs + 2000;

/**
 * Starts this process: settings, embedded stores, service, HTTP processes, in this order; then prints where it listens.
 * With WORKERS above 1 the main process keeps ingest and jobs, and the HTTP processes share the port. What happens at
 * SIGTERM stands in `shutdown.ts`.
 */
export async function startSupervisor(): Promise<void> {
  const shutdown = createShutdown(isHttpProcess(process.env));
  let log: Log | undefined;
  try {
    const httpProcess = isHttpProcess(process.env) ? await readHttpProcessStart() : undefined;
    // Libraries read their own settings there, such as the credentials of AWS.
    Object.assign(process.env, httpProcess?.env);
    const settings = readSettings(process.env);
    await checkSettings(settings);
    log = createLog(settings.logLevel, httpProcess ? { part: httpProcess.name } : {});
    shutdown.configure({ log, drainDelayMs: settings.drainDelayMs });
    logUncaughtErrors(log);
    if (httpProcess) await startHttpProcess({ settings, log, shutdown }, httpProcess);
    else await startMainProcess({ settings, log, shutdown });
  } catch (error) {
    await shutdown.fail(() => reportStartFailure(error, log));
  }
}

interface ProcessContext {
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
}

async function startMainProcess(context: ProcessContext): Promise<void> {
  const { settings, log, shutdown } = context;
  warnOfLowDescriptorLimit(log);
  if (settings.roles.includes('http')) warnOfSmallUploadBudgets(settings, log);
  if (settings.uploadBucket) await refuseUploadsOnDisk(settings.dataDir);
  if (settings.redisUrl) refuseIntakeLeftBehind(settings.dataDir, settings.redisUrl);
  if (settings.databaseUrl) warnOfUncheckedCertificate(settings.databaseUrl, log);
  const stores = await startStores(context);
  const urls = storeUrls(settings, stores);
  const servesHttp = settings.roles.includes('http');
  const hasHttpProcesses = settings.workers > 1 && servesHttp;
  if (servesHttp) await freePort(settings.host, settings.port);
  // Before anything is connected to the stores, which end with a refused start.
  if (servesHttp) await loadSigningKeys(settings);
  const roles = hasHttpProcesses ? settings.roles.filter((role) => role !== 'http') : settings.roles;
  const service = await createService({
    settings,
    urls,
    roles,
    log,
    isPortShared: false,
    processName: 'main',
    draining: shutdown.signal,
  });
  shutdown.add((drainDelay) => service.stop(stopDeadlineMs, drainDelay));
  await service.waitForStores();
  void service.checkConnections(hasHttpProcesses ? settings.workers + 1 : 1);
  // Before anything listens: a client that finds the service ready can sign in.
  const firstAdmin = await createFirstAdmin(service);
  try {
    const port = hasHttpProcesses ? await startHttpProcesses(context, urls, service) : await service.start();
    const problems = service.storeProblems();
    printBanner(settings, firstAdmin.admin, { port, problems });
    if (!firstAdmin.isDone || problems.length > 0) void completeStart(context, service, firstAdmin.isDone);
  } catch (error) {
    // A created password that is not shown is lost.
    print(adminLines(firstAdmin.admin));
    throw error;
  }
}

/** Starts the embedded stores. A stop that comes meanwhile ends the start, and with it what it has started. */
async function startStores({ settings, log, shutdown }: ProcessContext): Promise<EmbeddedStores> {
  const stopping = new AbortController();
  const starting = startEmbeddedStores({
    dataDir: settings.dataDir,
    log,
    env: process.env,
    signal: stopping.signal,
    intakeMemoryBytes: settings.intakeMemoryBytes,
    postgresConnections: (settings.workers + 1) * connectionsPerProcess,
    needed: {
      redis: !settings.redisUrl,
      redisJobs: !settings.redisJobsUrl,
      postgres: !settings.databaseUrl,
      clickhouse: !settings.clickhouseUrls,
    },
  });
  shutdown.add(async () => {
    stopping.abort(new StartError('the start was stopped'));
    await starting.then(
      (stores) => stores.stop(),
      () => undefined,
    );
  });
  return starting;
}

async function startHttpProcesses(
  { settings, log, shutdown }: ProcessContext,
  urls: StoreUrls,
  service: Service,
): Promise<number> {
  // Checked again: another program may have taken it while the stores started.
  const port = await freePort(settings.host, settings.port);
  const processes = createHttpProcesses({
    count: settings.workers,
    startOf: (name) => ({
      urls,
      name,
      storesTimeoutMs: service.storeProblems().length > 0 ? shortStoresTimeoutMs : undefined,
      env: { ...settingsOfHttpProcesses(), PORT: String(port), DATA_DIR: settings.dataDir },
    }),
    collectOwnMetrics: service.collectOwnMetrics,
    stopWithinMs: httpProcessStopsWithinMs,
    log,
  });
  shutdown.add(processes.stop);
  return processes.start();
}

/** The environment of this process without what only the main process needs: it makes the first ADMIN. */
function settingsOfHttpProcesses(): Record<string, string> {
  const { ADMIN_PASSWORD: _, ADMIN_RESET: __, ...rest } = process.env;
  return Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function startHttpProcess(
  { settings, log, shutdown }: ProcessContext,
  { urls, name, storesTimeoutMs }: HttpProcessStart,
): Promise<void> {
  const main = createMainProcessClient();
  const service = await createService({
    settings,
    urls,
    roles: ['http'],
    log,
    isPortShared: true,
    processName: name,
    draining: shutdown.signal,
    collectMetrics: main.collectMetrics,
  });
  shutdown.add((drainDelay) => service.stop(stopDeadlineMs, drainDelay));
  main.answerMetricsRequests(service.collectOwnMetrics);
  await service.waitForStores(storesTimeoutMs === undefined ? {} : { answerMs: storesTimeoutMs });
  const port = (await service.start()) ?? settings.port;
  log.info({ port }, 'listening');
  main.listening(port);
}

type FirstAdmin = Awaited<ReturnType<Service['firstAdmin']>>;

/**
 * Compares the keys with the database and creates the first ADMIN if there is none; not done while PostgreSQL is away.
 */
async function createFirstAdmin(service: Service): Promise<{ isDone: boolean; admin: FirstAdmin | undefined }> {
  try {
    await service.checkKeys();
    return { isDone: true, admin: await service.firstAdmin() };
  } catch (error) {
    if (!isUnreachableError(error)) throw error;
    return { isDone: false, admin: undefined };
  }
}

/**
 * After a degraded start: compares the keys and creates the first ADMIN when PostgreSQL is reached, and reports when all
 * stores are.
 */
async function completeStart(
  { log, shutdown }: ProcessContext,
  service: Service,
  hasFirstAdmin: boolean,
): Promise<void> {
  const warn = createBoundedWarnings(log);
  try {
    await service.postgresReady;
    for (let isDone = hasFirstAdmin; !isDone; ) {
      const firstAdmin = await createFirstAdmin(service).catch((error: unknown) => {
        if (isStartFailure(error)) throw error;
        warn({ err: error }, 'the keys could not be compared, or the first ADMIN not be created: tried again');
        return { isDone: false, admin: undefined };
      });
      ({ isDone } = firstAdmin);
      print(adminLines(firstAdmin.admin));
      if (!isDone) await pause(firstAdminRetryMs);
    }
    await service.complete;
    log.info('the service is complete');
    print(['Survey service is complete.']);
  } catch (error) {
    await shutdown.fail(() => reportStartFailure(error, log));
  }
}

function storeUrls(settings: Settings, stores: EmbeddedStores): StoreUrls {
  const required = (url: string | undefined, name: string): string => {
    if (url === undefined) throw new StartError(`no URL for ${name}`);
    return url;
  };
  return {
    redis: required(settings.redisUrl ?? stores.redisUrl, 'REDIS_URL'),
    redisJobs: required(settings.redisJobsUrl ?? stores.redisJobsUrl, 'REDIS_JOBS_URL'),
    postgres: required(settings.databaseUrl ?? stores.databaseUrl, 'DATABASE_URL'),
    clickhouse: settings.clickhouseUrls ?? [required(stores.clickhouseUrl, 'CLICKHOUSE_URL')],
  };
}

function printBanner(
  settings: Settings,
  admin: FirstAdmin | undefined,
  { port, problems }: { port: number | undefined; problems: readonly string[] },
): void {
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const address = settings.publicUrl ?? `http://${host}:${port}`;
  const servesHttp = settings.roles.includes('http');
  const roles = servesHttp ? '' : `: ${settings.roles.join(', ')}`;
  print([
    problems.length === 0
      ? `Survey service is ready${roles}.`
      : `Survey service runs DEGRADED${roles}: ${problems.join('; ')}. What is missing is tried again until it is there.`,
    ...(servesHttp
      ? [`  base address  ${address}/api/v1`, `  console       ${address}/`, `  reference     ${address}/docs`]
      : []),
    ...(!servesHttp && port !== undefined ? [`  metrics       http://${host}:${port}/metrics`] : []),
    `  data          ${settings.dataDir}`,
    ...adminLines(admin),
    ...misspelledSettings(process.env).map(
      ({ name, meant }) =>
        `  note          ${name} is no setting${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    ),
  ]);
}

const adminLines = (admin: FirstAdmin | undefined): string[] => [
  ...(admin?.createdPassword === undefined
    ? []
    : [`  first ADMIN   ${admin.email}  password: ${admin.createdPassword}  (shown once)`]),
  ...(admin?.note === undefined ? [] : [`  note          ${admin.note}`]),
];

const print = (lines: readonly string[]): void => void process.stdout.write(lines.map((line) => `${line}\n`).join(''));

/** The last resort: errors that nothing caught are logged, and the process lives on. */
function logUncaughtErrors(log: Log): void {
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => log.error({ err: error }, 'an exception was not caught'));
}

/** An error whose message says what is wrong with the settings or the machine. */
const isStartFailure = (error: unknown): boolean => error instanceof SettingsError || error instanceof StartError;

function reportStartFailure(error: unknown, log: Log | undefined): void {
  if (!isStartFailure(error)) log?.error({ err: error }, 'the start failed');
  process.stderr.write(`survey-service cannot start: ${errorMessage(error)}\n`);
}
