import { type DecodedResponse, decodeResponse, surveyIdOfLine } from '../../../domain/response-row.ts';
import type { Log } from '../../../log.ts';
import type { StreamEntry } from './stream.ts';

export interface EntryRow extends DecodedResponse {
  /** Its place in the entry, from 0. */
  place: number;
}

/**
 * The rows of an entry that belong to some surveys, decoded. One that cannot be read will not be stored either but set apart: it is
 * logged and passed over, since all others must be told of. The log gets its place alone, for a parser's words would quote the answers.
 */
export function* decodeRowsOf(
  { id, rows }: Pick<StreamEntry, 'id' | 'rows'>,
  surveyIds: ReadonlySet<string>,
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
