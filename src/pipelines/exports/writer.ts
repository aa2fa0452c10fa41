import type { Theme } from '../../ai/analysis-results.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import type { CsvColumn } from '../../stores/clickhouse/read/csv-cells.ts';
import type { CsvLines } from '../../stores/clickhouse/read/export-rows.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileSink } from '../../stores/export-files.ts';
import type { Layout } from './columns.ts';
import type { Summary } from './summary.ts';

export interface FileContent {
  survey: SurveyWithQuestions;
  layout: Layout;
  /** When it was asked for: the only moment a file may name, so that a second run makes the same bytes. */
  createdAt: Date;
  /** Every response of the file, oldest first, some at a time. */
  batches: AsyncIterable<readonly ResponseRecord[]>;
  /** The same responses as lines of text that the database writes; in place of `batches`. */
  csvLines(columns: readonly CsvColumn[]): AsyncIterable<CsvLines>;
  /** Reads all of them once more, for formats that must know something of every row before the first is written. */
  scan(): AsyncIterable<readonly ResponseRecord[]>;
  /** What the newest AI analysis of the survey's open answers found, most frequent first; none where it says nothing of this file. */
  themes(): Promise<readonly Pick<Theme, 'name' | 'count' | 'sentiment'>[]>;
  /** Counts of what the file covers. */
  summarise(): Promise<Summary>;
}

/** Writes a whole file of one format. Waits for the sink, so memory stays flat. */
export type Writer = (content: FileContent, sink: FileSink) => Promise<void>;
