import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readOptions } from '../../../src/replay/options.ts';
import { createProgressPrinter, textTable } from '../../../src/replay/report.ts';

const defaults = { email: 'admin@localhost', password: 'from the settings' };
const read = (...args: string[]) => readOptions(args, defaults);

describe('the arguments of a replay', () => {
  it('take the order of day and month', () => {
    assert.equal(read('a.csv', '--day-order', 'MDY')?.dayOrder, 'MDY');
    assert.throws(() => read('a.csv', '--day-order', 'YMD'), /--day-order must be “DMY” or “MDY”/);
  });

  it('take a separator and a decimal mark', () => {
    assert.equal(read('a.csv', '--separator', 'tab')?.separator, '\t');
    assert.equal(read('a.csv', '--decimal', ',')?.decimal, ',');
    assert.equal(read('a.xlsx', '--sheet', 'Answers')?.sheet, 'Answers');
    assert.throws(() => read('a.csv', '--separator', ':'), /--separator must be “,” or “;” or tab/);
  });

  it('require only a file', () => {
    assert.deepEqual(read('a.csv'), {
      file: 'a.csv',
      origin: 'http://127.0.0.1:3000',
      credentials: { email: 'admin@localhost', password: 'from the settings' },
      title: undefined,
      surveyId: undefined,
      mapping: undefined,
      crosstab: undefined,
      separator: undefined,
      sheet: undefined,
      decimal: undefined,
      dayOrder: undefined,
      concurrency: 32,
      isVerifying: true,
      isDetectingOnly: false,
    });
    assert.equal(read('--help'), undefined);
  });

  it('name who signs in, unless the file is only looked at', () => {
    const withoutPassword = (...args: string[]) => readOptions(args, { email: undefined, password: undefined });
    assert.throws(() => withoutPassword('a.csv'), /Set ADMIN_PASSWORD, or give --password or --token/);
    assert.deepEqual(withoutPassword('a.csv', '--token', 'sk_1')?.credentials, { token: 'sk_1' });
    assert.equal(withoutPassword('a.csv', '--detect')?.isDetectingOnly, true);
  });

  it('may follow or precede the file', () => {
    const args = [
      '--url',
      'https://example.org/api/v1/',
      '--token',
      'sk_1',
      '--crosstab',
      'Age',
      'Town',
      '--concurrency',
      '8',
      '--no-verify',
      '--survey',
      'id',
    ];
    for (const options of [read('a.csv', ...args), read(...args, 'a.csv')]) {
      assert.deepEqual(
        [options?.file, options?.crosstab, options?.origin],
        ['a.csv', ['Age', 'Town'], 'https://example.org'],
      );
      assert.deepEqual(options?.credentials, { token: 'sk_1' });
      assert.deepEqual([options?.concurrency, options?.isVerifying, options?.surveyId], [8, false, 'id']);
    }
    assert.deepEqual(read('a.csv', '--email', 'b@example.org', '--password', 'own')?.credentials, {
      email: 'b@example.org',
      password: 'own',
    });
  });

  it('are refused if they are invalid', () => {
    assert.throws(() => read(), /Name a file/);
    assert.throws(() => read('a.csv', 'b.csv'), /“b.csv”/);
    assert.throws(() => read('a.csv', '--crosstab', 'Age'), /two questions/);
    assert.throws(() => read('a.csv', '--url', 'localhost:3000'), /http/);
    for (const text of ['0', '1.5', 'many', '1001'])
      assert.throws(() => read('a.csv', '--concurrency', text), /--concurrency/);
    assert.throws(() => read('a.csv', '--colour', 'red'));
  });
});

describe('output of a replay', () => {
  it('aligns figures and cuts long texts', () => {
    assert.deepEqual(
      textTable([
        ['', 'yes', 'no'],
        ['a', '10', '2'],
        ['b'.repeat(90), '3', '100'],
      ]),
      [`${' '.repeat(82)}  yes   no`, `  a${' '.repeat(79)}   10    2`, `  ${'b'.repeat(79)}…    3  100`],
    );
  });

  it('prints progress in tenths, and each pause once', () => {
    const lines: string[] = [];
    const progress = createProgressPrinter({ write: (text) => lines.push(text) });
    for (let done = 1; done <= 95; done += 1) progress.count(done, 95);
    assert.deepEqual(
      lines,
      [10, 20, 30, 40, 50, 60, 70, 80, 90, 95].map((done) => `${done} of 95 rows\n`),
    );
    progress.pause(30, '429');
    progress.pause(30, '429');
    assert.deepEqual(lines.slice(10), ['waiting 30 s: 429\n']);
  });
});
