import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  annotationDimension,
  annotationFilter,
  type KnownAnnotations,
  questionOfThemes,
} from '../../../../src/domain/analytics/annotation-variables.ts';
import { parseFilter } from '../../../../src/domain/analytics/filter.ts';
import { sentiments } from '../../../../src/domain/analytics/sentiment.ts';
import { fullSurvey } from '../../../support/questions.ts';

const { survey, questions } = fullSurvey();
const open = questions.LONG_TEXT.id;
const edition = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10';
const known: KnownAnnotations = {
  sentiment: { edition, values: [] },
  theme: { edition, values: ['Food', 'Waiting: time', 'positive'] },
};

describe('AI annotations as variables', () => {
  it('show every sentiment, and the themes that were mentioned', () => {
    const sentiment = annotationDimension(survey, `sentiment:${open}`, known);
    assert.ok(typeof sentiment !== 'string');
    assert.deepEqual(
      sentiment.categories.map(({ code, value, isHidden }) => [code, value, isHidden]),
      sentiments.map((value, index) => [index + 1, value, undefined]),
    );
    assert.deepEqual(sentiment.source, { kind: 'annotation', edition, questionId: open });
    const theme = annotationDimension(survey, 'theme', known);
    assert.ok(typeof theme !== 'string');
    assert.deepEqual(
      theme.categories.map(({ code, value, isHidden }) => [code, value, isHidden]),
      [
        [1, 'Food', true],
        [2, 'Waiting: time', true],
        [3, 'positive', true],
      ],
    );
    assert.deepEqual(theme.source, { kind: 'annotation', edition, questionId: null });
  });

  it('filter by one value, of all open questions or of one; theme names may contain colons', () => {
    for (const [text, code, questionId] of [
      ['sentiment:negative', 2, null],
      [`sentiment:${open}:mixed`, 4, open],
      ['theme:Waiting: time', 2, null],
      [`theme:${open}:Food`, 1, open],
    ] as const) {
      const parsed = parseFilter(survey, text, known);
      assert.ok('code' in parsed, text);
      assert.deepEqual(
        [parsed.code, parsed.dimension.source],
        [code, { kind: 'annotation', edition, questionId }],
        text,
      );
    }
  });

  it('of one question have the themes that were found in its answers, however many others have', () => {
    const values = Array.from({ length: 301 }, (_, n) => `t${n}`);
    const merged = new Map([['t7', ['seven', 't7']]]);
    const found: KnownAnnotations = {
      theme: { edition, values, byQuestion: new Map([[open, { values: ['t7', 't300'], storedAs: merged }]]) },
    };
    const theme = annotationDimension(survey, `theme:${open}`, found);
    assert.ok(typeof theme !== 'string', String(theme));
    assert.deepEqual(
      theme.categories.map(({ code, value, storedAs }) => [code, value, storedAs]),
      [
        [1, 't7', ['seven', 't7']],
        [2, 't300', undefined],
      ],
    );
    assert.deepEqual(theme.source, { kind: 'annotation', edition, questionId: open });
    assert.match(String(annotationDimension(survey, 'theme', found)), /more than 300 themes/);
    // A filter may name any theme of the survey.
    const filter = annotationFilter(survey, `theme:${open}:t299`, found);
    assert.deepEqual('code' in filter && filter.code, 300);
    assert.deepEqual(
      [`theme:${open}`, 'theme', `theme:${open}:t7`, `sentiment:${open}`, 'theme:t7', open].map(questionOfThemes),
      [open, undefined, undefined, undefined, undefined, undefined],
    );
  });

  it('are refused with the reason: the question, its type, the value, or a missing analysis', () => {
    const elsewhere = '0192f0c1-0000-7c3e-9d54-3f1a6b8c7d10';
    const refusal = (text: string, findings: KnownAnnotations = known) => {
      const parsed = annotationFilter(survey, text, findings);
      return 'message' in parsed ? parsed.message : 'taken';
    };
    assert.match(refusal(`sentiment:${elsewhere}:positive`), /not a question of this survey/);
    assert.match(refusal(`sentiment:${questions.EMAIL.id}:positive`), /not analysed/);
    for (const wrong of ['sentiment:', 'sentiment:angry', `theme:${open}:`, 'theme:food', 'theme'])
      assert.match(refusal(wrong), /names nothing/, wrong);
    assert.match(refusal('theme:Food', {}), /needs a finished analysis .*"themes"/);
    assert.equal(annotationDimension(survey, 'theme:Food', known), 'is not a question of this survey');
    assert.match(
      String(
        annotationDimension(survey, 'theme', {
          theme: { edition, values: Array.from({ length: 301 }, (_, n) => `t${n}`) },
        }),
      ),
      /more than 300 themes/,
    );
    // Where no findings are given, as for files, the names mean nothing.
    assert.ok('message' in parseFilter(survey, 'sentiment:negative'));
  });
});
