import { hostname } from 'node:os';
import { createCore } from './actors/core.ts';
import { ensureFirstAdmin } from './auth/first-admin.ts';
import { createPasswords } from './auth/passwords.ts';
import { createApiServer } from './http/api-server.ts';
import { createMetricsServer } from './http/metrics-server.ts';
import type { Log } from './log.ts';
import { createMetrics, type MetricFamilies } from './metrics.ts';
import { createReportDrawer } from './pipelines/ai/draw-report.ts';
import { startPipelines } from './pipelines/start.ts';
import { createWorkers } from './pipelines/workers.ts';
import { newId } from './platform/ids.ts';
import { createSecrets, loadOrCreateSecret } from './platform/secrets.ts';
import type { Role, Settings } from './settings.ts';
import { type StartDeadlines, waitForStores } from './stores/connections/store-connection.ts';
import { createAudit } from './stores/postgres/audit.ts';
import { createUserStore } from './stores/postgres/users.ts';
import { openStores, type StoreUrls } from './stores/stores.ts';

export type { StoreUrls } from './stores/stores.ts';

export interface ServiceOptions {
  settings: Settings;
  urls: StoreUrls;
  roles: readonly Role[];
  log: Log;
  isPortShared: boolean;
  /** Names this process in its figures. */
  processName: string;
  /** Asks all processes for their figures; undefined when they cannot be had. Left out, this process is the only one. */
  collectMetrics?(): Promise<readonly MetricFamilies[] | undefined>;
}

export interface Service {
  /** Waits for the first answers of the stores while its patience lasts; rejects when one refuses to be used. */
  meetStores(patience?: StartDeadlines): Promise<void>;
  /** What keeps stores from being used that are not reached yet, in words for the operator. */
  troubles(): string[];
  /** Resolves when the first ADMIN can be asked for. */
  controlPlane: Promise<void>;
  /** Resolves when all stores are reached and everything runs. */
  complete: Promise<void>;
  /** Makes the first ADMIN where nobody is, or the one that ADMIN_RESET asks for; gives the password that it made for it. To be asked when nothing can keep it from being shown. */
  firstAdmin(): Promise<{ email: string; password: string } | undefined>;
  /** What this process has counted. */
  collectOwnMetrics(): Promise<MetricFamilies>;
  /** Begins to serve; gives the port, undefined when there is nothing that it listens for. */
  start(): Promise<number | undefined>;
  /** Stops taking work, lets what runs end within the deadline, closes the stores. */
  stop(deadlineMs: number): Promise<void>;
}

/** Time kept for the pipelines' and stores' own end. */
const storesCloseMs = 4000;

/** A step of the stop that its deadline leaves no time for gets so long nevertheless. */
const leastStepMs = 500;
/** For what other processes say to be heard, before the service listens. */
const hearWithinMs = 2000;

/**
 * Puts one process of the service together from its roles: stores → actors → pipelines → http. It waits for no store:
 * each part begins when the stores that it needs are reached, and calls that need a store which is not are refused.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { settings, urls, roles, log } = options;
  const metrics = createMetrics(options.processName);
  const collectMetrics = async () => (await options.collectMetrics?.()) ?? [await metrics.collect()];
  const secrets = createSecrets(settings.secretsKey ?? loadOrCreateSecret(settings.dataDir, 'secrets-key'));
  const stores = await openStores({ urls, settings, log, metrics });
  const { contacts } = stores;
  const workers = createWorkers({ url: urls.redisJobs, contact: contacts.jobs, log });
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
  // Of an installation whose HTTP processes are elsewhere, this one tells its figures itself.
  const metricsServer =
    settings.roles.includes('http') || settings.metricsPort === undefined
      ? undefined
      : await createMetricsServer(shared);
  const jobs = startPipelines({
    roles,
    stores,
    core,
    workers,
    secrets,
    urls,
    settings,
    metrics,
    log,
    name: `${hostname()}-${process.pid}-${newId().slice(-8)}`,
  });
  const hearing = contacts.jobs.ready
    .then(() => Promise.all([core.subscribe(), http?.subscribe()]))
    .catch((error: unknown) => log.warn({ err: error }, 'what other processes say is not heard'));
  const complete = Promise.all(contacts.all.map(({ ready }) => ready)).then(() => undefined);
  return {
    meetStores: async (patience) => {
      await waitForStores(contacts.all, patience);
      // One that comes later ends nothing: what can be served is served.
      for (const { name: store, refused } of contacts.all)
        void refused.then((error) => log.error({ err: error, store }, 'a store refuses to be used'));
      if (contacts.jobs.isReady) await within(hearWithinMs, hearing);
    },
    troubles: () => contacts.all.filter(({ isReady }) => !isReady).map((contact) => contact.describeProblem()),
    controlPlane: contacts.postgres.ready,
    complete,
    async firstAdmin() {
      const { adminEmail: email, adminPassword: password } = settings;
      const resetWord = settings.roles.includes('http') ? settings.adminReset : undefined;
      const deps = {
        users: createUserStore(stores.sql),
        audit: createAudit(stores.sql, log),
        hash: createPasswords().hash,
        newId: () => newId(),
        log,
      };
      const { createdPassword } = await ensureFirstAdmin(deps, { email, password, resetWord });
      return createdPassword === undefined ? undefined : { email, password: createdPassword };
    },
    collectOwnMetrics: metrics.collect,
    start: async () =>
      http
        ? http.listen(settings.host, settings.port)
        : metricsServer?.listen(settings.host, settings.metricsPort ?? 0),
    async stop(deadlineMs) {
      const until = performance.now() + settings.drainDelayMs + deadlineMs;
      // A store that is gone must not hold up the end.
      const inTime = (step: Promise<unknown>) => within(Math.max(leastStepMs, until - performance.now()), step);
      await http?.drain(deadlineMs - storesCloseMs);
      await metricsServer?.drain(deadlineMs - storesCloseMs);
      await inTime(jobs.stop());
      await inTime(workers.stop());
      core.actors.stop();
      await inTime(stores.close());
    },
  };
}

/** Waits for a step, and not longer than so. */
async function within(ms: number, step: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([step, over]).finally(() => clearTimeout(timer));
}
