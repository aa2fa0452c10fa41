import { decodeResponse, type ResponseHead } from './response-row.ts';

/** What can be told of a row that the response store could not read. */
export interface BuriedRow {
  surveyId: string | null;
  responseId: string | null;
  /** Undefined where it cannot be read as a whole. */
  head: ResponseHead | undefined;
  text: string;
}

const idPattern = '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})';
const names = new RegExp(`^\\["${idPattern}","${idPattern}"`);

/** Its ids stand first, so that they can nearly always be told. */
export function readBuriedRow(row: Buffer): BuriedRow {
  const text = row.toString();
  const found = names.exec(text);
  return { surveyId: found?.[1] ?? null, responseId: found?.[2] ?? null, head: found ? headOf(text) : undefined, text };
}

/** Whether it names this respondent; of a row that cannot be read, whether it may. */
export function mayNameRespondent({ head, text }: BuriedRow, respondent: string): boolean {
  return head ? head.respondent === respondent : text.includes(JSON.stringify(respondent));
}

function headOf(text: string): ResponseHead | undefined {
  try {
    const { head } = decodeResponse(text);
    return Number.isSafeInteger(head.submittedAtMs) && head.submittedAtMs >= 0 ? head : undefined;
  } catch {
    return undefined;
  }
}
