import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JudgingSurvey } from '../../../../src/actors/former-versions.ts';
import { readDeadLetterRow, withIdsOnly } from '../../../../src/domain/dead-letter-row.ts';
import type { Outcome } from '../../../../src/domain/outcome.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { encodeResponse } from '../../../../src/domain/response-row.ts';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { countCells } from '../../../../src/pipelines/maintenance/count-cells.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';
import { surveyOf, withFields } from '../../../support/path-surveys.ts';

const labels = ['a', 'b'].map((value) => ({ text: value, value }));
const { survey: plain, questions } = surveyOf([
  { type: 'MULTIPLE_CHOICE', options: labels },
  { type: 'MULTIPLE_CHOICE', options: labels },
]);
const chose = (place: number, option: number) => ({
  questionId: questions[place]?.id ?? '',
  operator: 'isAnyOf' as const,
  optionIds: [questions[place]?.options[option]?.id ?? ''],
});
const quota = (code: number, where: CellQuota['where'], counts: CellQuota['counts']): CellQuota => ({
  id: newId(),
  code,
  name: String(code),
  limit: 9,
  where,
  counts,
  whenFull: 'OVER_QUOTA',
  isActive: true,
  version: 1,
});
const withQuotas = (survey: SurveyWithQuestions, version: number): JudgingSurvey => {
  const quotas = [quota(1, chose(1, 0), 'STARTED'), quota(2, chose(1, 0), 'COMPLETED')];
  const judged = { ...survey, version, quotas };
  return { survey: judged, compiled: compileSurvey(judged) };
};
/** The second question is asked of nobody any more who chose the first option of the first. */
const [former, present] = [
  withQuotas(plain, 1),
  withQuotas(withFields(plain, questions[1]?.id ?? '', { visibleIf: chose(0, 1) }), 2),
];

function responseOf(outcome: Outcome, more: { version?: number; surveyVersion?: number; second?: number } = {}) {
  const { version = 1, surveyVersion = 2, second = 0 } = more;
  const answers = [0, second].map((option, place) => ({
    questionId: questions[place]?.id ?? '',
    optionId: questions[place]?.options[option]?.id ?? '',
  }));
  const checked = checkAnswers(former.compiled, answers, { isComplete: false, uploads: new Map() });
  assert.ok(checked.ok);
  const record: ResponseRecord = {
    surveyId: plain.id,
    responseId: newId(),
    submittedAt: new Date(1_750_000_000_000),
    version,
    surveyVersion,
    outcome,
    completedAt: null,
    durationMs: null,
    language: 'en',
    respondent: '',
    metadata: {},
    row: checked.row,
  };
  return record;
}

function deadLetterOf({ submittedAt, completedAt: _, durationMs: __, row, ...head }: ResponseRecord) {
  const line = encodeResponse({ ...head, submittedAtMs: submittedAt.getTime(), completedAtMs: 0, durationMs: -1 }, row);
  return { id: `${head.version}-1`, row: readDeadLetterRow(Buffer.from(line)) };
}

const others = {
  deadLetters: { ofSurvey: async () => [] },
  formerVersions: { ofResponse: async (judging: JudgingSurvey) => judging },
};

interface Unstored {
  deadLetters?: readonly ResponseRecord[];
  unreadable?: readonly ResponseRecord[];
  deleted?: readonly string[];
}

const countAll = (
  stored: readonly ResponseRecord[],
  { deadLetters = [], unreadable = [], deleted = [] }: Unstored = {},
) =>
  countCells(
    {
      responses: {
        async *snapshot() {
          yield [...stored];
        },
        wasDeleted: async (responseId) => deleted.includes(responseId),
      },
      deadLetters: {
        ofSurvey: async () => [
          ...deadLetters.map(deadLetterOf),
          ...unreadable.map(deadLetterOf).map(({ id, row }) => ({ id, row: withIdsOnly(row) })),
        ],
      },
      formerVersions: { ofResponse: async (judging, version) => (version === 1 ? former : judging) },
    },
    present,
  );
