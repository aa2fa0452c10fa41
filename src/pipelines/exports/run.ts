import { readThemes, type Theme } from '../../ai/analysis-results.ts';
import type { KnownAnnotations } from '../../domain/analytics/annotation-variables.ts';
import { parseFilter } from '../../domain/analytics/crosstab.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { PermanentFailure } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { Condition, TotalsStore } from '../../stores/clickhouse/counts/totals.ts';
import type { ExportRows } from '../../stores/clickhouse/read/export-rows.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import type { AiStore } from '../../stores/postgres/ai/jobs.ts';
import type { ExportRecord, ExportStore } from '../../stores/postgres/exports.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import { layoutOf } from './columns.ts';
import { writers } from './format-writers.ts';
import { summarise } from './summary.ts';

export interface RunExportDeps {
  exports: Pick<ExportStore, 'start' | 'find' | 'saveProgress' | 'complete' | 'fail' | 'findDefinition'>;
  surveys: Pick<SurveyStore, 'load'>;
  rows: ExportRows;
  totals: Pick<TotalsStore, 'countSurvey'>;
  ai: Pick<AiStore, 'lastTopic' | 'themes'>;
  annotations: Pick<AnnotationStore, 'findByEditions'>;
  files: ExportFiles;
  now(): number;
  /** Awaited between pieces of work; takes a while where others need the machine more. */
  waitIfThrottled(): Promise<void>;
  /** At most once a second. */
  onProgress(progress: number): void;
}

export type RunOutcome = 'completed' | 'cancelled';

/** The file was removed while it was written. */
class ExportCancelled extends Error {}

export const retentionDays = 7;
const dayMs = 86_400_000;
const progressEveryMs = 1000;

/**
 * Makes the file of one export. May be run again at any time, also twice at once: everything that decides the bytes stands in the
 * export's row (the wording, the edition of findings, the moment up to which responses count), and the file appears whole or not at all.
 */
export async function runExport(deps: RunExportDeps, exportId: string): Promise<RunOutcome> {
  const record = await deps.exports.start(exportId);
  if (!record) return 'cancelled';
  const survey = await loadWording(deps, record);
  const { format, options, createdAt } = record;
  const writer = await writers[format]();
  const selection = selectionOf(
    survey,
    record,
    await deps.annotations.findByEditions(survey.id, options.editions ?? {}),
  );
  const layout = layoutOf(survey, options);
  const { conditions, ...range } = selection;
  const { total } = await deps.totals.countSurvey({ ...range, filters: conditions, plans: [] });
  const progress = trackProgress(deps, exportId, total);
  const read = () => deps.rows.batches(selection, survey.slotCounts.codes);
  try {
    const file = await deps.files.write(exportId, (sink) =>
      writer(
        {
          survey,
          layout,
          createdAt,
          batches: progress.watch(read(), (batch) => batch.length),
          scan: () => throttled(deps, read()),
          themes: () => themesOf(deps.ai, record),
          csvLines: (columns) =>
            progress.watch(deps.rows.csvLines(selection, columns, survey.slotCounts.codes), (lines) => lines.rows),
          summarise: () => summarise(deps.totals, { ...range, filters: conditions, questions: layout.questions }),
        },
        sink,
      ),
    );
    const isKept = await deps.exports.complete(exportId, {
      ...file,
      rowCount: progress.hasBegun() ? progress.rows() : total,
      expiresAt: new Date(deps.now() + retentionDays * dayMs),
    });
    if (!isKept) throw new ExportCancelled();
    return 'completed';
  } catch (error) {
    if (!(error instanceof ExportCancelled)) throw error;
    // Another run of the same export may have said first that it is done: of the file that lies there, whichever of them wrote it.
    if ((await deps.exports.find(exportId))?.status !== 'COMPLETED') await deps.files.remove(exportId);
    return 'cancelled';
  }
}

/** The survey as it was worded when the file was asked for. */
async function loadWording(
  { surveys, exports }: RunExportDeps,
  { surveyId, surveyVersion }: ExportRecord,
): Promise<SurveyWithQuestions> {
  const [survey, definition] = await Promise.all([
    surveys.load(surveyId),
    exports.findDefinition(surveyId, surveyVersion),
  ]);
  if (!survey || !definition) throw new PermanentFailure('the survey is gone');
  return { ...survey, ...definition };
}

const themesShown = 15;

/** An analysis is of all answers: of a file that leaves some out it would say what is not so. */
async function themesOf(
  ai: RunExportDeps['ai'],
  { surveyId, options: { filters, startDate, endDate, isComplete } }: ExportRecord,
): Promise<Theme[]> {
  if (filters.length > 0 || startDate !== undefined || endDate !== undefined || isComplete !== undefined) return [];
  const topic = await ai.lastTopic({ surveyId, analysisType: 'themes' });
  return topic === undefined ? [] : readThemes(ai, { surveyId, topic }, themesShown);
}

function selectionOf(
  survey: SurveyWithQuestions,
  { surveyId, options, createdAt }: ExportRecord,
  known: KnownAnnotations,
) {
  const conditions = options.filters.map((text): Condition => {
    const parsed = parseFilter(survey, text, known);
    if ('message' in parsed) throw new PermanentFailure(`the filter ${text} ${parsed.message}`);
    return parsed;
  });
  // What comes in while the file is made is not part of it: so a second run gives the same rows.
  const lastMs = createdAt.getTime() + 1;
  const endDate = new Date(options.endDate === undefined ? lastMs : Math.min(Date.parse(options.endDate), lastMs));
  return {
    surveyId,
    conditions,
    endDate,
    startDate: options.startDate === undefined ? undefined : new Date(options.startDate),
    isComplete: options.isComplete,
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

/** Counts rows on their way to the writer, says so once a second, and stops where nobody wants the file any more. */
function trackProgress({ exports, waitIfThrottled, onProgress }: RunExportDeps, exportId: string, total: number) {
  let rows = 0;
  let hasBegun = false;
  let reportedAtMs = performance.now();
  return {
    /** A report is made from counts and reads no rows. */
    hasBegun: () => hasBegun,
    rows: () => rows,
    async *watch<T>(pieces: AsyncIterable<T>, rowsIn: (piece: T) => number): AsyncGenerator<T> {
      hasBegun = true;
      for await (const piece of pieces) {
        yield piece;
        rows += rowsIn(piece);
        await waitIfThrottled();
        if (performance.now() - reportedAtMs < progressEveryMs) continue;
        reportedAtMs = performance.now();
        const progress = Math.min(0.99, rows / Math.max(1, total));
        if (!(await exports.saveProgress(exportId, progress))) throw new ExportCancelled();
        onProgress(progress);
      }
    },
  };
}
