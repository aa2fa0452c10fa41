import type { Core } from '../../actors/core.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { createDeletedSurveys } from '../../stores/postgres/deleted-surveys.ts';
import { createSessionStore } from '../../stores/postgres/sessions.ts';
import { createSettledClock } from '../../stores/postgres/settled-clock.ts';
import { createSurveyVersions } from '../../stores/postgres/survey-versions.ts';
import type { Stores } from '../../stores/stores.ts';
import type { ScheduledTask } from '../schedule.ts';
import { createCloseEndedSurveys } from './close-ended-surveys.ts';
import { createCountQuotas } from './count-quotas.ts';
import { quotaCountTasks } from './count-turns.ts';
import { createDefinitionBackfill } from './definition-backfill.ts';
import { createEraseDeletedResponses } from './erase-deleted-responses.ts';
import { createEraseInvitedPersons } from './erase-invited-persons.ts';
import { createReconcileCounts } from './reconcile-counts.ts';
import { createRemoveOldVersions } from './remove-old-versions.ts';
import { createRewriteErasureLog } from './rewrite-erasure-log.ts';

export interface MaintenanceDeps {
  stores: Stores;
  core: Core;
  metrics: Metrics;
  log: Log;
  /** Aborted when the service stops: tasks end after the item at hand, or fail. */
  stopping: AbortSignal;
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** Periodic tasks that need PostgreSQL and the intake only. */
export function maintenanceTasks({ stores, core, log, stopping }: MaintenanceDeps): ScheduledTask[] {
  return [
    {
      name: 'close surveys whose end has come',
      everyMs: secondMs,
      run: createCloseEndedSurveys({ ...core, ...stores, log, stopping }),
    },
    {
      name: 'keep definitions of open surveys',
      everyMs: minuteMs,
      run: createDefinitionBackfill({ ...stores, actors: core.actors, log, stopping }),
    },
    {
      name: 'reconcile response counts with the intake',
      everyMs: 10 * minuteMs,
      run: createReconcileCounts({ ...stores, actors: core.actors, log, stopping }),
    },
    {
      name: 'rewrite the append-only files after erasures',
      everyMs: minuteMs,
      run: createRewriteErasureLog({ ...stores, now: core.now, log, stopping }),
    },
    {
      name: 'erase what identifies persons whom deleted collectors invited',
      everyMs: 6 * hourMs,
      run: createEraseInvitedPersons({ ...stores, now: core.now, log, stopping }),
    },
    {
      name: 'delete expired sessions',
      everyMs: hourMs,
      run: async () => void (await createSessionStore(stores.sql).sweep()),
    },
    {
      name: 'remove what is left of surveys that were deleted long ago',
      everyMs: hourMs,
      run: async () => void (await createDeletedSurveys(stores.sql, log).purge(core.now(), stopping)),
    },
  ];
}

/** Periodic tasks that also need ClickHouse. */
export function responseMaintenanceTasks({ stores, core, metrics, log, stopping }: MaintenanceDeps): ScheduledTask[] {
  const count = createCountQuotas({ ...stores, ...core, metrics, log, stopping });
  const settledClock = createSettledClock({ sql: stores.sql, now: core.now, log });
  return [
    ...quotaCountTasks({ ...stores, ...core, count, log, stopping }),
    {
      name: 'erase deleted responses for good',
      everyMs: hourMs,
      run: createEraseDeletedResponses({
        ...stores,
        deadLetters: core.deadLetters,
        now: core.now,
        stopping,
      }),
    },
    {
      name: 'remove AI annotations of deleted responses and former analyses',
      everyMs: hourMs,
      run: () => stores.annotations.sweep(core.now(), stopping),
    },
    {
      name: 'delete responses past their retention',
      everyMs: 10 * minuteMs,
      run: async () => void (await core.erasure.eraseExpired(stopping, await settledClock())),
    },
    {
      name: 'remove uploads that nobody claimed',
      everyMs: 10 * minuteMs,
      run: core.uploads.sweep,
    },
    {
      name: 'remove survey versions that nothing refers to',
      everyMs: 6 * hourMs,
      run: createRemoveOldVersions({
        ...stores,
        ...core,
        versions: createSurveyVersions(stores.sql),
        log,
        stopping,
      }),
    },
  ];
}
