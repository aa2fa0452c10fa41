import { type DecodedResponse, decodeResponse, surveyIdOfLine } from '../../../domain/response-row.ts';
import type { Log } from '../../../log.ts';
import type { StreamEntry } from './stream.ts';

export interface EntryRow extends DecodedResponse {
  /** Its place in the entry, from 0. */
  place: number;
}

/**
 * Decodes the rows of an entry that belong to these surveys. A row that cannot be decoded will become a dead letter; it
 * is logged and skipped, so that the others are delivered. The log names only its place, because a parser's message
 * would quote the answers.
 */
export function* decodeRowsOf(
  { id, rows }: Pick<StreamEntry, 'id' | 'rows'>,
  surveyIds: Pick<ReadonlySet<string>, 'has'>,
  log: Pick<Log, 'warn'>,
): Generator<EntryRow> {
  for (const [place, line] of rows.toString('utf8').split('\n').entries()) {
    if (!surveyIds.has(surveyIdOfLine(line))) continue;
    const row = tryDecode(line);
    if (row) yield { ...row, place };
    else log.warn({ entry: id, place }, 'a row of the stream could not be read');
  }
}

function tryDecode(line: string): DecodedResponse | undefined {
  try {
    return decodeResponse(line);
  } catch {
    return undefined;
  }
}