const count = async (...given: Parameters<typeof countAll>) => Object.fromEntries((await countAll(...given)).cells);

describe('the count of stored responses in quotas by cell', () => {
  it('judges an open response by the version of its last save, and a complete one by what it answered', async () => {
    const open = (surveyVersion: number) => responseOf('PARTIAL', { surveyVersion });
    assert.deepEqual(await count([open(1)]), { 1: 1 });
    assert.deepEqual(await count([open(2)]), {}, 'the question is off its path');
    assert.deepEqual(await count([responseOf('COMPLETED', { surveyVersion: 1 })]), { 1: 1, 2: 1 });
    assert.deepEqual(await count([responseOf('SCREENED_OUT'), responseOf('OVER_QUOTA')]), {});
  });

  it('gives way to other work between the responses of a batch', async (t) => {
    const stored = Array.from({ length: 12 }, () => responseOf('COMPLETED'));
    let [nowMs, turns, isDone] = [0, 0, false];
    // A response takes a millisecond at least.
    t.mock.method(performance, 'now', () => (nowMs += 1));
    const takeTurn = () => {
      turns += 1;
      if (!isDone) setImmediate(takeTurn);
    };
    setImmediate(takeTurn);
    assert.deepEqual(await count(stored).finally(() => (isDone = true)), { 1: 12, 2: 12 });
    assert.ok(turns >= 4, `${turns} turns`);
  });

  it('counts accepted responses that could not be stored, each in its last save', async () => {
    const done = (more: object = {}) => responseOf('COMPLETED', more);
    const lost = done();
    assert.deepEqual(await count([done()], { deadLetters: [lost] }), { 1: 2, 2: 2 });
    assert.deepEqual(await count([], { deadLetters: [lost], deleted: [lost.responseId] }), {});
    const saved = responseOf('PARTIAL', { surveyVersion: 1 });
    const ended = { ...saved, version: 2, outcome: 'COMPLETED' as const };
    assert.deepEqual(await count([saved], { deadLetters: [ended] }), { 1: 1, 2: 1 });
    assert.deepEqual(await count([ended], { deadLetters: [saved] }), { 1: 1, 2: 1 });
    assert.deepEqual(await count([], { deadLetters: [ended, saved] }), { 1: 1, 2: 1 });
    // Another response may have had the same id.
    const other = { ...done(), responseId: lost.responseId, submittedAt: new Date(1) };
    assert.deepEqual(await count([other], { deadLetters: [lost] }), { 1: 2, 2: 2 });
  });

  it('is given up at a stop', async () => {
    const stopping = new AbortController();
    const responses = {
      async *snapshot(_surveyId: string, _codes: number, { signal }: { signal: AbortSignal }) {
        yield [responseOf('COMPLETED')];
        stopping.abort();
        signal.throwIfAborted();
        yield [responseOf('COMPLETED')];
      },
      wasDeleted: async () => false,
    };
    await assert.rejects(countCells({ responses, ...others }, present, { signal: stopping.signal }), {
      name: 'AbortError',
    });
  });

  it('says how many they are, without those of which an unreadable row alone is left', async () => {
    const [open, done, over] = [responseOf('PARTIAL'), responseOf('COMPLETED'), responseOf('OVER_QUOTA')];
    const totals = async (...given: Parameters<typeof countAll>) => {
      const { total, completed } = await countAll(...given);
      return [total, completed];
    };
    assert.deepEqual(await totals([open, done, over]), [3, 1]);
    const ended = { ...open, version: 2, outcome: 'COMPLETED' as const };
    assert.deepEqual(await totals([open], { deadLetters: [ended, done] }), [2, 2]);
    assert.deepEqual(await totals([over], { unreadable: [open, done] }), [1, 0]);
  });
});
