import type { DeadLetters } from '../../actors/dead-letters.ts';
import type { FormerVersions, JudgingSurvey } from '../../actors/former-versions.ts';
import { takesSeat } from '../../domain/outcome.ts';
import { createPauses, runAtOnce, runInSlices } from '../../platform/slices.ts';
import type { ResponseRecord, ResponseStore } from '../../stores/clickhouse/responses.ts';

export interface CountCellsDeps {
  responses: Pick<ResponseStore, 'snapshot' | 'wasDeleted'>;
  deadLetters: Pick<DeadLetters, 'ofSurvey'>;
  formerVersions: Pick<FormerVersions, 'ofResponse'>;
}

/** What decides in which quotas by cell a response counts. */
type CountedResponse = Pick<ResponseRecord, 'version' | 'surveyVersion' | 'outcome' | 'row' | 'language' | 'metadata'>;

/** When the count is given up: `beginMs` without a first row, and as long as this without a next one. */
const stallMs = 30_000;

interface CountCellsOptions {
  /** Called once nothing that is accepted later can be among the counted. */
  onBegun?(): Promise<void>;
  beginMs?: number;
  /** Gives the count up. */
  signal?: AbortSignal | undefined;
}

export interface CellCounts {
  /** Responses by the code of the quota by cell that they count for. */
  cells: Map<number, number>;
  /** All that were counted, in quotas or not, and those of them that are COMPLETED. */
  total: number;
  completed: number;
}

/**
 * Counts the accepted responses of a survey: the stored ones, and those that the response store could not take, which
 * keep their seats as dead letters.
 */
export async function countCells(
  deps: CountCellsDeps,
  present: JudgingSurvey,
  { onBegun = async () => undefined, beginMs = stallMs, signal }: CountCellsOptions = {},
): Promise<CellCounts> {
  const { survey } = present;
  const cells = new Map<number, number>();
  let [total, completed] = [0, 0];
  const count = async (response: CountedResponse): Promise<void> => {
    total += 1;
    if (takesSeat(response.outcome)) completed += 1;
    for (const code of await cellsOf(deps, present, response)) cells.set(code, (cells.get(code) ?? 0) + 1);
  };
  const unstored = await newestDeadLetters(deps, survey.id);
  const pauseIfDue = createPauses();
  const givingUp = new AbortController();
  const giveUp = () => givingUp.abort();
  if (signal?.aborted) giveUp();
  signal?.addEventListener('abort', giveUp);
  const batches = deps.responses.snapshot(survey.id, survey.slotCounts.codes, { signal: givingUp.signal });
  const nextWithin = (ms: number) => {
    const timer = setTimeout(giveUp, ms);
    return batches.next().finally(() => clearTimeout(timer));
  };
  try {
    for (let next = await nextWithin(beginMs); ; next = await nextWithin(stallMs)) {
      await onBegun();
      if (next.done) break;
      for (const response of next.value) {
        const key = keyOf(response.responseId, response.submittedAt.getTime());
        const deadLetter = unstored.get(key);
        unstored.delete(key);
        await count(deadLetter && deadLetter.version > response.version ? deadLetter : response);
        await pauseIfDue();
      }
    }
  } finally {
    signal?.removeEventListener('abort', giveUp);
    // Ends the query where the count was given up.
    await batches.return(undefined);
  }
  for (const deadLetter of unstored.values())
    if (!(await deps.responses.wasDeleted(deadLetter.responseId, deadLetter.submittedAtMs))) await count(deadLetter);
  return { cells, total, completed };
}

const none: readonly number[] = [];

/** Codes of the quotas that an accepted response counts for. An open one is judged by the version of its last save. */
function cellsOf(
  { formerVersions }: CountCellsDeps,
  present: JudgingSurvey,
  { outcome, surveyVersion, row, language, metadata }: CountedResponse,
): readonly number[] | Promise<readonly number[]> {
  const { paths } = present.compiled;
  const isStarted = outcome === 'PARTIAL';
  if (!paths || (isStarted ? !paths.countsStarted : outcome !== 'COMPLETED')) return none;
  const cellsBy = ({ compiled }: JudgingSurvey): readonly number[] | Promise<readonly number[]> => {
    if (!compiled.paths) return none;
    const work = compiled.paths.cells(row, { language, metadata }, { isStarted });
    return compiled.isSlowToCheck ? runInSlices(work) : runAtOnce(work);
  };
  return isStarted && surveyVersion !== present.survey.version
    ? formerVersions.ofResponse(present, surveyVersion).then(cellsBy)
    : cellsBy(present);
}

type UnstoredResponse = CountedResponse & { responseId: string; submittedAtMs: number };

/** The last save of each response among the dead letters. Of a row that cannot be read nobody knows its cells. */
async function newestDeadLetters(
  { deadLetters }: CountCellsDeps,
  surveyId: string,
): Promise<Map<string, UnstoredResponse>> {
  const newest = new Map<string, UnstoredResponse>();
  for (const { row } of await deadLetters.ofSurvey(surveyId)) {
    const { head, answers } = row;
    if (!head || !answers) continue;
    const key = keyOf(head.responseId, head.submittedAtMs);
    if (head.version > (newest.get(key)?.version ?? 0)) newest.set(key, { ...head, row: answers });
  }
  return newest;
}

const keyOf = (responseId: string, submittedAtMs: number): string => `${submittedAtMs} ${responseId}`;
