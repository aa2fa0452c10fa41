import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFilter } from '../../../../src/domain/analytics/filter.ts';
import { questionVariable } from '../../../../src/domain/questions/variable.ts';
import { blankSurvey, fullSurvey, withQuestion } from '../../../support/questions.ts';

describe('a filter', () => {
  const { survey, questions } = fullSurvey();

  it('names a question and one of its values, or a row and a value', () => {
    const yes = parseFilter(survey, `${questions.YES_NO.id}:yes`);
    assert.ok('code' in yes && yes.code === 1);
    const good = parseFilter(survey, `${questions.MATRIX.id}:food:good`);
    assert.ok('code' in good && good.code === 1);
    const nine = parseFilter(survey, `${questions.NPS.id}:9`);
    assert.ok('code' in nine && nine.code === 10);
    const other = parseFilter(survey, `${questions.MULTIPLE_CHOICE.id}:__other__`);
    assert.ok('code' in other && other.code === 65_535);
    const first = parseFilter(survey, `${questions.RANKING.id}:two`);
    assert.ok('code' in first && first.code === 2 && first.dimension.source.kind === 'first');
    const second = parseFilter(survey, `${questions.RANKING.id}:two:2`);
    assert.ok('code' in second && second.code === 2 && second.dimension.source.kind === 'code');
  });

  it('names the points of a scale from one to another, and no range of anything else', () => {
    const range = (text: string) => {
      const parsed = parseFilter(survey, text);
      return 'code' in parsed ? [parsed.code, parsed.lastCode] : undefined;
    };
    assert.deepEqual(range(`${questions.NPS.id}:0..6`), [1, 7]);
    assert.deepEqual(range(`${questions.NPS.id}:9..10`), [10, 11]);
    for (const none of ['6..0', '0..11', '..6', '6..', '0..6..9', '0...6'])
      assert.equal(range(`${questions.NPS.id}:${none}`), undefined, none);
    assert.equal(range(`${questions.LIKERT_SCALE.id}:1..2`), undefined);
  });

  it('names a language: that of the survey, one that surveys are translated to, or any other', () => {
    const own = { ...survey, language: 'pt-BR' };
    const code = (text: string) => {
      const parsed = parseFilter(own, text);
      return 'code' in parsed ? parsed.code : parsed.message;
    };
    assert.equal(code('language:pt-br'), 1);
    assert.equal(code('language:zh-hans'), 11);
    assert.equal(code('language:other'), 17);
    assert.match(String(code('language:klingon')), /^names no language; they are pt-BR, en, es/);
    assert.match(String(code('language:')), /^names no language/);
  });

  it('names a text at a key of the metadata, or of that of the invitation', () => {
    const source = (text: string) => {
      const parsed = parseFilter(survey, text);
      return 'code' in parsed ? parsed.dimension.source : parsed.message;
    };
    assert.deepEqual(source('metadata:utm:a:b'), { kind: 'metadata', key: 'utm', value: 'a:b' });
    assert.deepEqual(source('invitation:team:'), { kind: 'metadata', key: 'invitation:team', value: '' });
    assert.deepEqual(source('metadata:"utm:source":a:b'), { kind: 'metadata', key: 'utm:source', value: 'a:b' });
    assert.deepEqual(source('metadata:"say ""a:b""":"c"'), { kind: 'metadata', key: 'say "a:b"', value: '"c"' });
    assert.deepEqual(source('metadata:"utm:a'), { kind: 'metadata', key: '"utm', value: 'a' });
    assert.deepEqual(source('invitation:"my:team":red'), { kind: 'metadata', key: 'invitation:my:team', value: 'red' });
    assert.equal(source('metadata:"utm"'), 'must be metadata:KEY:VALUE');
    assert.equal(source('metadata:utm'), 'must be metadata:KEY:VALUE');
    assert.equal(source('invitation::red'), 'must be invitation:KEY:VALUE');
  });

  it('holds only the category that it names', () => {
    const { YES_NO, MATRIX, SLIDER } = questions;
    for (const [text, value] of [
      [`${YES_NO.id}:no`, 'no'],
      [`${MATRIX.id}:food:good`, 'good'],
      [`${SLIDER.id}:7`, '7'],
      ['outcome:COMPLETED', 'COMPLETED'],
      ['language:fr', 'fr'],
    ] as const) {
      const parsed = parseFilter(survey, text);
      assert.ok('code' in parsed, text);
      assert.deepEqual(
        parsed.dimension.categories.map((category) => [category.code, category.value]),
        [[parsed.code, value]],
        text,
      );
    }
  });

  it('names any point of a scale as the scale lists it, and nothing between the points', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'SLIDER',
      text: 'q',
      settings: { min: -0.3, max: 0.7, step: 0.1 },
    });
    const code = (value: string) => {
      const parsed = parseFilter(own, `${question.id}:${value}`);
      return 'code' in parsed ? parsed.code : undefined;
    };
    const dimension = questionVariable(question);
    assert.ok('categories' in dimension && dimension.categories.length === 11);
    for (const category of dimension.categories) assert.equal(code(` ${category.value} `), category.code);
    for (const wrong of ['', '-0.4', '0.8', '0.15', '0.10', '.1', '1e-1', '0x0', 'NaN', 'Infinity'])
      assert.equal(code(wrong), undefined, wrong);
  });

  it('by a point of the longest scale is found without a list of its points', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'RATING_SCALE',
      text: 'q',
      settings: { min: 0, max: 9999, step: 1 },
    });
    const before = process.cpuUsage();
    for (let point = 0; point < 500; point += 1)
      assert.ok('code' in parseFilter(own, `${question.id}:${point}`), `${point}`);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 500_000, `500 filters took ${user / 1000} ms`);
  });

  it('may name values with colons in them', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'DROPDOWN',
      text: 'q',
      options: [{ text: 'a', value: '12:30' }],
    });
    assert.ok('code' in parseFilter(own, `${question.id}:12:30`));
  });

  it('is refused if its colons can be read in two ways, and then takes the ids', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'q',
      options: [
        { text: 'a', value: '3:2' },
        { text: 'b', value: '2' },
      ],
      settings: {
        rows: [
          { text: 'c', value: '4' },
          { text: 'd', value: '4:3' },
        ],
      },
    });
    assert.deepEqual(parseFilter(own, `${question.id}:4:3:2`), {
      path: '',
      message: 'names several rows and columns of the question: write their ids',
    });
    const [row, column] = [question.rows[1], question.options[1]];
    const parsed = parseFilter(own, `${question.id}:${row?.id}:${column?.id}`);
    assert.ok('code' in parsed && parsed.code === column?.code && parsed.dimension.source.kind === 'code');
    assert.ok('code' in parseFilter(own, `${question.id}:4:2`));
  });

  it('may name options and rows by their ids and by their texts', () => {
    const [one, two] = questions.DROPDOWN.options;
    const code = (text: string) => {
      const parsed = parseFilter(survey, text);
      return 'code' in parsed ? parsed.code : parsed.message;
    };
    assert.equal(code(`${questions.DROPDOWN.id}:${two?.id}`), two?.code);
    assert.equal(code(`${questions.DROPDOWN.id}: ${one?.text.toUpperCase()} `), one?.code);
    const [row] = questions.MATRIX.rows;
    const [column] = questions.MATRIX.options;
    assert.equal(code(`${questions.MATRIX.id}:${row?.id}:${column?.id}`), column?.code);
    assert.equal(code(`${questions.MATRIX.id}:${row?.text}:${column?.text}`), column?.code);
  });

  it('may name a row in another way than its column, and an item of a RANKING by its id beside a rank', () => {
    const codeAndSlot = (text: string) => {
      const parsed = parseFilter(survey, text);
      return 'code' in parsed ? { code: parsed.code, source: parsed.dimension.source } : parsed.message;
    };
    const { MATRIX, RANKING } = questions;
    const [row, column] = [MATRIX.rows[1], MATRIX.options[0]];
    const wanted = codeAndSlot(`${MATRIX.id}:${row?.value}:${column?.value}`);
    assert.equal(typeof wanted, 'object');
    for (const ofRow of [row?.id, row?.value, row?.text])
      for (const ofColumn of [column?.id, column?.value, column?.text])
        assert.deepEqual(codeAndSlot(`${MATRIX.id}:${ofRow}:${ofColumn}`), wanted, `${ofRow}:${ofColumn}`);
    const [, item] = RANKING.options;
    const second = codeAndSlot(`${RANKING.id}:${item?.value}:2`);
    assert.equal(typeof second, 'object');
    for (const name of [item?.id, item?.text]) assert.deepEqual(codeAndSlot(`${RANKING.id}:${name}:2`), second, name);
  });

  it('does not match a text that two options share, and takes a value before a text', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'DROPDOWN',
      text: 'q',
      options: [
        { text: 'Same', value: 'a' },
        { text: 'same', value: 'b' },
        { text: 'a', value: 'c' },
      ],
    });
    assert.deepEqual(parseFilter(own, `${question.id}:Same`), {
      path: '',
      message: 'names no value of the question; its values are a, b, c',
    });
    const first = parseFilter(own, `${question.id}:a`);
    assert.equal('code' in first && first.code, question.options[0]?.code);
  });

  it('reads each row once, however many colons it has', () => {
    const { survey: own, question } = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'q',
      options: [{ text: 'good' }, { text: 'bad' }],
      settings: { rows: Array.from({ length: 100 }, (_, index) => ({ text: `row ${index}` })) },
    });
    let reads = 0;
    const rows = question.rows.map((row) =>
      Object.defineProperty({ ...row }, 'text', {
        get: () => {
          reads += 1;
          return row.text;
        },
      }),
    );
    const parsed = parseFilter({ ...own, questions: [{ ...question, rows }] }, `${question.id}${':'.repeat(960)}`);
    assert.match('message' in parsed ? parsed.message : '', /^names no row and column/);
    assert.ok(reads <= 2 * rows.length, `the texts of ${rows.length} rows were read ${reads} times`);
  });

  it('is normalised only before the colons where the name of a row may end, however many it has', (t) => {
    const { survey: own, question } = withQuestion(survey, {
      type: 'MATRIX',
      text: 'q',
      options: [{ text: 'good' }, { text: 'bad' }],
      settings: { rows: [{ text: 'Food' }, { text: 'Food: hot' }] },
    });
    const normalize = t.mock.method(String.prototype, 'normalize');
    for (const { id } of [question, questions.YES_NO, questions.SHORT_TEXT])
      assert.ok('message' in parseFilter(own, `${id}${':'.repeat(960)}`));
    const calls = normalize.mock.callCount();
    assert.ok(calls < 50, `960 colons were normalised ${calls} times`);
    for (const [index, name] of ['food', 'food: hot'].entries()) {
      const parsed = parseFilter(own, `${question.id}:${name}:good`);
      const byId = parseFilter(own, `${question.id}:${question.rows[index]?.id}:${question.options[0]?.id}`);
      assert.ok('code' in parsed, name);
      assert.deepEqual(parsed, byId);
    }
  });

  it('is refused with the reason otherwise', () => {
    for (const wrong of [
      '',
      'x',
      ':',
      'nobody:yes',
      `${questions.YES_NO.id}:maybe`,
      `${questions.YES_NO.id}:anything:yes`,
      `${questions.MATRIX.id}:good`,
      `${questions.SHORT_TEXT.id}:x`,
    ])
      assert.ok('message' in parseFilter(survey, wrong), wrong);
  });

  it('is refused in the service’s words, whatever the type', () => {
    const said = (text: string) => {
      const parsed = parseFilter(survey, text);
      return 'message' in parsed ? parsed.message : 'nothing';
    };
    for (const question of Object.values(questions))
      assert.doesNotMatch(said(`${question.id}:no such value`), /crosstab/, question.type);
    assert.equal(said(`${questions.NUMBER.id}:5`), 'the question is a free number, which has no categories');
    assert.equal(
      said(`${questions.MATRIX.id}:good`),
      'the question is a MATRIX: write questionId:rowValue:columnValue; its rows are food, service, its columns good, bad',
    );
    assert.equal(said(`${questions.YES_NO.id}:maybe`), 'names no value of the question; its values are yes, no');
    assert.match(said(`${questions.NPS.id}:11`), /values are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10$/);
  });
});
