import type { Chance } from './chance.ts';

const texts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfffy',
  '\ufeff',
  '\u202e',
  '\uffff',
  '𝒜',
  '👩‍👩‍👧‍👦',
  '\r\nX-Evil: 1',
  '%00',
  '%',
  '%E0%A4%A',
  '..',
  '../../etc/passwd',
  '..%2f..%2f',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  'true',
  '1e999',
  '-0',
  '0x10',
  "' OR '1'='1",
  '"; DROP TABLE responses; --',
  "\\'; SELECT 1",
  '{{7*7}}',
  `$${'{1}'}`,
  '=1+1',
  '<script>',
  '{id:String}',
  '\\',
  "'",
  '`',
  '\u2028',
  '(a+)+$',
  '[',
  '2024-02-30',
  '2024-13-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '24:00',
  '::1',
  '127.0.0.1',
  'http://127.0.0.1:9/',
  'https://127.1:9/x',
  'a@b',
  'ann@example.invalid',
  'en',
  'ar',
  'xx',
  '00000000-0000-0000-0000-000000000000',
  '01900000-0000-7000-8000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '*',
  '9'.repeat(400),
  'É'.normalize('NFD'),
  '\u0000'.repeat(50),
  '\ud83d',
];

const numbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.1,
  1.5,
  5,
  10,
  11,
  255,
  256,
  65_535,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  1e21,
  1e308,
  -1e308,
  5e-324,
  1e-7,
];

const lengths = [1, 10, 63, 64, 200, 201, 255, 256, 300, 301, 2000, 5001, 10_001, 70_000];

export function hostileText(chance: Chance): string {
  if (chance.is(0.75)) return chance.pick(texts);
  return chance.pick(['x', 'é', '界', '😀', "'", ' ', '\t', '-', '1', '\u0301', 'a.']).repeat(chance.pick(lengths));
}

/** Any JSON value, at most `depth` deep. */
export function anyJson(chance: Chance, depth = 4): unknown {
  const kind = chance.below(depth > 0 ? 8 : 5);
  if (kind === 0) return null;
  if (kind === 1) return chance.is(0.5);
  if (kind === 2) return chance.pick(numbers);
  if (kind <= 4) return hostileText(chance);
  if (kind <= 5) return Array.from({ length: chance.below(5) }, () => anyJson(chance, depth - 1));
  return Object.fromEntries(
    Array.from({ length: chance.below(5) }, () => [
      chance.is(0.5) ? chance.pick(knownNames) : hostileText(chance),
      anyJson(chance, depth - 1),
    ]),
  );
}

/** Names that bodies of the service use, in wrong places. */
const knownNames = [
  'id',
  'answers',
  'questionId',
  'optionId',
  'title',
  'status',
  'settings',
  'options',
  'rows',
  'text',
  'value',
  'type',
  'order',
  'responseQuota',
  'ownerId',
  'version',
  'surveyId',
  'filters',
  'role',
  'events',
  'url',
];

interface Place {
  holder: Record<string, unknown> | unknown[];
  key: string | number;
}

function placesOf(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    found.push({ holder, key });
    placesOf(holder[key], found);
  }
  return found;
}

/**
 * Spoils a few places of a good body: other types, hostile texts, things left out, added, repeated or nested. Changes
 * it in place.
 */
export function spoil(chance: Chance, good: unknown): unknown {
  const body = { value: good };
  for (let blow = chance.pick([1, 1, 1, 2, 3]); blow > 0; blow -= 1) {
    const { holder, key } = chance.pick(placesOf(body));
    const place = holder as Record<string | number, unknown>;
    const old = place[key];
    const strike = chance.below(8);
    if (strike === 0 && holder !== body) delete place[key];
    else if (strike === 1) place[key] = hostileText(chance);
    else if (strike === 2) place[key] = chance.pick(numbers);
    else if (strike === 3) place[key] = [old];
    else if (strike === 4 && Array.isArray(old))
      place[key] = Array.from({ length: chance.pick([0, 2, 50, 400]) }, () => old[0]);
    else if (strike === 5 && typeof old === 'object' && old !== null)
      (old as Record<string, unknown>)[chance.pick(knownNames)] = anyJson(chance, 1);
    else if (strike === 6)
      place[key] =
        typeof old === 'string' ? (chance.is(0.5) ? old.toUpperCase() : `${old}${hostileText(chance)}`) : null;
    else place[key] = anyJson(chance, 2);
  }
  return body.value;
}

/** Spoils the text of a body, as broken clients and proxies do. */
export function spoilText(chance: Chance, text: string): Buffer {
  const at = chance.below(text.length + 1);
  const cut = () => text.slice(0, at);
  const inserted = (piece: string | Buffer) =>
    Buffer.concat([Buffer.from(cut()), Buffer.from(piece), Buffer.from(text.slice(at))]);
  switch (chance.below(9)) {
    case 0:
      return Buffer.from(cut());
    case 1:
      return Buffer.from(`\ufeff${text}`);
    case 2:
      return inserted(Buffer.from([chance.below(256), chance.below(256)]));
    case 3:
      return inserted(chance.pick(['\\ud800', '\\u0000', '\\x', '\\', '"', '\n', '1e999', ',', '}', ']', '/**/', "'"]));
    case 4:
      return Buffer.from(text.replace(/\{/, '{"__proto__":{"admin":true},'));
    case 5:
      return Buffer.from(text.replace(/"([^"]*)":/, '"$1":1,"$1":'));
    case 6:
      return Buffer.from(
        text.replace(/\d+/, chance.pick(['1e999', '9007199254740993', '-', '0123', '1.', '.5', '9'.repeat(400)])),
      );
    case 7:
      return Buffer.from(`${'['.repeat(chance.pick([10, 17, 1000, 100_000]))}${text}`);
    default:
      return Buffer.from(text + text);
  }
}
