import { mayNameRespondent, type BuriedRow } from '../domain/buried-row.ts';
import { encodeTombstone, type ResponseHead } from '../domain/response-row.ts';
import { isOwnResponseId } from '../ids.ts';
import type { Doom, DoomedResponse } from '../stores/clickhouse/erasure.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { ExportFiles } from '../stores/files.ts';
import type { FindingStore } from '../stores/findings.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { Concerned, ExportStore } from '../stores/postgres/exports.ts';
import type { RetentionRule } from '../stores/postgres/retention.ts';
import type { UploadRows } from '../stores/postgres/uploads.ts';
import type { Intake } from '../stores/redis/intake.ts';
import type { Uploads } from '../stores/uploads.ts';
import type { BuriedLetter, BuriedLetters } from './buried-letters.ts';
import type { Reading } from './reading.ts';

export interface ErasingDeps {
  intake: Pick<Intake, 'remove'>;
  responses: Pick<ResponseStore, 'doomed' | 'findAll' | 'wasDeleted'>;
  reading: Pick<Reading, 'settled'>;
  uploads: Pick<Uploads, 'removeOfResponses'>;
  uploadRows: Pick<UploadRows, 'doubt'>;
  findings: Pick<FindingStore, 'removeOfResponses'>;
  /** What could not be stored, and may be put back. */
  buried: BuriedLetters;
  exports: Pick<ExportStore, 'withdraw' | 'shorten'>;
  exportFiles: Pick<ExportFiles, 'remove'>;
  audit: Pick<Audit, 'record'>;
  rules(now: Date): Promise<RetentionRule[]>;
  now(): number;
}

interface EraseOptions {
  most: number;
  pauseMs: number;
  /** What becomes of files that show them: called before and after each batch, since files may be asked for meanwhile. */
  conceal(concerned: Concerned): Promise<void>;
  /** Of what could not be stored, that which the reason holds for. */
  buried(): Promise<readonly BuriedLetter[]>;
  /** Told of every batch that is gone. */
  tally?(gone: number): void;
}

const dayMs = 24 * 3_600_000;
const batch = 500;
const atOnce = 25;
/** Between batches that time alone asks for: submissions come first. */
const breathMs = 500;
const respondentAtMost = 5000;
/** Files outlive what time has deleted by so much: where responses grow old all day, no file would otherwise last. */
const filesKeptMs = dayMs;

