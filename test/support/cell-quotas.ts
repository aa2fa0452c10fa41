import { after, before } from 'node:test';
import { encodeResponse } from '../../src/domain/response-row.ts';
import { newId } from '../../src/platform/ids.ts';
import type { IntakeSubmission } from '../../src/stores/redis/intake/append-protocol.ts';
import type { AnnouncedQuota } from '../../src/stores/redis/intake/scripts.ts';
import { createShards } from '../../src/stores/redis/intake/shards.ts';
import { announceSurvey, appendix, type OpenIntake, openIntake, submittedAt } from './intake.ts';

/** An active quota of two seats. */
export const quota = (code: number, more: Partial<AnnouncedQuota> = {}): AnnouncedQuota => ({
  id: `quota-${code}`,
  code,
  name: `Quota ${code}`,
  limit: 2,
  counts: 'COMPLETED',
  whenFull: 'OVER_QUOTA',
  version: 1,
  ...more,
});

/** A row whose outcome the script can rewrite. */
function rowOf(surveyId: string, responseId: string, isComplete = true): string {
  const head = {
    surveyId,
    responseId,
    submittedAtMs: submittedAt,
    version: 1,
    surveyVersion: 7,
    isComplete,
    outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
    completedAtMs: 0,
    durationMs: -1,
    language: 'en',
    respondent: '',
    metadata: {},
  };
  return encodeResponse(head as never, { codes: [1], numbers: [], texts: [] });
}

/** An intake of one shard for the tests of a suite, with what its quotas by cell are tried by. */
export function useCellQuotas(take: (open: OpenIntake) => void) {
  const shards = createShards(1);
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(shards);
    take(open);
  });
  after(() => open?.close());

  /** A survey whose quotas have been counted. */
  const survey = async (cellQuotas: readonly AnnouncedQuota[], more: { quota?: number } = {}) => {
    const id = await announceSurvey(open.intake, { cellQuotas, ...more });
    await count(id, []);
    return id;
  };
  /** Begins to count the stored responses of a survey; `end` of the result is given the counts. */
  const begin = async (surveyId: string) => {
    const removals = await open.intake.quotas.removals(surveyId);
    const freeze = await open.intake.freeze(surveyId, 5000);
    const counting = await open.intake.quotas.beginCount(surveyId, { frozen: freeze?.frozen ?? '', removals });
    await freeze?.release();
    return counting;
  };
  const remove = (surveyId: string, responseId: string) =>
    open.intake.deleteResponse({
      surveyId,
      responseId,
      submittedAtMs: submittedAt,
      outcome: 'COMPLETED',
      row: rowOf(surveyId, responseId),
    });
  /** Counts quotas: as many responses as `stored` says, none in the others; gives the difference that it finds. */
  const count = async (surveyId: string, stored: readonly { code: number; count: number; version?: number }[]) => {
    const counting = await begin(surveyId);
    const codes = [...(counting?.versions ?? [])];
    return counting?.end(
      codes.map(([code, version]) => ({
        version,
        code,
        count: 0,
        ...stored.find((other) => other.code === code),
      })),
    );
  };
  /** Submits a response that fits these cells. */
  const send = (
    surveyId: string,
    cells: readonly number[],
    more: Partial<IntakeSubmission> & { key?: string } = {},
  ) => {
    const responseId = more.responseId ?? newId();
    const row = rowOf(surveyId, responseId, more.outcome !== 'PARTIAL');
    return open.intake.append(appendix(surveyId, { cells, row, ...more, responseId }));
  };
  /** Seats taken, by the code of the quota. */
  const counts = async (surveyId: string) =>
    Object.fromEntries([...(await open.intake.quotas.counts(surveyId))].map(([code, { count: n }]) => [code, n]));
  /** Outcome of each stored row, and the quotas that were reached. */
  const stored = async (surveyId: string, from: string) => {
    const entries = await open.stream.readAfter(shards.of(surveyId), from, 1000);
    const rows = entries
      .flatMap((entry) => entry.rows.toString().split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown[])
      .filter(([id]) => id === surveyId);
    const reached = entries.flatMap((entry) => entry.reachedQuotas).filter((other) => other.surveyId === surveyId);
    return { outcomes: rows.map((row) => row[6]), reached: reached.map(({ code, times }) => [code, times]) };
  };
  /** The newest entry of the stream, to read on from. */
  const position = (surveyId: string) => open.stream.newestId(shards.of(surveyId));

  return { shards, survey, begin, remove, count, send, counts, stored, position };
}
