import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  codePositionsOf,
  decodeResponse,
  encodeResponse,
  encodeTombstone,
  fieldIndex,
  idsOfLine,
  responseColumns,
  surveyIdOfLine,
} from '../../../src/domain/response-row.ts';
import { assetPath } from '../../../src/platform/assets.ts';
import { newId } from '../../../src/platform/ids.ts';

const head = {
  surveyId: newId(),
  responseId: newId(),
  submittedAtMs: 1,
  version: 1,
  surveyVersion: 1,
  outcome: 'COMPLETED' as const,
  completedAtMs: 1,
  durationMs: -1,
  language: 'en',
  respondent: 'a, "b", [c',
  metadata: { 'k,[{': 'v],"' },
};

describe('response row', () => {
  it('has the columns of the responses table, in the same order and with the same types', () => {
    const schema = readFileSync(assetPath('src/stores/clickhouse/schema/001_responses.sql'), 'utf8');
    const table = schema.slice(schema.indexOf('\n(\n'), schema.indexOf('{{code_columns}}'));
    const found = [...table.matchAll(/^ {4}(\w+) (.+?)(?: CODEC\(.+\))?,$/gm)].map(([, name, sqlType]) => ({
      name,
      sqlType,
    }));
    assert.deepEqual(
      found,
      responseColumns.map(({ name, sqlType }) => ({ name, sqlType })),
    );
  });

  it('says when an open response was saved, and when a complete one was completed', () => {
    const row = { codes: [1], numbers: [], texts: [] };
    const open = { ...head, outcome: 'PARTIAL' as const, completedAtMs: 0 };
    for (const one of [head, open, { ...open, savedAtMs: 5 }])
      assert.deepEqual(decodeResponse(encodeResponse(one, row)).head, one);
    // What the intake makes of an open response that finds its quota full.
    const ended = encodeResponse({ ...open, savedAtMs: 5 }, row).replace(',0,1,0,5,', ',0,1,3,5,');
    assert.deepEqual(decodeResponse(ended).head, { ...head, outcome: 'OVER_QUOTA', completedAtMs: 5 });
  });

  it('begins with the ids and the time that the append script and readers of undecodable lines expect', () => {
    const { surveyId, responseId, submittedAtMs } = head;
    assert.deepEqual([fieldIndex.surveyId, fieldIndex.responseId, fieldIndex.submittedAtMs], [0, 1, 2]);
    const script = readFileSync(assetPath('src/stores/redis/intake/append.lua'), 'utf8');
    const pattern = /string\.match\(item\.row, '(.+)'\)/.exec(script)?.[1] ?? '';
    // Lua escapes with % instead of a backslash.
    const lines = [
      encodeResponse(head, { codes: [], numbers: [], texts: [] }),
      encodeTombstone(surveyId, responseId, 1),
    ];
    for (const line of lines) {
      assert.equal(new RegExp(pattern.replaceAll('%', '\\')).exec(line)?.[1], String(submittedAtMs));
      assert.deepEqual(idsOfLine(line), { surveyId, responseId });
      assert.equal(surveyIdOfLine(line), surveyId);
    }
  });

  it('decodes to what was encoded', () => {
    const row = { codes: [1, 0, 3], numbers: [0.5], texts: ['a "b"', ''] };
    assert.deepEqual(decodeResponse(encodeResponse(head, row)), { head, row, isDeleted: false });
    const tombstone = `["${head.surveyId}","${head.responseId}",1,4294967295,1,0,0,0,-1,"","",{},[],[]]`;
    assert.equal(encodeTombstone(head.surveyId, head.responseId, 1), tombstone);
    assert.equal(decodeResponse(tombstone).isDeleted, true);
  });

  it('has as many code positions as codes, whatever commas and brackets its texts contain', () => {
    const row = (codes: number[]) =>
      encodeResponse(head, { codes, numbers: [1, 2.5, 3], texts: ['x,y,"],[', '\\', ',,,,'] });
    assert.deepEqual(
      [[], [1], [1, 0, 7], [0, 0]].map((codes) => codePositionsOf(row(codes))),
      [0, 1, 3, 0],
    );
    assert.equal(codePositionsOf(encodeTombstone(newId(), newId(), 1)), 0);
  });

  it('encodes every code except trailing zeros, in rows of any length', () => {
    const codes = [0, 9, 10, 99, 100, 65_535, 4_294_967_295, Number.MAX_SAFE_INTEGER, 0, 1, 0, 0];
    const encoded = (given: number[]) => encodeResponse(head, { codes: given, numbers: [], texts: [] });
    assert.ok(encoded(codes).endsWith(`[],[],${codes.slice(0, -2).join(',')}]`));
    const many = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 70_000 || 1);
    for (const count of [0, 1, 240, 241, 5000])
      assert.deepEqual(decodeResponse(encoded(many.slice(0, count))).row.codes, many.slice(0, count));
  });

  it('shows its number of code positions even if it does not decode; other text has none', () => {
    assert.equal(codePositionsOf(`["${newId()}","${newId()}","not a time",1,0,1,1,0,-1,"en","",{},[],[],5,6]`), 2);
    for (const line of [
      '',
      'null',
      ','.repeat(5000),
      `["${','.repeat(5000)}`,
      '["unfinished',
      `["a",{${'1,'.repeat(5000)}`,
    ])
      assert.equal(codePositionsOf(line), 0, line.slice(0, 20));
  });
});
