import { readThemes } from '../../ai/analysis-results.ts';
import { parseFilter } from '../../domain/analytics/filter.ts';
import type { ExportFormat } from '../../domain/export-formats.ts';
import type { ParsedFilter } from '../../domain/questions/contract.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { withReadableWording } from '../../domain/survey-paths/readable-wording.ts';
import { PermanentFailure } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import type { ExportRows } from '../../stores/clickhouse/read/export-rows.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import type { AiStore } from '../../stores/postgres/ai/jobs.ts';
import type { ExportOptions, ExportRecord, ExportStore } from '../../stores/postgres/exports.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { layoutOf } from './columns.ts';
import { writers } from './format-writers.ts';
import { createResponseSpool } from './response-spool.ts';
import { fileSelection } from './selection.ts';
import { fileCountTimeoutMs, summarise } from './summary.ts';
import { type FileContent, type FileThemes, ResponseChanged } from './writer.ts';

export interface RunExportDeps {
  exports: Pick<ExportStore, 'start' | 'find' | 'saveProgress' | 'complete' | 'fail' | 'findDefinition'>;
  surveys: Pick<SurveyStore, 'load'>;
  rows: ExportRows;
  totals: Pick<TotalsStore, 'countSurvey'>;
  ai: Pick<AiStore, 'lastTopic' | 'themes' | 'analysedResponses'>;
  annotations: Pick<AnnotationStore, 'findByEditions'>;
  files: ExportFiles;
  now(): number;
  /** Awaited between pieces of work; takes a while while the machine is under load. */
  waitIfThrottled(): Promise<void>;
  /** At most once a second; never falls. */
  onProgress(progress: number): void;
}

export type RunOutcome = 'completed' | 'cancelled';

/** The export was removed while its file was written. */
class ExportCancelled extends Error {}

export const retentionDays = 7;
const dayMs = 86_400_000;
const progressEveryMs = 1000;
/** Less than the shortest work after which it rests. */
const pauseEveryMs = 20;

/**
 * Makes the file of one export. May be repeated at any time, also concurrently: everything that determines the bytes is
 * in the export's row (survey version, editions of AI annotations, the moment up to which responses count), and the
 * file appears whole or not at all.
 */
export async function runExport(deps: RunExportDeps, exportId: string): Promise<RunOutcome> {
  const record = await deps.exports.start(exportId);
  if (!record) return 'cancelled';
  const survey = await loadWording(deps, record);
  const { format, options, createdAt } = record;
  const writer = await writers[format]();
  const selection = selectionOf(record, options.conditions ?? (await parseFilters(deps, survey, options)));
  const metadataKeys =
    options.columns === undefined && hasColumns(format)
      ? await deps.rows.metadataKeys(selection, maxMetadataColumns)
      : [];
  const missing = options.missing && (format === 'PARQUET' ? 'columns' : 'labelled');
  const layout = layoutOf(survey, { ...options, metadataKeys, missing });
  const { conditions, ...range } = selection;
  const { total } = await deps.totals.countSurvey({
    ...range,
    filters: conditions,
    plans: [],
    timeoutMs: fileCountTimeoutMs,
  });
  const read = () => deps.rows.batches(selection, survey.slotCounts.codes);
  const write = async ({ batches, scan }: Pick<FileContent, 'batches' | 'scan'>) => {
    const progress = trackProgress(deps, exportId, total);
    const file = await deps.files.write(exportId, (sink) =>
      writer(
        {
          survey,
          layout,
          createdAt,
          selection: fileSelection(survey, layout, options, conditions),
          expectedRows: total,
          batches: progress.watch(batches, (batch) => batch.length),
          scan: () => throttled(deps, scan()),
          pause: progress.pause,
          themes: () => themesOf(deps.ai, record),
          csvLines: (columns, asked) =>
            progress.watch(
              deps.rows.csvLines(selection, columns, { codeColumns: survey.slotCounts.codes, asked }),
              (lines) => lines.rows,
            ),
          summarise: async () => {
            await deps.waitIfThrottled();
            return summarise(deps.totals, { ...range, survey, filters: conditions, questions: layout.questions });
          },
        },
        sink,
      ),
    );
    return { ...file, rowCount: progress.hasBegun() ? progress.rows() : total };
  };
  /** Keeps what it reads first: slower, and right however often respondents go on meanwhile. */
  const writeWithSpool = () =>
    deps.files.withScratchFile(exportId, (scratch) => {
      const spool = createResponseSpool(scratch);
      return write({ batches: spool.read(), scan: () => spool.keep(read()) });
    });
  try {
    const file = await write({ batches: read(), scan: read }).catch((error: unknown) => {
      if (error instanceof ResponseChanged) return writeWithSpool();
      throw error;
    });
    const isKept = await deps.exports.complete(exportId, {
      ...file,
      expiresAt: new Date(deps.now() + retentionDays * dayMs),
    });
    if (!isKept) throw new ExportCancelled();
    return 'completed';
  } catch (error) {
    if (!(error instanceof ExportCancelled)) throw error;
    // If a concurrent run has completed the export, the file belongs to it.
    if ((await deps.exports.find(exportId))?.status !== 'COMPLETED') await deps.files.remove(exportId);
    return 'cancelled';
  }
}

