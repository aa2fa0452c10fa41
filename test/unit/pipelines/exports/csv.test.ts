import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentDisposition, readRange } from '../../../../src/http/server/file-reply.ts';
import { csvText, safeText } from '../../../../src/pipelines/exports/csv.ts';

describe('CSV export', () => {
  it('leaves no text that a spreadsheet would run as a formula', () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠', "'=", "''@"])
      assert.equal(safeText(`${start}1+1`), `'${start}1+1`);
    for (const text of ['1+1', "it's", "'quoted'", '', ' =1']) assert.equal(safeText(text), text);
  });

  it('leaves none behind what another spreadsheet takes for the end of a cell, and what was submitted can be had back', () => {
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
    const given = (text: string) =>
      text.replace(/([;\t\r\n])'(["']*[=+\-@\0＝＋－＠])/g, '$1$2').replace(/^'('*[=+\-@\t\r\n\0＝＋－＠])/, '$1');
    for (const [text, safe] of pairs) {
      assert.equal(safeText(text), safe);
      assert.equal(given(safe), text);
    }
  });

  it('quotes what would end a cell or a line', () => {
    assert.equal(csvText('a "b", c'), '"a ""b"", c"');
    assert.equal(csvText('=1,2'), `"'=1,2"`);
    assert.equal(csvText('plain'), 'plain');
  });
});

describe('file replies', () => {
  it('reads one range of bytes and ignores what is none', () => {
    assert.deepEqual(readRange('bytes=0-0', 10), { first: 0, last: 0 });
    assert.deepEqual(readRange('bytes=5-', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=5-99', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=-3', 10), { first: 7, last: 9 });
    assert.deepEqual(readRange('bytes=-30', 10), { first: 0, last: 9 });
    for (const many of ['9'.repeat(20), '9'.repeat(400)]) {
      assert.deepEqual(readRange(`bytes=2-${many}`, 10), { first: 2, last: 9 });
      assert.deepEqual(readRange(`bytes=-${many}`, 10), { first: 0, last: 9 });
      assert.equal(readRange(`bytes=${many}-`, 10), 'unsatisfiable');
    }
    for (const header of [undefined, '', 'bytes=-', 'bytes=5-3', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b'])
      assert.equal(readRange(header, 10), 'whole');
    for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) assert.equal(readRange(header, 10), 'unsatisfiable');
    assert.equal(readRange('bytes=0-', 0), 'unsatisfiable');
  });

  it('names files in plain ASCII and in UTF-8, with nothing that ends the header', () => {
    assert.equal(
      contentDisposition('Ümfrage (1)*.csv'),
      `attachment; filename="Umfrage _1_.csv"; filename*=UTF-8''%C3%9Cmfrage%20%281%29%2A.csv`,
    );
    assert.match(contentDisposition('a"\r\nb.csv'), /^[\x20-\x7e]+$/);
  });
});
