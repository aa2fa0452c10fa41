import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import PDFDocument from 'pdfkit';
import { createTypesetter } from '../../../../src/pipelines/exports/pdf/text.ts';

const width = 120;
const linesOf = (text: string) => {
  const doc = new PDFDocument();
  const { lines } = createTypesetter(doc, 'ja').set(text, width, { size: 10 });
  return lines.map((line) => ({ text: line.runs.map((run) => run.text).join(''), width: line.width }));
};

describe('a text that is broken into lines', () => {
  for (const [name, text] of [
    ['half-width kana', 'ﾃﾞｰﾀのｶﾞｲﾄﾞについてのｱﾝｹｰﾄです。ﾊﾟﾝとﾋﾞｰﾙはどうでしたか？'],
    ['decomposed kana', 'ガイドブックとデパートについてのアンケートです。'.normalize('NFD').repeat(3)],
    ['variants of characters', '葛\u{e0100}飾区と葛\u{e0101}城市の住民に辻\u{e0100}さんが聞きました。'.repeat(2)],
    ['marks of their own', 'of \u0301 this and \u3099 that, and of all the others too'],
    ['words among kanji', 'この API のテストは OK、PDF も大丈夫です（たぶん）。'],
  ] as const)
    it(`has each character once, within the width: ${name}`, () => {
      const lines = linesOf(text);
      assert.ok(lines.length > 1);
      const compact = (shown: string) => shown.replaceAll(' ', '');
      assert.equal(compact(lines.map((line) => line.text).join('')), compact(text));
      for (const line of lines) assert.ok(line.width <= width, `${line.text} is ${line.width} wide`);
    });

  it('has no closing mark at the beginning of a line', () => {
    const lines = linesOf('とてもデーターーです。」それ、'.repeat(8));
    assert.ok(lines.length > 5);
    for (const { text } of lines) assert.doesNotMatch(text, /^[。」、ー]/);
  });
});

describe('an Arabic text', () => {
  const doc = new PDFDocument();
  const typesetter = createTypesetter(doc, 'ar');
  const drawnWidth = (text: string) => {
    const block = typesetter.set(text, width, { size: 10 });
    typesetter.draw(block, 0, 0, { width });
    return block.lines.map((line) => line.width);
  };

  it('is drawn with marks for which the font has no place on their letters', () => {
    for (const [text, plain] of [
      ['رَيْبَۛ', 'ريب'],
      ['مِنۖ', 'من'],
      ['سُبْحَـٰنَهُۥۖ', 'سبحـنهۥ'],
      ['ب\u08d4', 'ب'],
      ['د\u0615', 'د'],
    ] as const)
      assert.deepEqual(drawnWidth(text), drawnWidth(plain), text);
  });

  it('is drawn with letters whose dots the font has no place for', () => {
    for (const letter of ['ڢ', 'ڣ', 'ڥ', 'ݠ', 'ݡ'])
      for (const text of [letter, `ا${letter}`, `ب${letter}ب`]) assert.ok((drawnWidth(text)[0] ?? 0) > 0, text);
  });
});
