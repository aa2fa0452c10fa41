import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileCondition } from '../../../../src/domain/path/conditions.ts';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import {
  conditionInput,
  leavesAtMost,
  optionsFromInput,
  skipsInput,
} from '../../../../src/domain/survey-paths/path-inputs.ts';
import { validate } from '../../../../src/platform/zod-messages.ts';

/** Paths and messages of the issues of a condition. */
function issuesOf(condition: unknown): string[] {
  const result = validate(conditionInput, condition);
  return result.isValid ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
}

const leaf: Condition = { questionId: 'q', operator: 'answered' };
const nested = (levels: number): unknown => (levels === 1 ? leaf : { not: nested(levels - 1) });

describe('a condition as an author sends it', () => {
  it('is taken in every form', () => {
    const taken: Condition[] = [
      leaf,
      { questionId: 'q', rowId: 'r', operator: 'notAnswered' },
      { questionId: 'q', operator: 'isAnyOf', optionIds: ['a', 'other'] },
      { questionId: 'q', operator: 'isNoneOf', optionIds: ['a'] },
      { questionId: 'q', rowId: 'r', operator: 'includesAny', optionIds: ['a'] },
      { questionId: 'q', operator: 'includesAll', optionIds: ['a'] },
      { questionId: 'q', operator: 'includesNone', optionIds: ['a'] },
      { questionId: 'q', operator: 'countBetween', min: 0 },
      { questionId: 'q', operator: 'countBetween', min: 1, max: 1 },
      { questionId: 'q', operator: 'rankedAtMost', optionId: 'a', rank: 1 },
      { questionId: 'q', operator: 'between', min: -1.5, max: 2 },
      { questionId: 'q', operator: 'between', max: '2024-02-29' },
      { questionId: 'q', operator: 'equals', value: 0 },
      { questionId: 'q', operator: 'notEquals', value: '08:30' },
      { questionId: 'q', operator: 'equalsText', value: 'a' },
      { questionId: 'q', operator: 'containsText', value: 'a' },
      { questionId: 'q', operator: 'startsWithText', value: 'a' },
      { metadata: 'key', operator: 'answered' },
      { invitation: 'key', operator: 'equalsText', value: 'a' },
      { language: ['en', 'zh-Hant'] },
      { all: [leaf, { any: [leaf, { not: leaf }] }] },
    ];
    for (const condition of taken) {
      assert.deepEqual(issuesOf(condition), [], JSON.stringify(condition));
      assert.deepEqual(validate(conditionInput, condition), { isValid: true, data: condition });
    }
  });

  it('names languages by their canonical tags at any depth, as respondents are', () => {
    const given = {
      any: [{ not: { language: ['iw', 'zh-hans'] } }, { all: [leaf, { language: ['EN', 'iw', 'he'] }] }],
    };
    assert.deepEqual(validate(conditionInput, given), {
      isValid: true,
      data: { any: [{ not: { language: ['he', 'zh-Hans'] } }, { all: [leaf, { language: ['en', 'he'] }] }] },
    });
    assert.deepEqual(validate(skipsInput, [{ if: { language: ['iw'] }, to: 'END' }]), {
      isValid: true,
      data: [{ if: { language: ['he'] }, to: 'END' }],
    });
  });

  for (const [name, condition, ...expected] of [
    ['nothing', undefined, ': is needed'],
    [
      'null',
      null,
      ': must be an object and must have one of all, any, not, questionId, metadata, invitation, language',
    ],
    ['no form', {}, ': must have one of all, any, not, questionId, metadata, invitation, language'],
    ['an empty list', { all: [leaf, { any: [] }] }, 'all.1.any: must not be empty'],
    ['what is no list', { all: leaf }, 'all: must be a list'],
    [
      'an item that is none',
      { all: [leaf, 5] },
      'all.1: must be an object and must have one of all, any, not, questionId, metadata, invitation, language',
    ],
    ['two forms', { all: [leaf], any: [leaf] }, 'any: this field is not known here'],
    ['a list with an operator', { not: leaf, operator: 'answered' }, 'operator: this field is not known here'],
    ['no operator', { questionId: 'q' }, 'operator: is needed'],
    ['an id that is no text', { questionId: 5, operator: 'answered' }, 'questionId: must be a text'],
    ['an empty row', { ...leaf, rowId: '' }, 'rowId: must have 1 to 100 characters'],
    ['no options', { questionId: 'q', operator: 'isAnyOf', optionIds: [] }, 'optionIds: must not be empty'],
    ['options left out', { questionId: 'q', operator: 'includesAll' }, 'optionIds: is needed'],
    [
      'an option that is no text',
      { any: [{ questionId: 'q', operator: 'isAnyOf', optionIds: ['a', 1] }] },
      'any.0.optionIds.1: must be a text',
    ],
    ['a value of another operator', { ...leaf, value: 1 }, 'value: this field is not known here'],
    ['between without ends', { not: { questionId: 'q', operator: 'between' } }, 'not: needs min or max'],
    ['countBetween without ends', { questionId: 'q', operator: 'countBetween' }, ': needs min or max'],
    ['ends in the wrong order', { questionId: 'q', operator: 'between', min: 2, max: 1 }, 'max: must not be below min'],
    [
      'ends of two kinds',
      { questionId: 'q', operator: 'between', min: 2, max: '3' },
      'max: must be of the same kind as min',
    ],
    [
      'a count that is not whole',
      { questionId: 'q', operator: 'countBetween', min: 0.5, max: -1 },
      'min: must be a whole number from 0',
      'max: must be a whole number from 0',
    ],
    [
      'no rank',
      { questionId: 'q', operator: 'rankedAtMost', optionId: 'a', rank: 0 },
      'rank: must be a whole number from 1',
    ],
    ['no value', { questionId: 'q', operator: 'equals' }, 'value: is needed'],
    [
      'a value that is neither number nor text',
      { questionId: 'q', operator: 'equals', value: true },
      'value: must be a number, or a date or time of day',
    ],
    [
      'a blank text',
      { questionId: 'q', operator: 'containsText', value: '  ' },
      'value: must be a text of 1 to 1000 characters',
    ],
    [
      'a metadata leaf with another operator',
      { metadata: 'key', operator: 'isAnyOf', optionIds: ['a'] },
      'operator: must be one of answered, notAnswered, equalsText, containsText, startsWithText',
    ],
    [
      'a metadata leaf with a row',
      { metadata: 'key', operator: 'answered', rowId: 'r' },
      'rowId: this field is not known here',
    ],
    ['no languages', { language: [] }, 'language: must not be empty'],
    [
      'what is no language',
      { language: ['en', 'not a tag'] },
      'language.1: must be a language tag such as en or zh-Hans',
    ],
  ] as const)
    it(`is refused: ${name}`, () => assert.deepEqual(issuesOf(condition), expected));

  it('has at most 5 levels and 50 leaves', () => {
    assert.deepEqual(issuesOf(nested(5)), []);
    assert.deepEqual(issuesOf(nested(6)), ['not.not.not.not.not: lies deeper than 5 levels']);
    assert.equal(issuesOf(nested(5000)).length, 1);
    const leaves = (count: number) => ({ all: Array.from({ length: count }, () => leaf) });
    assert.deepEqual(issuesOf({ any: [leaves(25), leaves(25)] }), []);
    assert.deepEqual(issuesOf({ any: [leaves(25), leaves(26)] }), [`: must have at most ${leavesAtMost} leaves`]);
    assert.deepEqual(issuesOf(leaves(51)), ['all: must have at most 50 items']);
  });

  it('is refused or can be evaluated, whatever is sent', () => {
    const shapes = { shapes: [], indexOf: new Map(), texts: new Set<number>() };
    const known = {
      answer: () => undefined,
      isAnswered: () => false,
      metadata: undefined,
      invitation: undefined,
      language: 'en',
      folded: (text: string) => text,
    };
    const junk = fc.constantFrom<unknown>(null, 0, -1, '', 'a', true, [], {}, ['a'], [1], '08:30');
    const mostly = (good: unknown) =>
      fc.oneof({ weight: 6, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: junk });
    const leaves = fc.oneof(
      fc.record({ questionId: mostly('q'), operator: mostly('answered') }),
      fc.record({ questionId: mostly('q'), operator: mostly('isAnyOf'), optionIds: mostly(['a']) }),
      fc.record({ questionId: mostly('q'), operator: mostly('between'), min: mostly(1), max: mostly(2) }),
      fc.record({ metadata: mostly('key'), operator: mostly('equalsText'), value: mostly('a') }),
      fc.record({ language: mostly(['en']) }),
      junk,
    );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { depthSize: 'small' },
        leaves,
        fc.record({ all: fc.array(tie('json'), { maxLength: 3 }) }),
        fc.record({ any: fc.array(tie('json'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ not: tie('json') }),
      ),
    }));
    let taken = 0;
    fc.assert(
      fc.property(json, (value) => {
        const result = validate(conditionInput, value);
        if (!result.isValid) return;
        taken += 1;
        assert.equal(typeof compileCondition(result.data, shapes)(known), 'boolean');
      }),
      { numRuns: 2000, seed: 5 },
    );
    assert.ok(taken > 200 && taken < 1800, `${taken} were taken`);
  });
});

describe('skips and optionsFrom as an author sends them', () => {
  it('name the exact field that is wrong', () => {
    const issues = (value: unknown) => {
      const result = validate(skipsInput, value, { prefix: 'skips' });
      return result.isValid ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
    };
    assert.deepEqual(issues([{ if: leaf, to: 'END' }]), []);
    assert.deepEqual(issues([{ to: 'END' }]), ['skips.0.if: is needed']);
    assert.deepEqual(issues([{ if: leaf }]), ['skips.0.to: is needed']);
    assert.deepEqual(
      issues([
        { if: leaf, to: 'a' },
        { if: { all: [] }, to: 'a' },
      ]),
      ['skips.1.if.all: must not be empty'],
    );
    assert.deepEqual(issues([{ if: leaf, to: 'a', else: 'b' }]), ['skips.0.else: this field is not known']);
    assert.equal(issues(Array.from({ length: 51 }, () => ({ if: leaf, to: 'END' }))).length, 1);
    const from = validate(optionsFromInput, { questionId: 'q', which: 'all' }, { prefix: 'optionsFrom' });
    assert.deepEqual(from.isValid ? [] : from.issues.map(({ path }) => path), ['optionsFrom.which']);
  });
});
