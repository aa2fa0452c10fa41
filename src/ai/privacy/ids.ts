import { isTimeStamp } from './numbers/clock-times.ts';
import { type Finder, patternFinder } from './spans.ts';
import { asLatin } from './text/lookalikes.ts';

const edge = '(?<![A-Za-z0-9])';
const end = '(?![A-Za-z0-9])';
const alone = '(?<!\\d[ .\\-/()_+:]{1,3})';
const ends = '(?![ .\\-/()_+:]{1,3}\\d)';
const pattern = (forms: readonly string[], flags: string): RegExp =>
  new RegExp(`${edge}(?:${forms.join('|')})${end}`, flags);

const hex = '[0-9a-f]';
/** Of devices, sessions and purses: before account numbers, which random letters and digits can hold. */
const findRandomIds = patternFinder(
  'ID',
  pattern(
    [
      `${hex}{8}(?:-${hex}{4}){3}-${hex}{12}`,
      `(?<!${hex}[:-])${hex}{1,2}(?:([:-])${hex}{1,2})(?:\\1${hex}{1,2}){4,6}(?![:-]?${hex})`,
      `${hex}{4}\\.${hex}{4}\\.${hex}{4}(?!\\.?${hex})`,
      `(?<!(?<![a-z0-9])${hex}{2} )(?:${hex}{2} ){5}${hex}{2}(?! ${hex}{2}(?![a-z0-9]))`,
      `${hex}{6}-${hex}{6}`,
      `0x${hex}{8,64}`,
      'bc1[a-z0-9]{25,60}',
      '(?:sk|pk|rk|gh[opsu]|xox[abps]|glpat|hf)[-_][\\w-]{8,200}',
      'eyJ[\\w-]{8,2000}(?:\\.[\\w-]{1,2000}){1,2}',
    ],
    'gi',
  ),
  (match) => /[a-z]/i.test(match) && (/\d/.test(match) || match.length > 15),
);

/** Written forms of national numbers. Where more digits stand beside them they are part of a longer number. */
const national = [
  `${alone}(?:\\d{3}[- ]\\d{2}[- ]\\d{4}|\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}|\\d{6}[-+]\\d{4})${ends}`,
  '\\d{6}[-+A-FU-Y]\\d{3}[A-Z]',
  '[A-Z]{2}\\d{6}[A-D]',
  '[A-Z]{6}\\d{2}[A-Z]\\d{2}[A-Z]\\d{3}[A-Z]',
  '\\d{1,2}\\.?\\d{3}\\.?\\d{3}-?[A-HJ-NP-TV-Z]',
  '[XYZ]-?\\d{7}-?[A-Z]',
  '[A-Z]{5}\\d{4}[A-Z]',
  '\\d[A-Z][A-Z0-9]\\d-?[A-Z][A-Z0-9]\\d-?[A-Z]{2}\\d{2}',
  '[A-Z]\\d{6}\\(\\d\\)',
  '[A-Z]\\d{3}-\\d{4}-\\d{4}',
];
const findNational = patternFinder(
  'ID',
  pattern(national, 'gi'),
  (match) => !/^\d+[a-z]{1,3}$/i.test(match) || /^\d{8}[a-z]$/i.test(match),
);
/** With gaps only in capitals. */
const findSpaced = patternFinder(
  'ID',
  pattern(
    [
      '[A-Z]{2}(?:[ .-]?\\d{2}){3}[ .-]?[A-D]',
      '[A-Z]{3} [A-Z]{3} \\d{2}[A-Z]\\d{2} [A-Z]\\d{3}[A-Z]',
      '[12] \\d{2} \\d{2} 2[AB] \\d{3} \\d{3}(?: \\d{2})?',
    ],
    'g',
  ),
);
/** Those of Britain in small letters too, where the two letters are no word before a row of numbers. */
const findSpacedBritish = patternFinder(
  'ID',
  pattern(
    [
      '(?!a[mnst]|b[ey]|e[lnrst]|[hjlnt][ae]|c[am]|k[gm]|m[aelmy]|nr|o[knr]|p[aem]|s[aet]|we|ya|z[ae])[a-ceghj-prstw-z][a-ceghj-nprstw-z](?:[ .-]\\d{2}){3}[ .-]?[a-d]',
    ],
    'gi',
  ),
);
/** Words of letters and at least six digits: passports, customer numbers, tokens. A number with its unit is none. */
const findTokens = patternFinder(
  'ID',
  new RegExp(`${edge}[A-Za-z0-9]{7,}${end}`, 'g'),
  (word) =>
    /[A-Za-z]/.test(word) &&
    word.replace(/\D/g, '').length >= 6 &&
    !/^(?:\d{1,6}[A-Za-z]{1,3}|\d{1,5}(?:x\d{1,5}){1,3}[a-z]{0,2})$/.test(word) &&
    !isTimeStamp(word),
);

export const findDeviceIds: Finder = (text) => findRandomIds(asLatin(text));

export const findIds: Finder = (text) => {
  const plain = asLatin(text);
  return [...findNational(plain), ...findSpaced(plain), ...findSpacedBritish(plain), ...findTokens(plain)];
};
