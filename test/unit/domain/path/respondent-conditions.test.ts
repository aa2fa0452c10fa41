import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { compilePaths, type PathContext } from '../../../../src/domain/path/path.ts';
import { createPiping } from '../../../../src/domain/path/piping.ts';
import { namedMetadata } from '../../../../src/domain/survey-paths/invitation-keys.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { pathIn, questionIdsOf, surveyOf, walkIn } from '../../../support/path-surveys.ts';

describe('a condition about what came with the respondent', () => {
  const holdsFor = (condition: Condition, context: Partial<PathContext>): boolean => {
    const { survey } = surveyOf([{ type: 'NPS', visibleIf: condition }]);
    return questionIdsOf(pathIn(survey, [], context)).length === 1;
  };

  it('compares values of the metadata and of the invitation as texts', () => {
    const metadata = { source: 'Straße 5' };
    assert.ok(holdsFor({ metadata: 'source', operator: 'startsWithText', value: 'STRASSE' }, { metadata }));
    assert.ok(holdsFor({ metadata: 'source', operator: 'containsText', value: 'e 5' }, { metadata }));
    assert.ok(!holdsFor({ metadata: 'source', operator: 'equalsText', value: 'strasse' }, { metadata }));
    assert.ok(!holdsFor({ invitation: 'source', operator: 'answered' }, { metadata }));
    assert.ok(holdsFor({ invitation: 'source', operator: 'equalsText', value: 'a' }, { invitation: { source: 'A' } }));
  });

  it('takes a missing or blank value for none', () => {
    for (const metadata of [undefined, {}, { source: ' ' }, { source: 5 as unknown as string }]) {
      assert.ok(!holdsFor({ metadata: 'source', operator: 'answered' }, { metadata }));
      assert.ok(holdsFor({ metadata: 'source', operator: 'notAnswered' }, { metadata }));
      assert.ok(!holdsFor({ metadata: 'source', operator: 'containsText', value: '5' }, { metadata }));
    }
    assert.ok(!holdsFor({ metadata: 'constructor', operator: 'answered' }, { metadata: {} }));
  });

  it('reads the stored key of a value of the invitation, as surveys of before may name it, as that value', () => {
    const condition: Condition = { metadata: 'invitation:group', operator: 'equalsText', value: 'vip' };
    const invitation = { group: 'VIP' };
    assert.ok(holdsFor(condition, { invitation }));
    assert.ok(holdsFor(condition, { invitation, metadata: { 'invitation:group': 'VIP' } }));
    assert.ok(!holdsFor(condition, { metadata: { 'invitation:group': 'VIP' } }));
    const { survey } = surveyOf([{ type: 'NPS', text: '{{metadata:invitation:group}}', visibleIf: condition }]);
    assert.deepEqual(namedMetadata(survey, { group: 'VIP', other: 'x' }), invitation);
    const compiled = compilePaths(pathDefinitionOf(survey));
    const render = createPiping(compiled, walkIn(survey, [], { invitation }), { language: 'en' });
    assert.equal(render('{{metadata:invitation:group|guest}}'), 'VIP');
  });

  it('matches a language tag and its subtags, and the survey’s language without one', () => {
    const german: Condition = { language: ['fr', 'DE'] };
    for (const language of ['de', 'de-AT', 'DE-at']) assert.ok(holdsFor(german, { language }), language);
    for (const language of ['den', 'en', 'en-DE']) assert.ok(!holdsFor(german, { language }), language);
    assert.ok(holdsFor(german, { surveyLanguage: 'de-CH' }));
    assert.ok(!holdsFor(german, { language: 'en', surveyLanguage: 'de' }));
    assert.ok(!holdsFor({ language: ['de-AT'] }, { language: 'de' }));
  });

  it('matches Chinese by the script that the tag or its region has, as texts, filters and crosstabs do', () => {
    const scripts: [string, string[]][] = [
      ['zh-Hant', ['zh-Hant', 'zh-TW', 'zh-hk', 'zh-MO', 'zh-Hant-CN', 'zh-cmn-Hant']],
      ['zh-Hans', ['zh-Hans', 'zh', 'zh-CN', 'zh-SG', 'zh-Hans-HK', 'zh-cmn-Hans-TW']],
    ];
    for (const [script, languages] of scripts)
      for (const language of languages) {
        const matching = scripts.map(([each]) => each).filter((each) => holdsFor({ language: [each] }, { language }));
        assert.deepEqual(matching, [script], language);
        assert.ok(holdsFor({ language: ['zh'] }, { language }), language);
      }
    assert.ok(holdsFor({ language: ['ZH-HANT'] }, { surveyLanguage: 'zh-TW' }));
    assert.ok(!holdsFor({ language: ['zh-TW'] }, { language: 'zh-Hant' }), 'a script has many regions');
    assert.ok(!holdsFor({ language: ['zh-Hant'] }, { language: 'en-TW' }));
  });

  it('is combined by all, any and not', () => {
    const [yes, no]: Condition[] = [
      { metadata: 'a', operator: 'answered' },
      { metadata: 'b', operator: 'answered' },
    ] as const satisfies Condition[];
    const metadata = { a: '1' };
    for (const [condition, expected] of [
      [{ all: [yes, yes] }, true],
      [{ all: [yes, no] }, false],
      [{ any: [no, yes] }, true],
      [{ any: [no, no] }, false],
      [{ not: no }, true],
      [{ not: { all: [yes, { not: no }] } }, false],
    ] as [Condition, boolean][])
      assert.equal(holdsFor(condition, { metadata }), expected, JSON.stringify(condition));
  });
});

describe('the metadata of an invitation that a survey names', () => {
  it('is found by reading the survey once, however many invitations open its page', () => {
    const { survey } = surveyOf([{ type: 'NPS', text: 'How is {{invitation:team|it}}?' }]);
    let reads = 0;
    const counted = {
      ...survey,
      get questions() {
        reads += 1;
        return survey.questions;
      },
    };
    for (const team of ['red', 'blue']) assert.deepEqual(namedMetadata(counted, { team, other: 'x' }), { team });
    assert.equal(reads, 1);
  });
});