/** Deletes responses for good: their tombstones end counts and rows, and their files go. */
export function createErasing(deps: ErasingDeps) {
  const removeTraces = async (responseId: string): Promise<void> => {
    await deps.uploads.removeOfResponses([responseId]);
    await deps.findings.removeOfResponses([responseId]);
  };

  /** As the intake's own; the response's files go too, and what analyses found in it. */
  const remove = async ({ surveyId, responseId, submittedAtMs, isComplete }: DoomedResponse): Promise<boolean> => {
    // Should this be cut short, the sweep of uploads asks whether the response is still there.
    await deps.uploadRows.doubt([responseId]);
    const isRemoved = await deps.intake.remove({ surveyId, responseId, submittedAtMs, isComplete, row: encodeTombstone(surveyId, responseId, submittedAtMs) });
    await removeTraces(responseId);
    return isRemoved;
  };

  const removeAll = async (doomed: readonly DoomedResponse[]): Promise<number> => {
    let removed = 0;
    for (let from = 0; from < doomed.length; from += atOnce) {
      const results = await Promise.all(doomed.slice(from, from + atOnce).map(remove));
      removed += results.filter(Boolean).length;
    }
    return removed;
  };

  /** Should this be cut short, what is still there can be deleted again: files go first. Those that came to be meanwhile go after. */
  const concealed = async <T>(concerned: Concerned, conceal: EraseOptions['conceal'], work: () => Promise<T>): Promise<T> => {
    await conceal(concerned);
    try {
      return await work();
    } finally {
      await conceal(concerned);
    }
  };

  /** An id that a client has made may have come again after it was forgotten. */
  const othersOf = async ({ surveyId, responseId, submittedAtMs }: DoomedResponse): Promise<DoomedResponse[]> => {
    if (isOwnResponseId(responseId)) return [];
    await deps.reading.settled(surveyId);
    const ofSurvey = (await deps.responses.findAll(responseId)).filter((record) => record.surveyId === surveyId);
    const found = ofSurvey.map(({ submittedAt, isComplete }) => ({ surveyId, responseId, submittedAtMs: submittedAt.getTime(), isComplete }));
    return found.filter((other) => other.submittedAtMs !== submittedAtMs);
  };

  const withdraw = async (concerned: Concerned): Promise<void> => {
    for (const id of await deps.exports.withdraw(concerned)) await deps.exportFiles.remove(id);
  };

  /** The responses that letters belong to, but for those that were deleted before: a letter may have stayed behind then. */
  const responsesOf = async (letters: readonly BuriedLetter[]): Promise<DoomedResponse[]> => {
    const left: DoomedResponse[] = [];
    for (const response of oncePerResponse(headsOf(letters)))
      if (!(await deps.responses.wasDeleted(response.responseId, response.submittedAtMs))) left.push(response);
    return left;
  };

  /** Ends those too that could not be stored: their tombstones outlive them, should one be put back in this moment. */
  const eraseBuried = async (surveyId: string, doomed: readonly BuriedLetter[]): Promise<number> => {
    // Of what cannot be read nobody knows what it was: the sweep of uploads asks whether anything is left of it.
    const unread = doomed.flatMap(({ row: { head, responseId } }) => (head || responseId === null ? [] : [responseId]));
    if (unread.length > 0) await deps.uploadRows.doubt(unread);
    const gone = await removeAll(await responsesOf(doomed));
    await deps.buried.drop(surveyId, doomed);
    return gone;
  };

  /** By survey. All at once: with a rule for every survey each of them would otherwise read what lies there of all. */
  const expiredLetters = async (rules: readonly { surveyId: string; before: Date }[]): Promise<Map<string, BuriedLetter[]>> => {
    const expired = new Map<string, BuriedLetter[]>();
    if (rules.length === 0) return expired;
    const ends = new Map(rules.map(({ surveyId, before }) => [surveyId, before.getTime()]));
    const isExpired = ({ surveyId, head }: BuriedRow) => head !== undefined && head.submittedAtMs < (ends.get(surveyId ?? '') ?? 0);
    for (const letter of await deps.buried.among(isExpired)) {
      const surveyId = letter.row.surveyId ?? '';
      const others = expired.get(surveyId);
      if (others) others.push(letter);
      else expired.set(surveyId, [letter]);
    }
    return expired;
  };

  const erase = async (surveyId: string, doom: Doom, { most, pauseMs, conceal, buried, tally = () => undefined }: EraseOptions): Promise<{ removed: number; isFinished: boolean }> => {
    // A completion may lie there: what is stored does not say so.
    const lying = headsOf(await buried());
    for (let removed = 0; ; ) {
      // What was accepted, and deleted, before now is to be seen.
      await deps.reading.settled(surveyId);
      const doomed = await deps.responses.doomed(surveyId, doom, batch);
      if (doomed.length === 0) {
        const unburied = await eraseBuried(surveyId, await buried());
        tally(unburied);
        return { removed: removed + unburied, isFinished: true };
      }
      if (removed >= most) return { removed, isFinished: false };
      const gone = await concealed(concernedBy(surveyId, doomed), conceal, () => removeAll(withCompletions(doomed, lying)));
      removed += gone;
      tally(gone);
      // Deleted before, and yet still shown: going round would not help.
      if (gone === 0) return { removed, isFinished: false };
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };

  return {
    /**
     * Erases one response, and what else its survey has under its id, also what could not be stored of it, with the export files that may
     * show it. `stored`: what the response store has of it. False: there is nothing of it, or it was deleted before.
     */
    async eraseOne({ surveyId, responseId }: Pick<DoomedResponse, 'surveyId' | 'responseId'>, stored?: DoomedResponse): Promise<boolean> {
      const letters = await deps.buried.ofResponse(surveyId, responseId);
      const known = stored ? [stored, ...(await othersOf(stored))] : [];
      if (letters.length === 0 && known.length === 0) return false;
      const all = oncePerResponse([...known, ...(await responsesOf(letters))]);
      const end = async () => {
        const removed = await removeAll(all);
        if (all.length === 0) await removeTraces(responseId);
        // Last, as the response can be deleted again while one of them is there; some may have come meanwhile.
        await deps.buried.drop(surveyId, [...letters, ...(await deps.buried.ofResponse(surveyId, responseId))]);
        return removed > 0 || letters.length > 0;
      };
      return all.length > 0 ? concealed(concernedBy(surveyId, all), withdraw, end) : end();
    },

    /** Erases one respondent's responses, with the export files that may show them. Not finished: there are more than is done at once. */
    eraseRespondent: (surveyId: string, respondent: string): Promise<{ removed: number; isFinished: boolean }> =>
      erase(surveyId, { respondent }, {
        most: respondentAtMost, pauseMs: 0, conceal: withdraw,
        buried: async () => (await deps.buried.of(surveyId)).filter(({ row }) => mayNameRespondent(row, respondent)),
      }),

    /** Deletes the responses whose time is over (export files that may show them expire within a day), and notes in the audit how many of which survey; gives how many of all. */
    async eraseExpired(): Promise<number> {
      let removed = 0;
      const rules = (await deps.rules(new Date(deps.now()))).map(({ surveyId, days }) => ({ surveyId, days, before: new Date(deps.now() - days * dayMs) }));
      const buried = await expiredLetters(rules);
      for (const { surveyId, days, before } of rules) {
        const conceal = (concerned: Concerned) => deps.exports.shorten(concerned, new Date(deps.now() + filesKeptMs));
        let erased = 0;
        try {
          await erase(surveyId, { before }, { most: Number.POSITIVE_INFINITY, pauseMs: breathMs, conceal, buried: async () => buried.get(surveyId) ?? [], tally: (gone) => void (erased += gone) });
        } finally {
          // A run that broke off has erased all the same.
          if (erased > 0) await deps.audit.record({ actor: null, action: 'responses.expired', objectKind: 'survey', objectId: surveyId, details: { erased, retentionDays: days, before: before.toISOString() } });
        }
        removed += erased;
      }
      return removed;
    },
  };
}

const headsOf = (letters: readonly BuriedLetter[]): ResponseHead[] => letters.flatMap(({ row: { head } }) => head ?? []);

const nameOf = ({ responseId, submittedAtMs }: DoomedResponse): string => `${responseId} ${submittedAtMs}`;

/** Complete too where one of these saves of them is. */
function withCompletions(doomed: readonly DoomedResponse[], saves: readonly DoomedResponse[]): DoomedResponse[] {
  const completed = new Set(saves.filter(({ isComplete }) => isComplete).map(nameOf));
  return doomed.map((response) => ({ ...response, isComplete: response.isComplete || completed.has(nameOf(response)) }));
}

/** Of several saves of a response one, complete if any of them is. */
function oncePerResponse(saves: readonly DoomedResponse[]): DoomedResponse[] {
  const first = new Map<string, DoomedResponse>();
  for (const save of saves) if (!first.has(nameOf(save))) first.set(nameOf(save), save);
  return withCompletions([...first.values()], saves);
}

function concernedBy(surveyId: string, responses: readonly Pick<DoomedResponse, 'submittedAtMs'>[]): Concerned {
  const moments = responses.map(({ submittedAtMs }) => submittedAtMs);
  return { surveyId, first: new Date(Math.min(...moments)), last: new Date(Math.max(...moments)) };
}

export type Erasing = ReturnType<typeof createErasing>;
