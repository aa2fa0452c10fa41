import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxInvitations } from '../../../src/domain/collectors/invitation.ts';
import { Problem } from '../../../src/errors.ts';
import { readInvitationRows } from '../../../src/http/invitation-rows.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const [json, csv] = ['application/x-ndjson', 'text/csv; charset=utf-8'];

/** The body in pieces of `size` bytes, so that rows and characters are cut. */
async function* inPieces(body: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(body as string);
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

const read = (body: string | Buffer, type: string | undefined = json, size = 7) =>
  readInvitationRows(inPieces(body, size), type, nowMs);
/** The paths and messages of the issues. */
const issuesOf = async (body: string | Buffer, type: string = json, size = 7): Promise<unknown> =>
  read(body, type, size).then(
    (rows) => rows.length,
    (error: unknown) => {
      assert.ok(error instanceof Problem, String(error));
      return error.code === 'VALIDATION_ERROR'
        ? (error.details as { path: string; message: string }[]).map(({ path, message }) => `${path}: ${message}`)
        : error.code;
    },
  );

describe('rows of invitations', () => {
  it('are read from JSON lines and from CSV, in any pieces', async () => {
    const expected = [
      { reference: 'Zoë 🙂', language: 'zh-Hans', expiresAt: null, metadata: {} },
      { reference: '', language: null, expiresAt: null, metadata: {} },
      {
        reference: '=HYPERLINK("x")',
        language: null,
        expiresAt: new Date('2026-07-01T00:00:00Z'),
        metadata: { team: 'a, "b"\nc', 'last name': 'Ö' },
      },
    ];
    const lines = [
      '\ufeff{"reference":"Zoë 🙂","language":"ZH-hans"}\r\n',
      '\n',
      '{"reference":null,"metadata":{}}\n',
      '{"reference":"=HYPERLINK(\\"x\\")","expiresAt":"2026-07-01T02:00:00+02:00","metadata":{"team":"a, \\"b\\"\\nc","last name":"Ö"}}',
    ].join('');
    const table = [
      '\ufeffreference,metadata.team,metadata.last name,language,expiresAt\r\n',
      'Zoë 🙂,,,ZH-hans,\r\n',
      ',,,,\r\n',
      '"=HYPERLINK(""x"")","a, ""b""\nc",Ö,,2026-07-01T02:00:00+02:00',
    ].join('');
    for (const size of [1, 2, 3, 5, 64, 10_000]) {
      assert.deepEqual(await read(lines, json, size), expected, `JSON in pieces of ${size}`);
      assert.deepEqual(await read(table, csv, size), expected, `CSV in pieces of ${size}`);
    }
  });

  it('are read from CSV with semicolons or tabs where its first line has no comma', async () => {
    const cells = [
      ['reference', 'language', 'metadata.team'],
      ['anna', 'de', '"red, blue"'],
      ['bert', '', 'a'],
    ];
    const rows = [
      { reference: 'anna', language: 'de', expiresAt: null, metadata: { team: 'red, blue' } },
      { reference: 'bert', language: null, expiresAt: null, metadata: { team: 'a' } },
    ];
    for (const separator of [',', ';', '\t'])
      for (const size of [1, 7, 10_000]) {
        const table = `\ufeff\r\n${cells.map((row) => row.join(separator)).join('\r\n')}`;
        assert.deepEqual(await read(table, csv, size), rows, `“${separator}” in pieces of ${size}`);
      }
    assert.equal((await read('reference\na;b', csv))[0]?.reference, 'a;b');
  });

  it('are refused in one sentence, with what is wrong in the details alone', async () => {
    for (const [body, type] of [
      ['reference|language\na|de', csv],
      ['reference\n"a', csv],
      ['{', json],
      ['', json],
    ] as const)
      await assert.rejects(read(body, type), { message: 'The file has errors, so no invitation was made' });
  });

  it('are refused by line, all that is wrong at once', async () => {
    const row = (value: unknown) => `${JSON.stringify(value)}\n`;
    assert.deepEqual(
      await issuesOf(
        row({ reference: 'a' }) +
          row({ reference: 'a', extra: 1 }) +
          row({ reference: 7, language: 'no language', expiresAt: '2026-05-01T00:00:00Z' }) +
          row({ expiresAt: 'tomorrow', metadata: { k: 1, '': 'x' } }) +
          row({ metadata: [], expiresAt: '9999-12-31T23:59:59-12:00' }) +
          row([]) +
          row('text') +
          row({ reference: 'x\u0000y', metadata: { 'k\ud800': 'x' } }),
      ),
      [
        'lines.2.extra: this field is not known',
        'lines.2.reference: is that of line 1',
        'lines.3.reference: must be a text of at most 200 characters, without NUL and lone surrogates',
        'lines.3.language: must be a language tag such as en or zh-Hans',
        'lines.3.expiresAt: must lie in the future',
        'lines.4.expiresAt: must be an ISO 8601 time with its zone',
        'lines.4.metadata.k: must be a text of at most 1000 characters, without NUL and lone surrogates',
        'lines.4.metadata: a key must have 1 to 100 characters, without NUL and lone surrogates',
        'lines.5.expiresAt: must lie in the years 1 to 9999',
        'lines.5.metadata: must be an object of texts',
        'lines.6: must be an object',
        'lines.7: must be an object',
        'lines.8.reference: must be a text of at most 200 characters, without NUL and lone surrogates',
        'lines.8.metadata: a key must have 1 to 100 characters, without NUL and lone surrogates',
      ],
    );
    const many = Array.from({ length: 50 }, () => row({ extra: 1 })).join('');
    assert.equal(((await issuesOf(many)) as string[]).length, 20);
  });

  it('are refused where the file is none', async () => {
    const cases: [string | Buffer, string, unknown][] = [
      ['', json, [': the body has no rows']],
      ['\n \n', json, [': the body has no rows']],
      ['reference\n', csv, [': the body has no rows']],
      ['{"reference":\n{"reference":"a"}\n}', json, ['lines.1: is not valid JSON', 'lines.3: is not valid JSON']],
      ['[{"reference":"a"}]', json, ['lines.1: must be an object']],
      [Buffer.from([0x7b, 0xff, 0x7d]), json, [': the body is not valid UTF-8']],
      [Buffer.from('{"reference":"é"}').subarray(0, 15), json, [': the body is not valid UTF-8']],
      [
        'reference,nickname\na,b',
        csv,
        [
          'lines.1: has the unknown column "nickname": columns are reference, language, expiresAt and metadata.KEY, separated by commas, semicolons or tabs',
        ],
      ],
      ['reference,reference\na,b', csv, ['lines.1: has a column twice']],
      ['reference,language\na\nb,,', csv, ['lines.2: has 1 cells instead of 2', 'lines.3: has 3 cells instead of 2']],
      ['reference\n"a', csv, ['lines.2: is not valid CSV']],
      ['{}', 'application/json', 'UNSUPPORTED_MEDIA_TYPE'],
      ['{}', '', 'UNSUPPORTED_MEDIA_TYPE'],
    ];
    for (const [body, type, expected] of cases)
      assert.deepEqual(await issuesOf(body, type), expected, body.toString('utf8').slice(0, 60));
  });

  it('are bounded in length and number', async () => {
    const long = 'x'.repeat(70_000);
    const tooLong = 'is longer than 65536 characters';
    assert.deepEqual(await issuesOf(`{}\n{"reference":"${long}"}\n`, json, 1000), [`lines.2: ${tooLong}`]);
    assert.deepEqual(await issuesOf(`{}\n${'x'.repeat(10_000_000)}`, json, 100_000), [`lines.2: ${tooLong}`]);
    assert.deepEqual(await issuesOf(`reference\n"${'x'.repeat(10_000_000)}`, csv, 100_000), [`lines.2: ${tooLong}`]);
    assert.equal(await issuesOf('{}\n'.repeat(maxInvitations), json, 65_536), maxInvitations);
    assert.deepEqual(await issuesOf('{}\n'.repeat(maxInvitations + 1), json, 65_536), [
      `lines.${maxInvitations + 1}: at most ${maxInvitations} rows are taken at once`,
    ]);
  });

  it('end with the body that breaks off', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('reference\na\n');
      throw new Problem('VALIDATION_ERROR', 'The body was broken off');
    }
    for (const type of [json, csv])
      await assert.rejects(readInvitationRows(broken(), type, nowMs), { code: 'VALIDATION_ERROR' });
  });
});
