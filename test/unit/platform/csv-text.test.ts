import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { csvText, delimitedText, safeText, unguardedText } from '../../../src/platform/csv-text.ts';

describe('CSV export', () => {
  it('leaves no text that a spreadsheet would run as a formula', () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠', "'=", "''@"])
      assert.equal(safeText(`${start}1+1`), `'${start}1+1`);
    for (const text of ['1+1', "it's", "'quoted'", '', ' =1']) assert.equal(safeText(text), text);
  });

  it('leaves no formula after characters that other spreadsheets read as the end of a cell, and can be reversed', () => {
    const pairs = [
      ["x;=cmd|' /C calc'!A0;y", "x;'=cmd|' /C calc'!A0;y"],
      ['a\n=1', "a\n'=1"],
      ['a\r\n+1', "a\r\n'+1"],
      ['a\t@x', "a\t'@x"],
      ['a;"=1"', `a;'"=1"`],
      ["a;'-1", "a;''-1"],
      [';;=1', ";;'=1"],
      ['\t=1', "'\t'=1"],
      ['fine ;-)', 'fine ;-)'],
      ["odd ;'-)", "odd ;''-)"],
      ['a; b', 'a; b'],
      ['a;b', 'a;b'],
    ] as const;
    for (const [text, safe] of pairs) {
      assert.equal(safeText(text), safe);
      assert.equal(unguardedText(safe), text);
    }
  });

  it('quotes characters that would end a cell or a line', () => {
    assert.equal(csvText('a "b", c'), '"a ""b"", c"');
    assert.equal(csvText('=1,2'), `"'=1,2"`);
    assert.equal(csvText('plain'), 'plain');
    assert.equal(delimitedText('a, b', '\t'), 'a, b');
    assert.equal(delimitedText('a\tb', '\t'), '"a\tb"');
  });
});
