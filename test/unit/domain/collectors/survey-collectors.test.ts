import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseCollector } from '../../../../src/actors/submissions/collector-choice.ts';
import { maxCollectors } from '../../../../src/domain/collectors/collector.ts';
import {
  addCollector,
  collectorIdOf,
  indexCollectors,
  isOfUnknownCollector,
  nextCollectorCode,
  replaceCollector,
} from '../../../../src/domain/collectors/survey-collectors.ts';
import { collectorWith } from '../../../support/collectors.ts';
import { blankSurvey } from '../../../support/questions.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');

describe('the collectors of a survey', () => {
  const standard = collectorWith();
  const panel = collectorWith({ code: 1, name: 'Panel' });
  const invited = collectorWith({ code: 2, kind: 'INVITATION' });
  const sevenCodes = { codes: 7, numbers: 0, texts: 0 };
  const survey = addCollector(
    addCollector({ ...blankSurvey(), slotCounts: sevenCodes, collectors: [standard] }, panel),
    invited,
  );
  const index = indexCollectors(survey);

  it('get a position with the second one, once, and codes that are never used again', () => {
    assert.deepEqual([survey.collectorSlot, survey.slotCounts.codes], [7, 8]);
    assert.equal(nextCollectorCode([standard, { ...invited, isDeleted: true }]), 3);
    assert.throws(() => nextCollectorCode(Array.from({ length: maxCollectors }, () => panel)), {
      code: 'VALIDATION_ERROR',
    });
    assert.throws(() => addCollector({ ...blankSurvey(), slotCounts: { codes: 1000, numbers: 0, texts: 0 } }, panel), {
      code: 'VALIDATION_ERROR',
    });
  });

  it('take at most 256 KiB of metadata together, and may become smaller where they take more from before', () => {
    /** About so many thousand bytes. */
    const notes = (count: number) =>
      Object.fromEntries(Array.from({ length: count / 2 }, (_, n) => [`k${n}`, 'я'.repeat(990)]));
    const small = addCollector(survey, collectorWith({ code: 3, metadata: notes(200) }));
    const added = collectorWith({ code: 4, metadata: notes(40) });
    const large = addCollector(small, added);
    const further = { ...added, id: 'further', code: 5 };
    for (const change of [
      () => addCollector(large, further),
      () => replaceCollector(large, { ...added, metadata: notes(80) }),
    ])
      assert.throws(
        change,
        ({ code, details: [{ path, message }] }: any) =>
          code === 'VALIDATION_ERROR' && path === 'metadata' && /and may take 262144: /.test(message),
      );
    const oversized = { ...large, collectors: [...(large.collectors ?? []), further] };
    assert.throws(() => addCollector(oversized, further), { code: 'VALIDATION_ERROR' });
    addCollector(oversized, { ...further, metadata: {} });
    replaceCollector(oversized, { ...further, name: 'Panel' });
    replaceCollector(oversized, { ...further, metadata: notes(30) });
  });

  it('are found by the code in a stored response', () => {
    const codesWith = (code: number) => [0, 0, 0, 0, 0, 0, 0, code];
    assert.deepEqual(
      [collectorIdOf(index, []), collectorIdOf(index, codesWith(0)), collectorIdOf(index, codesWith(2))],
      [standard.id, standard.id, invited.id],
    );
    assert.deepEqual(
      [isOfUnknownCollector(index, codesWith(3)), collectorIdOf(index, codesWith(3))],
      [true, undefined],
    );
    assert.deepEqual(
      [isOfUnknownCollector(indexCollectors({}), []), collectorIdOf(indexCollectors({}), [])],
      [false, undefined],
    );
  });

  it('do not take a response of the second one for one of the default collector before the second one is known', () => {
    const before = indexCollectors({ ...survey, collectors: [standard], collectorSlot: null, slotCounts: sevenCodes });
    assert.equal(isOfUnknownCollector(before, [1, 0, 0, 0, 0, 0, 2, panel.code]), true);
    assert.equal(isOfUnknownCollector(before, [1, 0, 0, 0, 0, 0, 2, 0]), false);
    assert.equal(isOfUnknownCollector(before, [1]), false);
    assert.equal(isOfUnknownCollector(index, [1, 0, 0, 0, 0, 0, 2, panel.code]), false);
  });

  it('need no decision while there is one as it was made', () => {
    assert.ok(indexCollectors({ collectors: [standard] }).isPlain);
    for (const changed of [
      { isActive: false },
      { opensAt: new Date(nowMs) },
      { closesAt: new Date(nowMs) },
      { responseQuota: 1 },
      { language: 'de' },
      { kind: 'INVITATION' as const },
    ])
      assert.ok(!indexCollectors({ collectors: [{ ...standard, ...changed }] }).isPlain, JSON.stringify(changed));
    assert.ok(!index.isPlain);
  });

  it('are chosen by a submission: the response’s own, the invitation’s, the one that is named, the default one', () => {
    const choose = (collectorId: string | undefined, more: Partial<Parameters<typeof chooseCollector>[1]> = {}) => {
      const { collector, problem, issues } = chooseCollector(
        index,
        { submission: { collectorId }, saved: undefined, ...more },
        nowMs,
      );
      return [collector?.id, problem?.code ?? issues[0]?.path];
    };
    const saved = { codes: [0, 0, 0, 0, 0, 0, 0, 2], numbers: [], texts: [] };
    assert.deepEqual(choose(undefined), [standard.id, undefined]);
    assert.deepEqual(choose(panel.id), [panel.id, undefined]);
    assert.deepEqual(choose(invited.id), [invited.id, 'FORBIDDEN']);
    assert.deepEqual(choose(blankSurvey().id), [undefined, 'collectorId']);
    assert.deepEqual(choose(undefined, { invitedBy: invited }), [invited.id, undefined]);
    assert.deepEqual(choose(panel.id, { invitedBy: invited }), [invited.id, 'collectorId']);
    assert.deepEqual(choose(undefined, { saved }), [invited.id, undefined]);
    assert.deepEqual(choose(panel.id, { saved }), [invited.id, 'collectorId']);
  });

  it('refuse with the reason why they are closed', () => {
    const states = [{ isActive: false }, { opensAt: new Date(nowMs + 1) }, { closesAt: new Date(nowMs) }].map(
      (changed) => {
        const { problem } = chooseCollector(
          indexCollectors({ collectors: [{ ...standard, ...changed }] }),
          { submission: {}, saved: undefined },
          nowMs,
        );
        return problem?.details;
      },
    );
    assert.deepEqual(
      states,
      ['PAUSED', 'NOT_OPEN_YET', 'ENDED'].map((state) => ({ reason: 'COLLECTOR_CLOSED', state })),
    );
  });
});
