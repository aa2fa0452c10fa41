import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QuestionTypeName } from '../../../../src/domain/questions/type-names.ts';
import { one } from '../questions/one-question.ts';

describe('checking a single answer', () => {
  it('accepts the points of a decimal scale and refuses values between them', () => {
    const scale = one({ type: 'SLIDER', text: 's', settings: { min: 0, max: 1, step: 0.1 } });
    assert.deepEqual(scale.store([{ numberValue: 0.3 }]), [{ questionId: scale.question.id, numberValue: 0.3 }]);
    assert.deepEqual(scale.store([{ numberValue: 0.1 + 0.2 }]), [{ questionId: scale.question.id, numberValue: 0.3 }]);
    assert.ok(!scale.check([{ numberValue: 0.35 }]).ok);
  });

  it('stores the number itself for a scale with very many points', () => {
    const scale = one({ type: 'SLIDER', text: 's', settings: { min: 0, max: 1_000_000, step: 0.5 } });
    assert.deepEqual(scale.store([{ numberValue: 999_999.5 }]), [
      { questionId: scale.question.id, numberValue: 999_999.5 },
    ]);
    assert.ok(!scale.check([{ numberValue: 999_999.25 }]).ok);
  });

  it('bounds the number of selections and counts an option once', () => {
    const { question, check: take } = one({
      type: 'CHECKBOXES',
      text: 'c',
      options: [{ text: 'a' }, { text: 'b' }, { text: 'c' }],
      settings: { minSelections: 2, maxSelections: 2 },
    });
    const pick = (...indexes: number[]) =>
      take(indexes.map((index) => ({ optionId: question.options[index]?.id ?? '' })));
    assert.ok(pick(0, 2).ok);
    assert.ok(!pick(0).ok);
    assert.ok(!pick(0, 1, 2).ok);
    assert.ok(!pick(1, 1).ok);
  });

  it('stores more checkboxes than one bit word holds', () => {
    const many = one({
      type: 'CHECKBOXES',
      text: 'c',
      options: Array.from({ length: 40 }, (_, n) => ({ text: `o${n}` })),
    });
    const values = [0, 15, 16, 31, 32, 39].map((index) => ({ optionId: many.question.options[index]?.id ?? '' }));
    assert.deepEqual(
      many.store(values).map(({ optionId }) => ({ optionId })),
      values,
    );
  });

  it('accepts ranks by number or by order of appearance, without gaps and repeats', () => {
    const rank = one({
      type: 'RANKING',
      text: 'r',
      options: [{ text: 'a' }, { text: 'b' }, { text: 'c' }],
      settings: { maxRanked: 2 },
    });
    const [a = '', b = '', c = ''] = rank.question.options.map(({ id }) => id);
    assert.deepEqual(
      rank.store([{ optionId: b }, { optionId: a }]).map(({ optionId, rank: place }) => [optionId, place]),
      [
        [b, 1],
        [a, 2],
      ],
    );
    for (const wrong of [
      [
        { optionId: a, rank: 1 },
        { optionId: b, rank: 1 },
      ],
      [
        { optionId: a, rank: 1 },
        { optionId: b, rank: 3 },
      ],
      [
        { optionId: a, rank: 1 },
        { optionId: a, rank: 2 },
      ],
      [{ optionId: a, rank: 1 }, { optionId: b }],
      [{ optionId: a }, { optionId: b }, { optionId: c }],
      [{ optionId: a, rank: 0 }],
      [{ optionId: a, rank: 1.5 }],
    ])
      assert.ok(!rank.check(wrong).ok, JSON.stringify(wrong));
  });

  it('accepts several columns a row if the matrix allows it', () => {
    const grid = one({
      type: 'MATRIX',
      text: 'm',
      options: [{ text: 'x' }, { text: 'y' }],
      settings: { multiple: true, rows: [{ text: 'r' }] },
    });
    const [x = '', y = ''] = grid.question.options.map(({ id }) => id);
    const rowId = grid.question.rows[0]?.id ?? '';
    assert.ok(
      grid.check([
        { rowId, optionId: x },
        { rowId, optionId: y },
      ]).ok,
    );
    assert.ok(
      !grid.check([
        { rowId, optionId: x },
        { rowId, optionId: x },
      ]).ok,
    );
    assert.ok(!grid.check([{ optionId: x }]).ok);
  });

  it('matches a pattern against the whole text, in linear time', () => {
    const { check: take } = one({
      type: 'SHORT_TEXT',
      text: 't',
      settings: { pattern: '[A-Z]{2}\\d+', maxLength: 2000 },
    });
    assert.ok(take([{ textValue: 'AB12' }]).ok);
    assert.ok(!take([{ textValue: 'xAB12' }]).ok);
    const slow = one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '(a+)+$', maxLength: 5000 } });
    const startedAt = performance.now();
    assert.ok(!slow.check([{ textValue: `${'a'.repeat(4000)}!` }]).ok);
    assert.ok(performance.now() - startedAt < 5000, 'exponential time would not end at all');
    assert.throws(() => one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '(' } }), /RE2/);
  });

  it('validates calendar days, clock times and e-mail addresses', () => {
    const takes = (type: QuestionTypeName, text: string) => one({ type, text: 'q' }).check([{ textValue: text }]).ok;
    assert.deepEqual(
      ['2024-02-29', '2023-02-29', '2024-13-01', '24-1-1', '2024-04-31', '0000-01-01', '0001-01-01', '9999-12-31'].map(
        (text) => takes('DATE', text),
      ),
      [true, false, false, false, false, false, true, true],
    );
    assert.deepEqual(
      ['00:00', '23:59:59', '24:00', '12:60', '1:00'].map((text) => takes('TIME', text)),
      [true, true, false, false, false],
    );
    assert.deepEqual(
      ['a@b.co', 'zoë@exämple.org', 'a@b', 'a b@c.de', '@c.de', 'a@c.de,b@c.de', `${'a'.repeat(65)}@c.de`].map((text) =>
        takes('EMAIL', text),
      ),
      [true, true, false, false, false, false, false],
    );
  });

  it('accepts every point of a scale however it was computed, and never returns −0', () => {
    for (const [min, max, step] of [
      [-0.9, 0.9, 0.3],
      [0, 1000, 0.1],
      [1e9, 1e9 + 1, 0.1],
      [-1, 1, 0.001],
      [0, 2e5, 0.1],
    ] as const) {
      const scale = one({ type: 'SLIDER', text: 's', settings: { min, max, step } });
      const steps = Math.round((max - min) / step);
      for (const index of [0, 1, 2, 3, Math.floor(steps / 2), steps - 1, steps]) {
        const [answer] = scale.store([{ numberValue: min + index * step }]);
        assert.equal(
          String(answer?.numberValue),
          String(Number((min + index * step).toFixed(3))),
          `point ${index} from ${min} by ${step}`,
        );
        assert.ok(!Object.is(answer?.numberValue, -0));
      }
      for (const off of [min - step, max + step, min + step / 2, min + step * 1.001])
        assert.ok(!scale.check([{ numberValue: off }]).ok, `${off} from ${min} by ${step}`);
    }
  });

  it('refuses a scale whose points could not be distinguished', () => {
    assert.throws(
      () => one({ type: 'SLIDER', text: 's', settings: { min: 1e12 - 1, max: 1e12, step: 1e-6 } }),
      /too fine/,
    );
    for (const settings of [{ min: 1, max: 1 }, { step: 0 }, { step: -1 }, { step: 1000 }, { max: 1e12, step: 1e-3 }])
      assert.throws(() => one({ type: 'SLIDER', text: 's', settings }), /settings/);
  });

  it('accepts yes and no as texts, and nothing similar', () => {
    const { question, store, check } = one({ type: 'YES_NO', text: 'y' });
    assert.deepEqual(store([{ textValue: 'no' }]), [{ questionId: question.id, optionId: question.options[1]?.id }]);
    for (const textValue of ['Yes', 'NO', '', 'true', '__proto__']) assert.ok(!check([{ textValue }]).ok, textValue);
  });

  it('accepts the point of an agreement scale instead of its option', () => {
    const { question, store, check } = one({ type: 'LIKERT_SCALE', text: 'l' });
    assert.deepEqual(store([{ numberValue: 4 }]), [{ questionId: question.id, optionId: question.options[3]?.id }]);
    for (const numberValue of [0, 6, 1.5, -1]) assert.ok(!check([{ numberValue }]).ok, String(numberValue));
  });

  it('accepts another text only if the author allows it', () => {
    const options = [{ text: 'a' }];
    assert.ok(!one({ type: 'DROPDOWN', text: 'd', options }).check([{ textValue: 'mine' }]).ok);
    const open = one({ type: 'DROPDOWN', text: 'd', options, settings: { allowOther: true } });
    assert.deepEqual(open.store([{ textValue: 'mine' }]), [{ questionId: open.question.id, textValue: 'mine' }]);
    for (const textValue of ['', '  ', 'x'.repeat(501)]) assert.ok(!open.check([{ textValue }]).ok);
    assert.ok(open.check([{ textValue: '😀'.repeat(500) }]).ok);
  });

  it('bounds numbers, requires whole ones if set, and stores −0 as 0', () => {
    const { store, check } = one({ type: 'NUMBER', text: 'n', settings: { min: -2, max: 3, integer: true } });
    assert.ok(Object.is(store([{ numberValue: -0 }])[0]?.numberValue, 0));
    assert.deepEqual(
      [-3, -2, 3, 4, 0.5].map((numberValue) => check([{ numberValue }]).ok),
      [false, true, true, false, false],
    );
  });

  it('counts the characters of a text by code points, and refuses line breaks in a single line', () => {
    const { check: take } = one({ type: 'SHORT_TEXT', text: 't', settings: { maxLength: 3 } });
    assert.deepEqual(
      ['😀😀😀', '😀😀😀😀', 'a\nb', 'a\rb', ''].map((textValue) => take([{ textValue }]).ok),
      [true, false, false, false, false],
    );
    assert.ok(one({ type: 'LONG_TEXT', text: 't' }).check([{ textValue: 'a\nb' }]).ok);
  });

  it('refuses a pattern that is too long, without parsing it', () => {
    const refused = ({ message }: Error) =>
      message.includes('must have at most 500 characters') && !message.includes('RE2');
    assert.throws(() => one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '('.repeat(501) } }), refused);
  });

  it('refuses a pattern that would be slow on every answer', () => {
    for (const pattern of ['((.?){30}){30}', '(?:\\pL?){1000}'])
      assert.throws(() => one({ type: 'LONG_TEXT', text: 't', settings: { pattern } }), /repeats too much/);
    assert.ok(
      one({ type: 'LONG_TEXT', text: 't', settings: { pattern: '.{1,500}' } }).check([{ textValue: 'x'.repeat(500) }])
        .ok,
    );
  });

  it('bounds days and times', () => {
    const day = one({ type: 'DATE', text: 'd', settings: { min: '2024-01-31', max: '2024-02-29' } });
    assert.deepEqual(
      ['2024-01-30', '2024-01-31', '2024-02-29', '2024-03-01'].map((textValue) => day.check([{ textValue }]).ok),
      [false, true, true, false],
    );
    const time = one({ type: 'TIME', text: 't', settings: { min: '08:00', max: '17:30' } });
    assert.deepEqual(
      ['07:59:59', '08:00', '08:00:00', '17:30:00', '17:30:01'].map((textValue) => time.check([{ textValue }]).ok),
      [false, true, true, true, false],
    );
    for (const min of ['2024-02-30', '0000-12-31'])
      assert.throws(() => one({ type: 'DATE', text: 'd', settings: { min } }), /settings.min/);
    assert.throws(
      () => one({ type: 'NUMBER', text: 'n', settings: { integer: true, min: 0.2, max: 0.8 } }),
      /settings.max/,
    );
    one({ type: 'NUMBER', text: 'n', settings: { integer: true, min: 0.2, max: 1 } });
  });

  it('refuses addresses that only look valid', () => {
    const { check: take } = one({ type: 'EMAIL', text: 'e' });
    for (const textValue of [
      'a@1.2.3.4',
      'a\u00a0b@c.de',
      'a\u202eb@c.de',
      'a\u3000@c.de',
      'a\u0085@c.de',
      'a\u200b@c.de',
      'a..b@c.de',
      '.a@c.de',
      'a@-c.de',
      'a@c-.de',
      'a@c.de.',
      'A <a@c.de>',
      `a@${'b'.repeat(64)}.de`,
      `a@${'b.'.repeat(130)}de`,
    ])
      assert.ok(!take([{ textValue }]).ok, JSON.stringify(textValue));
    for (const textValue of ['a+b@c.co.uk', 'a@xn--exmple-cua.org', '用户@例子.公司', "o'neil@c.de"])
      assert.ok(take([{ textValue }]).ok, textValue);
  });

  it('accepts a row of a grid once, and only visible rows and columns', () => {
    const grid = one({
      type: 'MATRIX',
      text: 'm',
      options: [{ text: 'x' }, { text: 'y' }],
      settings: { rows: [{ text: 'r' }, { text: 's' }] },
    });
    const [x = '', y = ''] = grid.question.options.map(({ id }) => id);
    const [r = '', s = ''] = grid.question.rows.map(({ id }) => id);
    assert.ok(
      grid.check([
        { rowId: r, optionId: x },
        { rowId: s, optionId: x },
      ]).ok,
    );
    const twice = grid.check([
      { rowId: r, optionId: x },
      { rowId: r, optionId: y },
      { rowId: 'nobody', optionId: 'nothing' },
    ]);
    assert.ok(!twice.ok);
    assert.deepEqual(
      twice.issues.map(({ path }) => path),
      ['answers.1.rowId', 'answers.2.rowId', 'answers.2.optionId'],
    );
  });
});
