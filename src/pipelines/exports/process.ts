import { PermanentFailure } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { createLog } from '../../log.ts';
import { createClickHouse } from '../../stores/clickhouse/client.ts';
import { createFindingTable } from '../../stores/clickhouse/findings.ts';
import { createExportRows } from '../../stores/clickhouse/export-rows.ts';
import { createTotalsStore } from '../../stores/clickhouse/totals.ts';
import { createExportFiles } from '../../stores/files.ts';
import { createFindings } from '../../stores/findings.ts';
import { createAiFindingRows } from '../../stores/postgres/ai-findings.ts';
import { createAiStore } from '../../stores/postgres/ai.ts';
import { createPostgres } from '../../stores/postgres/client.ts';
import { createExportStore } from '../../stores/postgres/exports.ts';
import { createSurveyStore } from '../../stores/postgres/surveys.ts';
import { runExport } from './run.ts';
import { createPace } from './rush.ts';
import type { ExportOrder, ExportPace, ExportReport, ExportStep } from './fork.ts';

/**
 * A process that makes one file and ends. Of its own, because writing a file is work for seconds that must not hold up requests, and so
 * that all the memory it took is given back. Ends by itself when the process that started it dies.
 */
process.on('disconnect', () => process.exit(1));
const pace = createPace({ now: () => performance.now(), wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) });

process.on('message', (message: ExportOrder | ExportPace) => {
  if ('kind' in message) return pace.set(message.isRush);
  void make(message).then(
    (report) => process.send?.(report, () => process.exit(0)),
    (error: unknown) => process.send?.({ kind: 'trouble', reason: String(error) } satisfies ExportReport, () => process.exit(1)),
  );
});

async function make({ exportId, urls, dataDir, cluster, logLevel }: ExportOrder): Promise<ExportReport> {
  const log = createLog(logLevel, { part: 'export', exportId });
  const clickhouse = createClickHouse({ urls: urls.clickhouse, log });
  const sql = createPostgres(urls.postgres, { log, poolSize: 2 });
  const placement = cluster === undefined ? {} : { cluster };
  try {
    const outcome = await runExport({
      exports: createExportStore(sql), surveys: createSurveyStore(sql), rows: createExportRows({ clickhouse, ...placement, isRush: pace.isRush }), totals: createTotalsStore({ clickhouse, ...placement }),
      findings: createFindings({ rows: createAiFindingRows(sql), table: createFindingTable({ clickhouse, ...placement }), newId: () => newId() }), ai: createAiStore(sql), files: createExportFiles(dataDir), now: () => Date.now(), rest: pace.rest, onProgress: (progress) => void process.send?.({ kind: 'progress', progress } satisfies ExportStep),
    }, exportId);
    return { kind: outcome };
  } catch (error) {
    const final = finalReason(error);
    log.warn({ err: error }, 'an export failed');
    return final === undefined ? { kind: 'trouble', reason: error instanceof Error ? error.message : String(error) } : { kind: 'failed', reason: final };
  } finally {
    await Promise.all([sql.end({ timeout: 2 }), clickhouse.close()]).catch(() => undefined);
  }
}

/** What another attempt would not change. */
function finalReason(error: unknown): string | undefined {
  if (error instanceof PermanentFailure) return error.message;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'There is no room left on the disk for the file';
  if (code === 'EFBIG') return 'The file is larger than the disk allows';
  return undefined;
}
