/** An identifier that must not leave, as somebody might write it. */
export interface Seed {
  kind: 'EMAIL' | 'PHONE' | 'ACCOUNT' | 'CARD' | 'IP';
  text: string;
}

const emails = [
  'ann.lee@example.org',
  'ann.lee+survey@example.org',
  "o'neil@mail.example.co.uk",
  'jörg@müller.example',
  'ann (at) example (dot) org',
  'ann at example dot org',
  'ann.lee at example.net',
  'bob[at]example[dot]org',
  'bob {at} example {dot} org',
  'carla AT example DOT com',
  'john dot smith at example dot co dot uk',
  'kontakt ät beispiel punkt example',
  'lucia arroba ejemplo punto es',
  'x@y.io',
  '1234567890@numbers.example',
  '"quoted name"@example.org',
  'user!tag#1@example.org',
  'under_score@sub.sub.example.museum',
  'dash-ed@dash-ed.example',
  'UPPER.CASE@EXAMPLE.ORG',
  'почта@пример.рф',
  '用户@例子.公司',
  'χρήστης@παράδειγμα.ελ',
  'संपर्क@डाटामेल.भारत',
  'dina@[192.0.2.77]',
  'root@localhost',
  'erik @ example.org',
  'frida@ example .org',
  'gina%40example.org',
  'hugo&#64;example.org',
  'iris_at_example.org',
  'jane.doe99 at gmail.com',
  'karl(a)example.com',
  'mailto:lena@example.org',
  'mia@xn--mller-kva.example',
  ...Array.from({ length: 15 }, (_, index) => `person${index}.surname${index * 7}@host${index}.example`),
];

const phones = [
  '+49 30 1234567',
  '030/12345678',
  '(0)30 9876543',
  '0171-2345678',
  '+49 (0)171 2345679',
  '0049 171 2345680',
  '(415) 555-0132',
  '+1-202-555-0143',
  '1.415.555.0199',
  '4155550178',
  '+1 (415) 555 0121',
  '0044 20 7946 0958',
  '07700 900123',
  '+44 (0)20 7946 0959',
  '020 7946 0960',
  '01.23.45.67.89',
  '+33 1 23 45 67 90',
  '06 12 34 56 78',
  '0033612345679',
  '612 345 678',
  '+34 612 34 56 79',
  '91-123-45-67',
  '+39 06 6982 1234',
  '347 123 4567',
  '06-12345678',
  '+31 6 12345679',
  '020-1234567',
  '512 345 678',
  '+48 22 123 45 67',
  '8 (912) 345-67-89',
  '+7 912 345 67 90',
  '138 0013 8000',
  '+86 138 0013 8001',
  '090-1234-5678',
  '+81 3-1234-5678',
  '010-1234-5678',
  '+82 2 312 3456',
  '+966 50 123 4567',
  '050-123-4567',
  '+972 54 123 4567',
  '11 91234-5678',
  '(11) 91234-5679',
  '+55 21 2345-6789',
  '98765 43210',
  '+91 98765 43211',
  '20 30 40 51',
  '+45 20 30 40 52',
  '581 2345',
  '+354 581 2346',
  '08-123 456 78',
  '+46 70 123 45 67',
  '22 12 34 56',
  '044 668 18 00',
  '+41 79 123 45 67',
  '0664 1234567',
  '+353 1 234 5678',
  '555-0123 4',
  '+61 2 5550 1234',
  '0412 345 678',
  '+12025550147',
];

