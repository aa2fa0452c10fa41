import { createLog } from '../../log.ts';
import { newId } from '../../platform/ids.ts';
import { createAnnotations } from '../../stores/annotations.ts';
import { createAnnotationTable } from '../../stores/clickhouse/annotation-table.ts';
import { createClickHouse } from '../../stores/clickhouse/client.ts';
import { createTotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import { createExportRows } from '../../stores/clickhouse/read/export-rows.ts';
import { createExportFiles } from '../../stores/export-files.ts';
import { createAiAnnotationRows } from '../../stores/postgres/ai/annotations.ts';
import { createAiStore } from '../../stores/postgres/ai/jobs.ts';
import { createPostgres } from '../../stores/postgres/client.ts';
import { createExportStore } from '../../stores/postgres/exports.ts';
import { createSurveyStore } from '../../stores/postgres/surveys.ts';
import { resultOfFailure } from './failure.ts';
import { createLoadThrottle } from './load-throttle.ts';
import { runExport } from './run.ts';
import type { ExportProgress, ExportResult, ExportTask, ThrottleMessage } from './run-in-child-process.ts';

/**
 * The child process that writes one file and ends. It is a process of its own because writing takes seconds that must
 * not delay requests, and so that all its memory is freed. It ends by itself when its parent dies.
 */
process.on('disconnect', () => process.exit(1));
const throttle = createLoadThrottle({
  now: () => performance.now(),
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
});

process.on('message', (message: ExportTask | ThrottleMessage) => {
  if ('kind' in message) return throttle.setUnderLoad(message.isUnderLoad);
  void makeExport(message).then(
    (report) => process.send?.(report, () => process.exit(0)),
    (error: unknown) =>
      process.send?.({ kind: 'retryable', reason: String(error) } satisfies ExportResult, () => process.exit(1)),
  );
});

async function makeExport(task: ExportTask): Promise<ExportResult> {
  const { exportId, urls, dataDir, diskReservePercent, cluster, logLevel } = task;
  const log = createLog(logLevel, { part: 'export', exportId });
  const clickhouse = createClickHouse({ urls: urls.clickhouse, log });
  const sql = createPostgres(urls.postgres, { log, poolSize: 2 });
  const placement = cluster === undefined ? {} : { cluster };
  try {
    const outcome = await runExport(
      {
        exports: createExportStore(sql),
        surveys: createSurveyStore(sql),
        rows: createExportRows({ clickhouse, ...placement, isUnderLoad: throttle.isUnderLoad }),
        totals: createTotalsStore({ clickhouse, ...placement }),
        annotations: createAnnotations({
          rows: createAiAnnotationRows(sql),
          table: createAnnotationTable({ clickhouse, ...placement }),
          newId: () => newId(),
        }),
        ai: createAiStore(sql),
        files: createExportFiles(dataDir, { diskReservePercent }),
        now: () => Date.now(),
        waitIfThrottled: throttle.waitIfThrottled,
        onProgress: (progress) => void process.send?.({ kind: 'progress', progress } satisfies ExportProgress),
      },
      exportId,
    );
    return { kind: outcome };
  } catch (error) {
    log.warn({ err: error }, 'an export failed');
    return resultOfFailure(error);
  } finally {
    await Promise.all([sql.end({ timeout: 2 }), clickhouse.close()]).catch(() => undefined);
  }
}
