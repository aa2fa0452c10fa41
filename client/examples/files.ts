import { createSurveyClient, refusalOf } from '../src/index.ts';

/** Invites by JSON lines, a body and a reply that are files: gives the lines of the reply, which hold the tokens. */
export async function invite(origin: string, token: string, collectorId: string, rows: object[]): Promise<string> {
  const client = createSurveyClient({ origin, token });
  const { data, error, response } = await client.POST('/collectors/{collectorId}/invitations', {
    params: { path: { collectorId } },
    body: rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    bodySerializer: (lines) => lines,
    headers: { 'content-type': 'application/x-ndjson' },
    parseAs: 'text',
  });
  if (data === undefined) throw refusalOf(response, error);
  return data;
}