/** With its check digits (ISO 13616). */
function iban(country: string, account: string): string {
  const digits = [...`${account}${country}00`].map((character) => String(Number.parseInt(character, 36))).join('');
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${account}`;
}

const grouped = (text: string, mark: string, size = 4): string =>
  text.match(new RegExp(`.{1,${size}}`, 'g'))?.join(mark) ?? text;

const ibans = [
  iban('DE', '370400440532013000'),
  iban('GB', 'NWBK60161331926819'),
  iban('FR', '20041010050500013M02606'),
  iban('ES', '21000418450200051332'),
  iban('IT', 'X0542811101000000123456'),
  iban('NL', 'ABNA0417164300'),
  iban('PL', '109010140000071219812874'),
  iban('BE', '539007547034'),
  iban('NO', '86011117947'),
  iban('SE', '50000000058398257466'),
  iban('CH', '00762011623852957'),
  iban('AT', '1904300234573201'),
  iban('DK', '00400440116243'),
  iban('FI', '12345600000785'),
  iban('PT', '000201231234567890154'),
  iban('IE', 'AIBK93115212345678'),
  iban('LU', '0019400644750000'),
  iban('MT', 'MALT011000012345MTLCAST001S'),
  iban('SA', '80000000608010167519'),
  iban('AE', '0331234567890123456'),
  iban('TR', '0006100519786457841326'),
  iban('IL', '0108000000099999999'),
  iban('BR', '18360305000010009795493C1'),
  iban('CZ', '08000000192000145399'),
  iban('HU', '117730161111101800000000'),
  iban('GR', '01101250000000012300695'),
  iban('RO', 'AAAA1B31007593840000'),
  iban('SK', '12000000198742637541'),
  iban('EE', '2200221020145685'),
  iban('LV', 'BANK0000435195001'),
].map(
  (account, index) =>
    [account, grouped(account, ' '), grouped(account, '-'), account.toLowerCase(), grouped(account, ' ', 5)][
      index % 5
    ] ?? account,
);

/** With Luhn's check digit. */
function card(prefix: string, length: number): string {
  const body = prefix.padEnd(length - 1, '4820917365');
  const sum = [...body]
    .reverse()
    .reduce(
      (total, digit, index) =>
        total + (index % 2 === 0 ? (Number(digit) * 2 > 9 ? Number(digit) * 2 - 9 : Number(digit) * 2) : Number(digit)),
      0,
    );
  return body + String((10 - (sum % 10)) % 10);
}

const cards = [
  '4111 1111 1111 1111',
  '5500-0000-0000-0004',
  '378282246310005',
  '3782 822463 10005',
  '6011.1111.1111.1117',
  ...[
    ['4', 13],
    ['4', 16],
    ['4', 19],
    ['51', 16],
    ['5234', 16],
    ['2221', 16],
    ['2720', 16],
    ['34', 15],
    ['371', 15],
    ['36', 14],
    ['3852', 14],
    ['305', 14],
    ['6011', 16],
    ['65', 16],
    ['3528', 16],
    ['3589', 16],
    ['62', 16],
    ['6212', 17],
    ['623', 18],
    ['6250', 19],
    ['50', 13],
    ['5612', 16],
    ['6304', 18],
    ['6759', 19],
    ['2200', 16],
  ].map(([prefix, length], index) =>
    grouped(card(String(prefix), Number(length)), [' ', '-', '', '.', ', '][index % 5] ?? ''),
  ),
];

const addresses = [
  '192.168.10.24',
  '10.0.0.1',
  '8.8.8.8',
  '203.0.113.195',
  '198.51.100.7:8080',
  '10.1.2.3:80',
  '255.255.255.255',
  '172.16.254.1/24',
  '100.64.0.9',
  '192[.]0[.]2[.]33',
  '192 . 0 . 2 . 34',
  '169.254.169.254',
  '127.0.0.1',
  '203.000.113.007',
  '1.2.3.4',
  '192.0.2.201',
  '198.51.100.99',
  '203.0.113.60',
  '192.0.2.35',
  '10.20.30.40',
  '2001:db8::ff00:42:8329',
  '::1',
  '2001:0db8:0000:0000:0000:ff00:0042:8330',
  'fe80::1ff:fe23:4567:890a',
  '::ffff:192.0.2.128',
  '[2001:db8::7]:443',
  'fe80::a1%eth0',
  '2001:DB8:85A3::8A2E:370:7334',
  'fd12:3456:789a:1::1',
  '64:ff9b::192.0.2.33',
];

const ofKind = (kind: Seed['kind'], texts: readonly string[]): Seed[] => texts.map((text) => ({ kind, text }));

/** 200 different ones. */
export const seeds: readonly Seed[] = [
  ...ofKind('EMAIL', emails),
  ...ofKind('PHONE', phones),
  ...ofKind('ACCOUNT', ibans),
  ...ofKind('CARD', cards),
  ...ofKind('IP', addresses),
];

const withDigits = (zero: number) => (text: string) =>
  text.replace(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)));
const between = (mark: string) => (text: string) => [...text].join(mark);

/** Other spellings that a reader takes for the same. */
export const spellings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'full-width': (text) => text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0)),
  'with zero-width spaces': between('\u200b'),
  'with zero-width joiners': between('\u200d'),
  'with soft hyphens': between('\u00ad'),
  'with word joiners and marks of direction': (text) => `\u202a${between('\u2060')(text)}\u202c`,
  'in Arabic-Indic digits': withDigits(0x660),
  'in Devanagari digits': withDigits(0x966),
  'in bold mathematical digits': withDigits(0x1d7ce),
  'with other dashes and spaces': (text) =>
    [...text]
      .map((character, index) =>
        character === '-'
          ? '\u2010\u2011\u2013\u2212'.charAt(index % 4)
          : character === ' '
            ? '\u00a0\u2009\u202f\u3000'.charAt(index % 4)
            : character,
      )
      .join(''),
};

/** What stands around an identifier, at the sign #; without digits and signs of its own. */
export const surroundings = [
  'Reach me: # , thanks',
  '#',
  'It is # and nothing else',
  '(#)',
  'write to #.',
  '请联系#谢谢',
  'tel:#',
  'Hello\n#\nbye',
  'My data # please delete',
  'so «#» it is',
];

export interface SeededAnswer extends Seed {
  spelling: string;
  answer: string;
}

/** Every seed in every spelling, in changing surroundings. */
export const seededAnswers: readonly SeededAnswer[] = seeds.flatMap((seed, index) =>
  Object.entries(spellings).map(([spelling, write], turn) => ({
    ...seed,
    spelling,
    answer: (surroundings[(index + turn) % surroundings.length] ?? '#').replace('#', () => write(seed.text)),
  })),
);

/**
 * What is left of an identifier in a text that was sent: everything that is neither placeholder nor surroundings. Empty
 * where nothing is.
 */
export function remainder(sent: string, { kind, text }: Seed): string[] {
  const plain = readable(sent).replace(/\[[a-z]+_\d+\]/g, '\n');
  const digits = plain.match(/\d/g)?.join('') ?? '';
  const words =
    kind === 'EMAIL'
      ? (readable(text).match(/[\p{L}\p{N}\p{M}]{2,}/gu) ?? []).filter(
          (word) => !/^(?:at|ät|arroba|dot|punkt|punto|mailto|localhost)$/.test(word),
        )
      : [];
  const letters = kind === 'ACCOUNT' ? (readable(text).match(/[a-z]{4}/g) ?? []) : [];
  return [
    ...(digits === '' ? [] : [digits]),
    ...[...words, ...letters].filter((word) => plain.includes(word)),
    ...(plain.includes('@') ? ['@'] : []),
  ];
}

/** One form for all spellings, made by other means than the service's own. */
export function readable(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g, '')
    .replace(/[\u0660-\u0669\u0966-\u096f]/g, (digit) =>
      String((digit.codePointAt(0) ?? 0) & 15 && ((digit.codePointAt(0) ?? 0) - 6) % 16),
    )
    .toLowerCase();
}
