import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createRestore, savedFromRecord } from '../../../src/actors/submissions/saved-response.ts';
import type { GivenAnswer } from '../../../src/domain/questions/contract.ts';
import { encodeResponse, encodeTombstone } from '../../../src/domain/response-row.ts';
import { checkAnswers, compileSurvey } from '../../../src/domain/submission/answers.ts';
import { durationMs } from '../../../src/domain/submission/submission.ts';
import { createLog } from '../../../src/log.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { createResponseStore } from '../../../src/stores/clickhouse/responses.ts';
import { fullSurvey } from '../../support/questions.ts';
import {
  givenStart,
  openResponseDatabase,
  type ResponseDatabase,
  responseLine,
} from '../../support/response-database.ts';
import { assertWithin } from '../../support/time-bars.ts';
import { uploadsFor, valid } from '../../unit/domain/submission/valid-answers.ts';

const never = (): never => assert.fail('not to be waited for');
const buried = { ofResponse: async () => [] };

describe('the saved state of an open response', () => {
  let database: ResponseDatabase;
  before(async () => {
    database = await openResponseDatabase();
  });
  after(() => database.close());

  const { survey } = fullSurvey();
  const compiled = compileSurvey(survey);
  const uploads = uploadsFor(survey.questions.find(({ type }) => type === 'FILE_UPLOAD') ?? assert.fail());
  /** Any answers to any of the questions, in two parts: the second replaces some of the first. */
  const some = fc
    .tuple(
      ...survey.questions.map((question) =>
        fc.tuple(fc.constant(question.id), fc.boolean(), valid[question.type](question)),
      ),
    )
    .map((parts) =>
      parts.flatMap(([questionId, isAnswered, values]) =>
        isAnswered ? values.map((value): GivenAnswer => ({ questionId, ...value })) : [],
      ),
    );
  const word = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => text.isWellFormed());
  const save = fc.record({
    before: some,
    after: some,
    startedAtMs: fc.option(
      fc.integer({ min: -3_000_000_000, max: 1000 }).map((ms) => givenStart + ms),
      { nil: undefined },
    ),
    language: fc.constantFrom('en', 'zh-Hant', 'de-CH-1996'),
    respondent: word,
    metadata: fc.dictionary(
      word.filter((text) => text !== ''),
      word,
      { maxKeys: 20 },
    ),
    version: fc.integer({ min: 1, max: 200 }),
  });
  const rowOf = (answers: readonly GivenAnswer[], previous?: Parameters<typeof checkAnswers>[2]['previous']) => {
    const checked = checkAnswers(compiled, answers, { isComplete: false, uploads, ...(previous && { previous }) });
    assert.ok(checked.ok, JSON.stringify(checked));
    return checked.row;
  };

  it('is restored from the response store as the intake would return it, for every question type', async () => {
    const saves = fc
      .sample(save, { numRuns: 300, seed: 7 })
      .map((given) => ({ ...given, responseId: newId(), row: rowOf(given.before) }));
    const heads = saves.map(({ responseId, language, respondent, metadata, version, startedAtMs }) => ({
      surveyId: survey.id,
      responseId,
      submittedAtMs: givenStart,
      version,
      surveyVersion: 1,
      outcome: 'PARTIAL' as const,
      completedAtMs: 0,
      ...(version % 2 === 0 && { savedAtMs: givenStart + version }),
      durationMs: durationMs(startedAtMs, givenStart),
      language,
      respondent,
      metadata,
    }));
    assert.deepEqual(
      await database.store(
        heads.map((head, index) => encodeResponse(head, saves[index]?.row ?? assert.fail())),
        { codeColumns: survey.slotCounts.codes },
      ),
      { kind: 'stored' },
    );
    const recall = createRestore({ responses: database.responses, deadLetters: buried, reading: { caughtUp: never } });
    for (const { responseId, row, startedAtMs, language, respondent, metadata, version, after } of saves) {
      const found = await recall({
        surveyId: survey.id,
        responseId,
        known: { observedVersion: version, submittedAtMs: givenStart },
        codePositions: survey.slotCounts.codes,
      });
      assert.ok(found);
      const { saved } = found;
      assert.deepEqual([found.observedVersion, found.isComplete, saved.submittedAtMs], [version, false, givenStart]);
      assert.equal(saved.savedAtMs, version % 2 === 0 ? givenStart + version : undefined);
      assert.deepEqual(
        { language: saved.language, respondent: saved.respondent, metadata: { ...saved.metadata } },
        { language, respondent, metadata: { ...metadata } },
      );
      assert.equal(durationMs(saved.startedAtMs, givenStart), durationMs(startedAtMs, givenStart));
      // The intake keeps it as JSON.
      assert.deepEqual(rowOf(after, saved.row), rowOf(after, JSON.parse(JSON.stringify(row))));
    }
  });

  it('is the newest version of the response that was submitted at that time, and of no deleted one', async () => {
    const [surveyId, responseId] = [newId(), newId()];
    const line = (submittedAtMs: number, version: number, text: string) =>
      responseLine({
        surveyId,
        responseId,
        submittedAtMs,
        version,
        outcome: 'PARTIAL',
        completedAtMs: 0,
        texts: [text],
      });
    await database.store([
      line(givenStart, 1, 'early'),
      line(givenStart, 2, 'early, again'),
      line(givenStart + 9, 1, 'late'),
    ]);
    const recall = createRestore({
      responses: database.responses,
      deadLetters: buried,
      reading: { caughtUp: async () => undefined },
    });
    const textAt = async (known: { observedVersion: number; submittedAtMs: number } | undefined) =>
      (await recall({ surveyId, responseId, known, codePositions: 3 }))?.saved.row.texts[0];
    assert.equal(await textAt({ observedVersion: 2, submittedAtMs: givenStart }), 'early, again');
    assert.equal(await textAt({ observedVersion: 1, submittedAtMs: givenStart + 9 }), 'late');
    assert.equal(await textAt(undefined), 'late');
    await database.store([encodeTombstone(surveyId, responseId, givenStart + 9)]);
    assert.equal(await textAt(undefined), 'early, again');
    await database.store([encodeTombstone(surveyId, responseId, givenStart)]);
    assert.equal(await textAt(undefined), undefined);
  });

  it('is waited for until ingest has stored it, then refused with Retry-After', async () => {
    const [surveyId, responseId] = [newId(), newId()];
    const given = { surveyId, responseId, isComplete: false, completedAtMs: 0 };
    await database.store([responseLine({ ...given, version: 1 })]);
    const forgotten = {
      surveyId,
      responseId,
      known: { observedVersion: 2, submittedAtMs: givenStart },
      codePositions: 0,
    };
    const caughtUp = async () =>
      void (await database.store([responseLine({ ...given, version: 2, respondent: 'second' })]));
    assert.equal(
      (await createRestore({ responses: database.responses, deadLetters: buried, reading: { caughtUp } })(forgotten))
        ?.saved.respondent,
      'second',
    );
    const lost = createRestore({
      responses: database.responses,
      deadLetters: buried,
      reading: { caughtUp: async () => undefined },
    })({ ...forgotten, known: { observedVersion: 3, submittedAtMs: givenStart } });
    await assert.rejects(lost, { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5 });
  });

  it('is refused at once while the response store is away', async () => {
    const away = createClickHouse({ urls: ['http://127.0.0.1:1/away'], log: createLog('silent') });
    const startedAt = performance.now();
    const recall = createRestore({
      responses: createResponseStore({ clickhouse: away }),
      deadLetters: buried,
      reading: { caughtUp: never },
    });
    await assert.rejects(
      recall({
        surveyId: newId(),
        responseId: newId(),
        known: { observedVersion: 1, submittedAtMs: givenStart },
        codePositions: 0,
      }),
      { code: 'SERVICE_UNAVAILABLE' },
    );
    assertWithin(5000, performance.now() - startedAt);
    await away.close();
  });

  it('has no start time if none was given', () => {
    const record = {
      submittedAt: new Date(givenStart),
      durationMs: null,
      language: 'en',
      respondent: '',
      metadata: {},
      row: { codes: [], numbers: [], texts: [] },
    };
    assert.equal(
      savedFromRecord({
        ...record,
        surveyId: '',
        responseId: '',
        version: 1,
        surveyVersion: 1,
        outcome: 'PARTIAL',
        completedAt: null,
      }).startedAtMs,
      undefined,
    );
  });
});
