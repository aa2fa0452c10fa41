import { hostname } from 'node:os';
import { createCore } from './actors/core.ts';
import { createFirstAdmin, type FirstAdminOutcome } from './auth/first-admin.ts';
import { checkInstallationKeys } from './auth/installation-keys.ts';
import { createPasswords } from './auth/passwords.ts';
import { loadSigningKeys } from './auth/signing-keys.ts';
import { createApiServer } from './http/api-server.ts';
import { createMetricsServer } from './http/metrics-server.ts';
import type { Log } from './log.ts';
import { createMetrics, type MetricFamilies } from './metrics.ts';
import { createReportDrawer } from './pipelines/ai/draw-report.ts';
import { startPipelines } from './pipelines/start.ts';
import { createWorkers } from './pipelines/workers.ts';
import type { DrainDelay } from './platform/drain-delay.ts';
import { newId } from './platform/ids.ts';
import { createSecrets, loadOrCreateSecret } from './platform/secrets.ts';
import { within } from './platform/within.ts';
import type { Role } from './settings/definitions.ts';
import type { Settings } from './settings/settings.ts';
import { type StartDeadlines, waitForStores } from './stores/connections/store-connection.ts';
import { createAudit } from './stores/postgres/audit.ts';
import { connectionsPerProcess } from './stores/postgres/client.ts';
import { warnOfFewConnections } from './stores/postgres/connection-limit.ts';
import { createInstallationKeys } from './stores/postgres/installation-keys.ts';
import { createUserStore } from './stores/postgres/users.ts';
import { openStores, type StoreUrls } from './stores/stores.ts';

export interface ServiceOptions {
  settings: Settings;
  urls: StoreUrls;
  roles: readonly Role[];
  log: Log;
  isPortShared: boolean;
  /** Label of this process's metrics. */
  processName: string;
  /** Aborted when the process is told to stop, before DRAIN_DELAY_MS. */
  draining: AbortSignal;
  /** Collects the metrics of all processes, undefined when that fails; absent if this process is the only one. */
  collectMetrics?(): Promise<readonly MetricFamilies[] | undefined>;
}

export interface Service {
  /** Waits until the stores are reached or the deadlines pass; rejects when one refuses to be used. */
  waitForStores(deadlines?: StartDeadlines): Promise<void>;
  /** Why stores are not reached yet, in words for the operator. */
  storeProblems(): string[];
  /** Resolves when PostgreSQL is reached. */
  postgresReady: Promise<void>;
  /** Warns where PostgreSQL allows fewer connections than these processes may hold; waits until it is reached. */
  checkConnections(processes: number): Promise<void>;
  /** Resolves when all stores are reached and everything runs. */
  complete: Promise<void>;
  /** Rejects with a SettingsError when the keys are not those that the database was used with; else jobs may begin. */
  checkKeys(): Promise<void>;
  /**
   * Creates the first ADMIN if there is no user, or resets the one that ADMIN_RESET names. A call that fails may be
   * repeated. The caller must show a created password.
   */
  firstAdmin(): Promise<{ email: string } & FirstAdminOutcome>;
  /** The metrics of this process. */
  collectOwnMetrics(): Promise<MetricFamilies>;
  /** Starts to listen; resolves with the port, or undefined when this process has nothing to listen for. */
  start(): Promise<number | undefined>;
  /**
   * Fails readiness for the delay, if it serves HTTP; then takes no more calls and jobs, lets running ones end within
   * the deadline, and closes the stores.
   */
  stop(deadlineMs: number, drainDelay: DrainDelay): Promise<void>;
}

/** Part of the stop deadline that is kept for pipelines and stores. */
const storesCloseMs = 4000;

/** Each step of the stop has at least this long, even when the deadline has passed. */
const leastStepMs = 500;
/** How long the start waits for the subscriptions to other processes. */
const subscribeTimeoutMs = 2000;

