import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTime } from '../../../../src/stores/postgres/value-types.ts';

const times: Readonly<Record<string, string>> = {
  '2030-06-05': '2030-06-05T00:00:00.000Z',
  '2030-06-05 10:11:12': '2030-06-05T10:11:12.000Z',
  '2030-06-05 10:11:12+00': '2030-06-05T10:11:12.000Z',
  '2030-06-05 10:11:12.1+00': '2030-06-05T10:11:12.100Z',
  '2030-06-05 10:11:12.123999+00': '2030-06-05T10:11:12.123Z',
  '2030-06-05 10:11:12-03:30': '2030-06-05T13:41:12.000Z',
  '1850-01-01 00:53:28+00:53:28': '1850-01-01T00:00:00.000Z',
  '0099-06-05 00:00:00+00': '0099-06-05T00:00:00.000Z',
  '0005-06-05 00:00:00+00': '0005-06-05T00:00:00.000Z',
  '0001-12-31 23:00:00-01 BC': '0001-01-01T00:00:00.000Z',
  '0005-02-29 00:00:00+00 BC': '-000004-02-29T00:00:00.000Z',
  '10000-02-29 00:00:00+00': '+010000-02-29T00:00:00.000Z',
};

describe('a time of PostgreSQL', () => {
  for (const [text, expected] of Object.entries(times))
    it(`${text} is ${expected}`, () => assert.equal(parseTime(text).toISOString(), expected));

  it('is refused where its parts would have to be guessed, or no Date holds it', () => {
    for (const text of [
      '05/06/2030 10:11:12 UTC',
      'Wed Jun 05 10:11:12 2030 UTC',
      '99-06-05',
      'infinity',
      '-infinity',
      '',
    ])
      assert.throws(() => parseTime(text), /cannot be read/, text);
  });
});
