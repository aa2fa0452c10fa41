import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../../../../src/errors.ts';
import { createBodyBudget } from '../../../../src/http/server/body-pieces.ts';
import {
  assertExactNumbers,
  assertJsonType,
  parseJson,
  receiveBody,
} from '../../../../src/http/server/request-body.ts';
import { fakeResponse } from '../../../support/fake-response.ts';

const refusal =
  (code: string, pattern = /./) =>
  (error: unknown) =>
    error instanceof Problem && error.code === code && pattern.test(error.message);
const parse = (text: string | Buffer) => parseJson(Buffer.from(text));
const never = () => undefined;
const client = { budget: createBodyBudget(), address: '192.0.2.1' };

describe('an incoming body', () => {
  it('is assembled from copies of its chunks', async () => {
    const connection = fakeResponse();
    const body = receiveBody(connection.response, {
      limitBytes: 100,
      declaredBytes: undefined,
      onAbort: never,
      ...client,
    });
    connection.receive('{"a":', false);
    connection.receive('', false);
    connection.receive('"ü"}', true);
    assert.equal((await body.whole()).toString(), '{"a":"ü"}');
  });

  it('can be awaited before it has arrived, and may be empty', async () => {
    const connection = fakeResponse();
    const whole = receiveBody(connection.response, {
      limitBytes: 100,
      declaredBytes: undefined,
      onAbort: never,
      ...client,
    }).whole();
    connection.receive('', true);
    assert.equal((await whole).length, 0);
  });

  it('is accepted up to its limit and refused one byte past it', async () => {
    const [exact, over] = [fakeResponse(), fakeResponse()];
    const [taken, refused] = [
      receiveBody(exact.response, { limitBytes: 8, declaredBytes: 8, onAbort: never, ...client }),
      receiveBody(over.response, { limitBytes: 8, declaredBytes: undefined, onAbort: never, ...client }),
    ];
    exact.receive('12345678', true);
    over.receive('12345678', false);
    over.receive('9', true);
    assert.equal((await taken.whole()).length, 8);
    await assert.rejects(refused.whole(), refusal('PAYLOAD_TOO_LARGE', /8 bytes/));
  });

  it('is refused by its Content-Length, before any chunk has arrived', async () => {
    await assert.rejects(
      receiveBody(fakeResponse().response, { limitBytes: 8, declaredBytes: 9, onAbort: never, ...client }).whole(),
      refusal('PAYLOAD_TOO_LARGE'),
    );
  });

  it('is rejected when the client breaks off', async () => {
    const connection = fakeResponse();
    let leave: () => void = never;
    const body = receiveBody(connection.response, {
      limitBytes: 100,
      declaredBytes: 50,
      onAbort: (listener) => {
        leave = listener;
      },
      ...client,
    });
    connection.receive('{"a":', false);
    leave();
    await assert.rejects(body.whole(), refusal('VALIDATION_ERROR', /broken off/));
  });
});

describe('a media type', () => {
  it('may be any spelling of JSON in UTF-8', () => {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
      assert.doesNotThrow(() => assertJsonType(type, undefined), type);
    assert.doesNotThrow(() => assertJsonType('application/json', 'identity'));
  });

  it('is refused if it is missing, another, in another charset, or compressed', () => {
    for (const type of [
      undefined,
      '',
      'text/plain',
      'application/jsonp',
      'application/json; charset=latin1',
      'multipart/form-data',
    ])
      assert.throws(() => assertJsonType(type, undefined), refusal('UNSUPPORTED_MEDIA_TYPE'), String(type));
    assert.throws(() => assertJsonType('application/json', 'gzip'), refusal('UNSUPPORTED_MEDIA_TYPE'));
  });
});

describe('JSON', () => {
  it('is parsed, with the last of duplicate keys', () => {
    assert.deepEqual(parse('{"a":1,"b":[true,null,"\\u00e9\\ud83d\\ude00"],"a":2}'), { a: 2, b: [true, null, 'é😀'] });
    assert.equal(parse('"text"'), 'text');
  });

  it('is refused if it is not JSON', () => {
    for (const text of ['', '{', '{"a":1}x', "{'a':1}", '[1,]', 'undefined', 'NaN', '\ufeff{}'])
      assert.throws(() => parse(text), refusal('VALIDATION_ERROR', /not valid JSON/), JSON.stringify(text));
  });

  it('is refused if its bytes are not UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ])
      assert.throws(() => parse(Buffer.from(bytes)), refusal('VALIDATION_ERROR', /UTF-8/));
  });

  it('is refused by path if a text or key has a lone surrogate or a NUL', () => {
    const pathOf = (text: string) => {
      try {
        parse(text);
      } catch (error) {
        return error instanceof Problem && Array.isArray(error.details) ? error.details[0]?.path : undefined;
      }
      return 'taken';
    };
    assert.equal(pathOf('{"a":["x","\\ud800"]}'), 'a.1');
    assert.equal(pathOf('{"a":{"b":"\\u0000"}}'), 'a.b');
    assert.equal(pathOf('{"a":{"\\udc00":1}}'), 'a');
    assert.equal(pathOf('{"a":"\\\\u0000"}'), 'taken');
  });

  it('is accepted up to sixteen levels of nesting, not counting brackets in texts', () => {
    const nested = (depth: number) => '['.repeat(depth) + JSON.stringify('x'.repeat(64)) + ']'.repeat(depth);
    assert.doesNotThrow(() => parse(nested(16)));
    assert.throws(() => parse(nested(17)), refusal('VALIDATION_ERROR', /nested/));
    assert.doesNotThrow(() => parse(JSON.stringify(`${'['.repeat(100)}"${'{'.repeat(100)}`)));
    assert.throws(() => parse('['.repeat(200_000)), refusal('VALIDATION_ERROR', /nested/));
  });

  it('is refused for numbers that cannot be represented exactly', () => {
    const assertExact = (text: string) => assertExactNumbers(parse(text), Buffer.from(text));
    for (const value of [0, -0, 1.5, 2 ** 53 - 1, -(2 ** 53 - 1), 0.1, 1e-300])
      assert.doesNotThrow(() => assertExact(JSON.stringify({ a: [value] })), String(value));
    for (const text of [
      '"9007199254740992"',
      '"\\"1e400"',
      '[true, 1.0e3, -1E-3, 0.00000000000000000001]',
      '{"1e400": 1}',
    ])
      assert.doesNotThrow(() => assertExact(text), text);
    for (const text of ['1e400', '-1e400', '9007199254740992', '-9007199254740993', '1e300']) {
      assert.throws(
        () => assertExact(`{"a":{"b":[${text}]}}`),
        (error: unknown) => error instanceof Problem && JSON.stringify(error.details).includes('"a.b.0"'),
        text,
      );
    }
  });
});
