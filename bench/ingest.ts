import { encodeResponse } from '../src/domain/response-row.ts';
import { newId } from '../src/platform/ids.ts';
import { createResponseStore } from '../src/stores/clickhouse/responses.ts';
import { startBenchClickHouse } from './support/clickhouse.ts';
import { machineLine, option } from './support/machine.ts';
import { benchQuestions } from './support/response-fill.ts';

/**
 * Rows a second into ClickHouse, each batch on disk before it counts: ready lines of ten answers through `insertBatch`,
 * as the ingest sends them. `--seconds N` (default 10), `--rows N` a batch (default 20,000), `--shards N` at once
 * (default 2).
 */
const seconds = option('seconds', 10);
const batchRows = option('rows', 20_000);
const shards = option('shards', 2);
const wantedPerSecond = 60_000;

console.log(machineLine());
const { clickhouse, stop } = await startBenchClickHouse();
try {
  const responses = createResponseStore({ clickhouse });
  const lines = encodeBatch();
  const insert = async () => {
    const outcome = await responses.insertBatch({ lines, rows: batchRows, codeColumns: benchQuestions.length });
    if (outcome.kind !== 'stored') throw new Error(`a batch was not stored: ${outcome.reason}`);
  };
  await insert();
  const { batches, slowestMs, elapsedSeconds } = await insertFor(seconds, insert);
  const perSecond = Math.round((batches * batchRows) / elapsedSeconds);
  console.log(
    `${perSecond} rows/s (wanted ≥ ${wantedPerSecond}) in ${batches} batches of ${batchRows} rows, ${Math.round(lines.length / batchRows)} bytes a row, slowest batch ${slowestMs} ms`,
  );
  console.log(
    JSON.stringify({ bench: 'ingest', rowsPerSecond: perSecond, batchRows, shards, slowestBatchMs: slowestMs }),
  );
} finally {
  await stop();
}

async function insertFor(
  duration: number,
  insert: () => Promise<void>,
): Promise<{ batches: number; slowestMs: number; elapsedSeconds: number }> {
  const startedAt = performance.now();
  let [batches, slowestMs] = [0, 0];
  const run = async () => {
    while (performance.now() - startedAt < duration * 1000) {
      const sentAt = performance.now();
      await insert();
      slowestMs = Math.max(slowestMs, Math.round(performance.now() - sentAt));
      batches += 1;
    }
  };
  await Promise.all(Array.from({ length: shards }, run));
  return { batches, slowestMs, elapsedSeconds: (performance.now() - startedAt) / 1000 };
}

/** Rows of a few hundred surveys. */
function encodeBatch(): Buffer {
  const surveyIds = Array.from({ length: 300 }, () => newId());
  const startMs = Date.now();
  const rows = Array.from({ length: batchRows }, (_, index) =>
    encodeResponse(
      {
        surveyId: surveyIds[(index * 7919) % surveyIds.length] ?? '',
        responseId: newId(),
        submittedAtMs: startMs + index,
        version: 1,
        surveyVersion: 1,
        outcome: 'COMPLETED',
        completedAtMs: startMs + index,
        durationMs: 60_000 + index,
        language: 'en',
        respondent: '',
        metadata: { source: 'bench' },
      },
      {
        codes: benchQuestions.map(({ options }) => 1 + (index % options)),
        numbers: [index / 4],
        texts: [`A short remark, number ${index}`],
      },
    ),
  );
  return Buffer.from(rows.join('\n'));
}