/**
 * Composes one process of the service from its roles: stores → actors → pipelines and http. It waits for no store:
 * each part starts when the stores that it needs are reached, and until then calls that need them are refused.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { settings, urls, roles, log } = options;
  const metrics = createMetrics(options.processName);
  const collectMetrics = async () => (await options.collectMetrics?.()) ?? [await metrics.collect()];
  const secrets = createSecrets(settings.secretsKey ?? loadOrCreateSecret(settings.dataDir, 'secrets-key'));
  const stores = await openStores({ urls, settings, log, metrics });
  const { contacts } = stores;
  const workers = createWorkers({ url: urls.redisJobs, connection: contacts.jobs, log });
  const core = createCore({ settings, stores, metrics, secrets, log });
  const shared = { settings, stores, core, metrics, secrets, log, collectMetrics };
  const http = roles.includes('http')
    ? await createApiServer({
        ...shared,
        jobs: workers,
        drawReport: createReportDrawer(),
        isPortShared: options.isPortShared,
      })
    : undefined;
  // Without the http role in the installation's settings, a small server exposes /metrics.
  const metricsServer =
    settings.roles.includes('http') || settings.metricsPort === undefined
      ? undefined
      : await createMetricsServer(shared);
  let allowJobs: () => void = () => undefined;
  const keysChecked = new Promise<void>((resolve) => (allowJobs = resolve));
  const pipelines = startPipelines({
    roles,
    stores,
    core,
    workers,
    secrets,
    urls,
    settings,
    metrics,
    log,
    draining: options.draining,
    keysChecked,
    name: `${hostname()}-${process.pid}-${newId().slice(-8)}`,
  });
  const subscribed = contacts.jobs.ready
    .then(() => Promise.all([core.subscribe(), http?.subscribe()]))
    .catch((error: unknown) => log.warn({ err: error }, 'subscribing to messages of other processes failed'));
  const firstAdmin = createFirstAdmin(
    {
      users: createUserStore(stores.sql),
      audit: createAudit(stores.sql, log),
      passwords: createPasswords(),
      newId: () => newId(),
      log,
    },
    {
      email: settings.adminEmail,
      password: settings.adminPassword,
      resetWord: settings.roles.includes('http') ? settings.adminReset : undefined,
    },
  );
  const complete = Promise.all(contacts.all.map(({ ready }) => ready)).then(() => undefined);
  return {
    waitForStores: async (deadlines) => {
      await waitForStores(contacts.all, deadlines);
      // A refusal after the start is logged only: what can be served is served.
      for (const { name: store, refused } of contacts.all)
        void refused.then((error) => log.error({ err: error, store }, 'a store refuses to be used'));
      if (contacts.jobs.isReady) await within(subscribeTimeoutMs, subscribed, undefined);
    },
    storeProblems: () =>
      contacts.all.filter(({ isReady }) => !isReady).map((connection) => connection.describeProblem()),
    postgresReady: contacts.postgres.ready,
    checkConnections: (processes) =>
      contacts.postgres.ready
        .then(() => warnOfFewConnections(stores.sql, { needed: processes * connectionsPerProcess, log }))
        .catch((error: unknown) => log.debug({ err: error }, 'the connections to PostgreSQL were not checked')),
    complete,
    async checkKeys() {
      const { dataDir, acceptChangedKeys: isAccepted } = settings;
      const tokens = settings.roles.includes('http') && {
        'access tokens': [...(await loadSigningKeys(settings)).publicKeys.keys()],
      };
      await checkInstallationKeys(
        createInstallationKeys(stores.sql),
        { secrets: [secrets.fingerprint], ...tokens },
        { dataDir, isAccepted },
      );
      allowJobs();
    },
    firstAdmin: async () => ({ email: settings.adminEmail, ...(await firstAdmin.ensure()) }),
    collectOwnMetrics: metrics.collect,
    start: async () =>
      http
        ? http.listen(settings.host, settings.port)
        : metricsServer?.listen(settings.host, settings.metricsPort ?? 0),
    async stop(deadlineMs, drainDelay) {
      // Where others serve HTTP, they have waited that long before this process is told to stop.
      await http?.leaveBalancers(drainDelay);
      const until = performance.now() + deadlineMs;
      // A store that is away must not delay the end.
      const inTime = (step: Promise<unknown>) =>
        within(Math.max(leastStepMs, until - performance.now()), step, undefined);
      await http?.drain(deadlineMs - storesCloseMs);
      await metricsServer?.drain(deadlineMs - storesCloseMs);
      core.reading.stop();
      await inTime(pipelines.stop());
      await inTime(workers.stop());
      core.actors.stop();
      await inTime(core.invitations.stop());
      await inTime(stores.close());
    },
  };
}
