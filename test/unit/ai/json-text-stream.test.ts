import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { streamJsonText } from '../../../src/ai/json-text-stream.ts';
import { parseReplyText } from '../../../src/ai/tasks/parse-reply.ts';

const anew = Symbol('the reply begins anew');

/** The events of a reply that arrives in these pieces. */
function toldOf(pieces: readonly (string | typeof anew)[]): (string | typeof anew)[] {
  const told: (string | typeof anew)[] = [];
  const reader = streamJsonText('message', {
    onText: (words) => void told.push(words),
    onRestart: () => void told.push(anew),
  });
  for (const piece of pieces) piece === anew ? reader.onRestart() : reader.onText(piece);
  return told;
}

const units = (text: string): string[] => text.split('');

describe('a text that is streamed from a JSON reply', () => {
  it('is passed on with each piece, without the JSON around it', () => {
    assert.deepEqual(toldOf(['{"mess', 'age": "Hel', 'lo, th', 'ere', '","title":"Lunch"', ',"questions":[]}']), [
      'Hel',
      'lo, th',
      'ere',
    ]);
    assert.deepEqual(toldOf(['{"message":"Hello","title":"Lunch"}']), ['Hello']);
  });

  it('is found wherever its field stands, and in no other field', () => {
    const reply = {
      title: 'message',
      questions: [{ message: 'no', rows: ['message', { message: ['no'] }], min: 1.5e3, isRequired: false }],
      description: null,
      messages: 'no',
      mess: 'no',
      message: 'Yes',
      more: '"message":"no"',
    };
    assert.deepEqual(toldOf(units(JSON.stringify(reply))).join(''), 'Yes');
    assert.deepEqual(toldOf(units(JSON.stringify(reply, null, '\t'))).join(''), 'Yes');
    assert.deepEqual(toldOf(units(`Here you are:\n\`\`\`json\n${JSON.stringify(reply)}\n\`\`\``)).join(''), 'Yes');
    assert.deepEqual(toldOf(units('{"m\\u0065ssage":"Yes"}')).join(''), 'Yes');
  });

  it('consists of whole characters, however they were escaped and cut', () => {
    assert.deepEqual(
      toldOf(units('{"message":"\\"a\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00😀z"}')).join(''),
      '"a\\/\b\f\n\r\té😀😀z',
    );
    assert.deepEqual(toldOf(['{"message":"\ud83d', '\ude00"}']), ['😀']);
    assert.deepEqual(toldOf(['{"message":"a\\ud83', 'd\\u', 'de00', 'b"}']), ['a', '😀', 'b']);
    assert.deepEqual(toldOf(units('{"message":"a\\ud83db\\u0000c"}')).join(''), 'a\ufffdbc');
  });

  it('is trimmed as the complete text is', () => {
    assert.deepEqual(toldOf(['{"message":" \\n', ' One', ' ', '\\n', 'two ', ' "}']), ['One', ' \ntwo']);
    assert.deepEqual(toldOf(['{"message":"  "}']), []);
  });

  it('is withdrawn when the reply begins again', () => {
    assert.deepEqual(toldOf(['{"message":"On', anew, '{"message":"Two"}']), ['On', anew, 'Two']);
  });

  it('is empty where the reply is no JSON, or has no such field', () => {
    for (const text of [
      '',
      'I would love to help!',
      '"message"',
      '["message","no"]',
      '{"message":5}',
      '{"message":null,"title":"no"}',
      '{"message":["no"]}',
      '{"message":{"message":"no"}}',
      '}}]{"a":1',
    ])
      assert.deepEqual(toldOf(units(text)), [], text);
  });

  it('is in total the text of the whole reply, wherever it is cut', () => {
    const said = fc
      .string({
        unit: fc.constantFrom(
          '"',
          '\\',
          ' ',
          '\n',
          '\0',
          '{',
          '}',
          ':',
          ',',
          '\ud83d',
          '😀',
          'é',
          'u0041',
          '\u2028',
          '\ufeff',
        ),
      })
      .map((text) => `${text}.`);
    const escaped = (json: string): string =>
      json.replace(/[^\x20-\x7e]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const form = fc.constantFrom((text: string) => text, escaped);
    fc.assert(
      fc.property(
        said,
        fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
        form,
        fc.array(fc.nat(200), { maxLength: 20 }),
        (message, rest, write, cuts) => {
          const reply = write(JSON.stringify({ ...rest, message }));
          const at = [...new Set(cuts.map((cut) => Math.min(cut, reply.length)))].sort((a, b) => a - b);
          const pieces = [...at, reply.length].map((end, index) => reply.slice(index === 0 ? 0 : at[index - 1], end));
          const whole = parseReplyText(reply, { read: (value) => ({ value }) });
          assert.ok('value' in whole);
          assert.equal(toldOf(pieces).join(''), (whole.value as { message: string }).message.trim());
        },
      ),
      { numRuns: 300 },
    );
  });
});
