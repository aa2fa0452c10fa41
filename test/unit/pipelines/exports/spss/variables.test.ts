import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../../../src/pipelines/exports/columns.ts';
import { metadataNumber, variablesOf } from '../../../../../src/pipelines/exports/spss/variables.ts';

describe('the numbers of the metadata in an SPSS file', () => {
  it('may have an exponent as programs write it, as weights of a crosstab may', () => {
    for (const [text, number] of [
      ['1.5e-7', 1.5e-7],
      ['9.87654321098765e-07', 9.87654321098765e-7],
      ['1e+21', 1e21],
      ['-2.5E+05', -250_000],
      ['0.25\r', 0.25],
    ] as const)
      assert.equal(metadataNumber(text), number, text);
  });

  it('are no codes, which would lose their form', () => {
    for (const text of ['007', '2E5', '1e5', 'e+5', '1e+', '+1', '01e+5', '1e+400', '1234567890123456', 'x', ''])
      assert.equal(metadataNumber(text), null, text);
  });
});

it('the names of metadata in an SPSS file differ in more than their case', () => {
  const survey = { isAnonymous: false, questions: [] };
  const metadataKeys = ['STRASSE', 'straße', 'Straße', 'straẞe'];
  const names = variablesOf(layoutOf(survey, { labels: 'text', metadataKeys }))
    .map(({ name }) => name)
    .filter((name) => name.startsWith('M_'));
  assert.deepEqual(names, ['M_STRASSE', 'M_straße_2', 'M_Straße_3', 'M_straẞe_4']);
});
