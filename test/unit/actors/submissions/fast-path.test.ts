import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bodyDigest } from '../../../../src/actors/submissions/repeats.ts';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { decodeResponse } from '../../../../src/domain/response-row.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { canonicalBody } from '../../../../src/domain/submission/canonical-body.ts';
import { createFastSubmissionReader } from '../../../../src/domain/submission/fast-submission-reader.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { readSubmissionRequest } from '../../../../src/http/submit/submit-route.ts';
import type { AppendResult, IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { hashOfKey } from '../../../../src/stores/redis/intake/idempotency.ts';
import { bareSubmissions, held } from '../../../support/bare-submissions.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

describe('a submission on the fast path', () => {
  const { survey, question } = withQuestion(blankSurvey(), { type: 'NPS', text: 'Score' });
  const heldAs = (revision: number, settings: Partial<SurveyWithQuestions> = {}): CachedSurvey => {
    const compiled = compileSurvey({ ...survey, ...settings, revision, questions: [question] });
    return { ...held, survey: compiled.survey, compiled, readFast: createFastSubmissionReader(compiled) };
  };

  /** Submits a body; `meets` are what the intake says of each attempt, upon which the survey is `changed`. */
  async function submit(
    answers: object[],
    meets: AppendResult['code'][],
    changed = heldAs(2),
    {
      begins = heldAs(1),
      beside = {},
      around = {},
      idempotencyKey,
      mayHaveLegacyKeys = false,
    }: {
      begins?: CachedSurvey;
      beside?: object;
      around?: object;
      idempotencyKey?: string;
      mayHaveLegacyKeys?: boolean;
    } = {},
  ) {
    let [present, readings] = [begins, 0];
    const appended: IntakeSubmission[] = [];
    const append = async (appendix: IntakeSubmission): Promise<AppendResult> => {
      const code = meets[appended.push(appendix) - 1] ?? 'ACCEPTED';
      if (code === 'STALE') present = changed;
      return { code, remaining: 9, resetMs: 1, text: code === 'REPLAY' ? `1 ${encodeMoment(0)}` : '' };
    };
    const send = bareSubmissions({
      actors: { peek: () => present, renew: async () => present, quotaFilled: async () => survey },
      intake: { append },
      mayHaveLegacyKeys: () => mayHaveLegacyKeys,
    });
    const call = { surveyId: survey.id, idempotencyKey, surveyToken: undefined, address: 'here' };
    const bytes = Buffer.from(JSON.stringify({ ...around, answers, ...beside }));
    const read = (given: Buffer) => {
      readings += 1;
      return readSubmissionRequest({ ...call, contentType: 'application/json', contentEncoding: undefined }, given);
    };
    const coming = send({ ...call, bytes, read });
    // The bytes were only lent.
    bytes.fill(0);
    return { outcome: await coming, appended, readings };
  }

  const given = [{ questionId: question.id, numberValue: 7 }];
  const rowsOf = (appended: readonly IntakeSubmission[]) =>
    appended.map(({ row, revision }) => ({ revision, codes: row && decodeResponse(row).row.codes }));

  it('is accepted without being parsed', async () => {
    for (const code of ['ACCEPTED', 'FILLED'] as const) {
      const { outcome, appended, readings } = await submit(given, [code]);
      assert.deepEqual(
        [outcome.kind, rowsOf(appended), readings],
        ['accepted', [{ revision: 1, codes: [8] }], code === 'ACCEPTED' ? 0 : 1],
      );
    }
  });

  it('is accepted without being parsed when it has other fields than answers', async () => {
    const beside = {
      startedAt: new Date(-5000).toISOString(),
      respondent: 'Anna',
      metadata: { source: 'post' },
      language: 'DE',
      surveyToken: 'right',
    };
    const begins = heldAs(1, { visibility: 'PRIVATE', accessToken: 'right' });
    const { outcome, appended, readings } = await submit(given, [], begins, { begins, beside });
    const { durationMs, respondent, metadata, language } = decodeResponse(appended[0]?.row ?? '').head;
    assert.deepEqual(
      [outcome.kind, durationMs, respondent, metadata, language, readings],
      ['accepted', 5000, 'Anna', { source: 'post' }, 'de', 0],
    );
    const wrong = await submit(given, ['REFUSED'], begins, { begins, beside: { ...beside, surveyToken: 'wrong' } });
    assert.ok(wrong.outcome.kind === 'refused');
    assert.equal(wrong.outcome.problem.code, 'FORBIDDEN');
  });

  it('is accepted without being parsed when it has a key, with the digest that a differently written repeat has', async () => {
    const beside = { respondent: 'Anna' };
    const keyed = { begins: heldAs(1), beside, idempotencyKey: 'one' };
    const first = await submit(given, [], undefined, keyed);
    const again = await submit(given, ['REPLAY'], undefined, { ...keyed, beside: {}, around: beside });
    assert.deepEqual([first.outcome.kind, first.readings, again.readings], ['accepted', 0, 1]);
    const [taken, repeated] = [first.appended[0], again.appended[0]];
    assert.deepEqual(
      [taken?.keyHash, taken?.digest, repeated?.keyHash, repeated?.digest],
      [
        hashOfKey(survey.id, 'one'),
        bodyDigest(canonicalBody({ answers: given, ...beside })),
        taken?.keyHash,
        taken?.digest,
      ],
    );
    const other = await submit(given, [], undefined, { ...keyed, beside: {} });
    assert.notEqual(other.appended[0]?.digest, taken?.digest);
    assert.equal(
      (await submit(given, [], undefined, { ...keyed, mayHaveLegacyKeys: true })).appended[0]?.legacy?.key,
      'one',
    );
  });

  it('is refused if it names a respondent in an anonymous survey', async () => {
    const begins = heldAs(1, { isAnonymous: true });
    const { outcome } = await submit(given, ['REFUSED'], begins, { begins, beside: { respondent: 'Anna' } });
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual(outcome.problem.details, [{ path: 'respondent', message: 'is not taken by an anonymous survey' }]);
  });

  it('is parsed if its form is unusual, and gets all validation issues', async () => {
    const { outcome, readings, appended } = await submit([{ numberValue: 7, questionId: question.id }], []);
    assert.deepEqual([outcome.kind, rowsOf(appended), readings], ['accepted', [{ revision: 1, codes: [8] }], 1]);
    const refused = await submit([{ questionId: question.id, numberValue: 11 }], ['REFUSED']);
    assert.ok(refused.outcome.kind === 'refused');
    assert.deepEqual(
      [refused.outcome.problem.code, refused.appended.map(({ mustRefuse }) => mustRefuse)],
      ['VALIDATION_ERROR', [true]],
    );
  });

  it('is checked again when the survey has changed meanwhile', async () => {
    const { outcome, appended } = await submit(given, ['STALE']);
    assert.deepEqual(
      [outcome.kind, rowsOf(appended)],
      [
        'accepted',
        [
          { revision: 1, codes: [8] },
          { revision: 2, codes: [8] },
        ],
      ],
    );
    const hidden = compileSurvey({ ...survey, revision: 2, questions: [{ ...question, isHidden: true }] });
    const gone = await submit(given, ['STALE', 'REFUSED'], {
      ...held,
      survey: hidden.survey,
      compiled: hidden,
      readFast: createFastSubmissionReader(hidden),
    });
    assert.ok(gone.outcome.kind === 'refused');
    assert.deepEqual(gone.outcome.problem.details, [
      { path: 'answers.0.questionId', message: 'is not a question of this survey' },
    ]);
  });

  it('counts against the limit once', async () => {
    const { outcome, appended } = await submit(given, ['LIMITED']);
    assert.deepEqual(
      [outcome.kind === 'refused' && outcome.problem.code, appended.map(({ caller }) => caller)],
      ['RATE_LIMITED', ['here']],
    );
    assert.deepEqual(
      (await submit(given, ['STALE'])).appended.map(({ caller }) => caller),
      ['here', ''],
    );
  });
});