/** Further keys of the metadata are only in the column of the whole. */
const maxMetadataColumns = 100;

const hasColumns = (format: ExportFormat): boolean => !['PDF', 'JSON', 'NDJSON'].includes(format);

/** The survey in the version of the export, worded as its readers see it. */
async function loadWording(
  { surveys, exports }: RunExportDeps,
  { surveyId, surveyVersion }: ExportRecord,
): Promise<SurveyWithQuestions> {
  const [survey, definition] = await Promise.all([
    surveys.load(surveyId),
    exports.findDefinition(surveyId, surveyVersion),
  ]);
  if (!survey || !definition) throw new PermanentFailure('the survey is gone');
  return withReadableWording({ ...survey, ...definition });
}

const themesShown = 15;

/** The most frequent themes; none for a selection, because an analysis covers all responses and open questions. */
async function themesOf(
  ai: RunExportDeps['ai'],
  { surveyId, options: { filters, columns, startDate, endDate, isComplete, outcomes } }: ExportRecord,
): Promise<FileThemes | undefined> {
  const isWhole = [columns, startDate, endDate, isComplete, outcomes].every((choice) => choice === undefined);
  if (filters.length > 0 || !isWhole) return undefined;
  const topic = await ai.lastTopic({ surveyId, analysisType: 'themes' });
  if (topic === undefined) return undefined;
  const scope = { surveyId, topic };
  const [found, analysedResponses] = await Promise.all([
    readThemes(ai, scope, themesShown),
    ai.analysedResponses(scope),
  ]);
  return { found, analysedResponses };
}

/** For requests of versions that did not store what the filters mean. */
async function parseFilters(
  { annotations }: Pick<RunExportDeps, 'annotations'>,
  survey: SurveyWithQuestions,
  { filters, editions = {} }: ExportOptions,
): Promise<ParsedFilter[]> {
  const known = await annotations.findByEditions(survey.id, editions);
  return filters.map((text) => {
    const parsed = parseFilter(survey, text, known);
    if ('message' in parsed) throw new PermanentFailure(`the filter ${text} ${parsed.message}`);
    return parsed;
  });
}

function selectionOf({ surveyId, options, createdAt }: ExportRecord, conditions: readonly ParsedFilter[]) {
  // Responses that come in later are left out, so that a repeated run gives the same rows.
  const lastMs = createdAt.getTime() + 1;
  const endDate = new Date(options.endDate === undefined ? lastMs : Math.min(Date.parse(options.endDate), lastMs));
  return {
    surveyId,
    conditions,
    endDate,
    startDate: options.startDate === undefined ? undefined : new Date(options.startDate),
    isComplete: options.isComplete,
    outcomes: options.outcomes,
  };
}

async function* throttled<T>(
  { waitIfThrottled }: Pick<RunExportDeps, 'waitIfThrottled'>,
  pieces: AsyncIterable<T>,
): AsyncGenerator<T> {
  for await (const piece of pieces) {
    yield piece;
    await waitIfThrottled();
  }
}

/**
 * Counts rows on their way to the writer, rests between pieces of work, reports progress once a second, and throws when
 * the export was removed.
 */
function trackProgress({ exports, waitIfThrottled, onProgress }: RunExportDeps, exportId: string, total: number) {
  let rows = 0;
  let hasBegun = false;
  let [reportedAtMs, pausedAtMs] = [performance.now(), performance.now()];
  const report = async (done: number): Promise<void> => {
    if (performance.now() - reportedAtMs < progressEveryMs) return;
    reportedAtMs = performance.now();
    const progress = await exports.saveProgress(exportId, Math.min(0.99, done));
    if (progress === undefined) throw new ExportCancelled();
    onProgress(progress);
  };
  return {
    /** False for formats that are made from counts and read no rows. */
    hasBegun: () => hasBegun,
    rows: () => rows,
    async *watch<T>(pieces: AsyncIterable<T>, rowsIn: (piece: T) => number): AsyncGenerator<T> {
      hasBegun = true;
      for await (const piece of pieces) {
        yield piece;
        rows += rowsIn(piece);
        await waitIfThrottled();
        await report(rows / Math.max(1, total));
      }
    },
    async pause(done = 0): Promise<void> {
      if (performance.now() - pausedAtMs < pauseEveryMs) return;
      // Messages about the load are read in a later turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      await waitIfThrottled();
      await report(done);
      pausedAtMs = performance.now();
    },
  };
}
