import type { Theme } from '../../ai/analysis-results.ts';
import type { AskedSurvey } from '../../domain/analytics/asked.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import type { CsvColumn } from '../../stores/clickhouse/read/csv-cells.ts';
import type { CsvLines } from '../../stores/clickhouse/read/export-rows.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileSink } from '../../stores/export-files.ts';
import type { Layout } from './columns.ts';
import type { FileSelection } from './selection.ts';
import type { Summary } from './summary.ts';

/** What a writer may put into a file. */
export interface FileContent {
  survey: SurveyWithQuestions;
  layout: Layout;
  /** When the export was requested: the only time a file may contain, so that a repeated run makes the same bytes. */
  createdAt: Date;
  /** Undefined where the file has all responses and questions. */
  selection?: FileSelection | undefined;
  /** All responses of the file in batches, oldest first. */
  batches: AsyncIterable<readonly ResponseRecord[]>;
  /** How many they were when they were counted, before the file. */
  expectedRows: number;
  /** The same responses as CSV lines that ClickHouse writes; used instead of `batches`. */
  csvLines(columns: readonly CsvColumn[], asked?: AskedSurvey): AsyncIterable<CsvLines>;
  /** Reads the responses once more, for formats that need totals before they write the first row. */
  scan(): AsyncIterable<readonly ResponseRecord[]>;
  /** Themes of the newest AI analysis; undefined without one, and where the file is a selection. */
  themes(): Promise<FileThemes | undefined>;
  /**
   * Awaited between pieces of other work than reading responses: rests while respondents need the machine, and throws
   * if the export was removed. `done`: the part of the file that is made, where no responses are read.
   */
  pause(done?: number): Promise<void>;
  /** Analytics over the responses of the file. */
  summarise(): Promise<Summary>;
}

/** Themes that an AI analysis found, which knows nothing of responses that came in later. */
export interface FileThemes {
  /** Most frequent first, with the number of analysed responses that name them. */
  found: readonly Pick<Theme, 'name' | 'count' | 'sentiment'>[];
  analysedResponses: number;
}

/**
 * A response was continued, ended or deleted between two readings, so that what a writer has measured is wrong. Thrown
 * by writers that call `scan`.
 */
export class ResponseChanged extends Error {
  constructor() {
    super('a response changed while the file was made');
  }
}

/** Writes a file of one format. Awaits the sink, so memory use is bounded. */
export type Writer = (content: FileContent, sink: FileSink) => Promise<void>;
