import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeDictionary } from '../../../../../src/pipelines/exports/spss/dictionary.ts';

type Value = { value: number; label: string };

/** The labels of values in the dictionary of a file with one variable. */
function labelsInFile(values: readonly Value[]): string[] {
  const variable = {
    name: 'Q1',
    label: '',
    width: 0,
    format: { kind: 5, width: 8, decimals: 0 },
    measure: 'nominal',
    values,
    set: undefined,
    read: () => null,
  } as const;
  const bytes = encodeDictionary({ variables: [variable], title: '', createdAt: new Date(0), cases: 0 });
  const headerBytes = 176;
  const variableBytes = 32;
  let at = headerBytes + variableBytes;
  assert.deepEqual([bytes.readInt32LE(at), bytes.readInt32LE(at + 4)], [3, values.length]);
  at += 8;
  return values.map(({ value }) => {
    assert.equal(bytes.readDoubleLE(at), value);
    const length = bytes.readUInt8(at + 8);
    const label = bytes.toString('utf8', at + 9, at + 9 + length);
    at += 8 + Math.ceil((length + 1) / 8) * 8;
    return label;
  });
}

const valuesOf = (...labels: string[]): Value[] => labels.map((label, index) => ({ value: index + 1, label }));

describe('labels of values in an SPSS file', () => {
  it('stay as they are up to 120 bytes, and are cut in the middle above', () => {
    const text = 'Я полностью согласен с тем, что городской транспорт стал удобнее';
    const labels = labelsInFile(valuesOf('ж'.repeat(60), `${text} зимой`, `${text} летом`));
    assert.deepEqual(labels, [
      'ж'.repeat(60),
      'Я полностью согласен с тем, что …ой транспорт стал удобнее зимой',
      'Я полностью согласен с тем, что …ой транспорт стал удобнее летом',
    ]);
  });

  it('have the value in front where cut ones would be alike', () => {
    const [start, end] = ['a'.repeat(70), 'z'.repeat(70)];
    const labels = labelsInFile(valuesOf(`${start}1${end}`, `${start}2${end}`, `${start}1${end}`));
    assert.deepEqual(labels, [
      `${'a'.repeat(58)}…${'z'.repeat(58)}`,
      `2: ${'a'.repeat(55)}…${'z'.repeat(58)}`,
      `${'a'.repeat(58)}…${'z'.repeat(58)}`,
    ]);
  });

  it('differ where those of the author do, and are alike where those are', () => {
    const part = fc.constantFrom('a'.repeat(59), 'é'.repeat(40), '選'.repeat(20), '😀', '1: ', '2.1: ', '…', 'b');
    const label = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 12 }), (labels) => {
        const written = labelsInFile(valuesOf(...labels));
        for (const [index, one] of written.entries()) {
          assert.ok(Buffer.byteLength(one) <= 120, one);
          assert.ok(!one.includes('\ufffd'), one);
          for (const [next, other] of written.entries()) assert.equal(one === other, labels[index] === labels[next]);
        }
      }),
    );
  });
});
