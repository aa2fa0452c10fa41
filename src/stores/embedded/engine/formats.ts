/**
 * How a result in this format can be sent piece by piece. The engine writes every piece as if it were a whole result,
 * so:
 * - `rows`: pieces can follow each other as they are;
 * - `header`: each repeats this many header rows, which are cut from all but the first;
 * - `file`: the format has a foot or an index (Parquet …), so it is written whole to a file, which is then sent;
 * - `whole`: one document (JSON …), made in memory.
 */
export type FormatKind =
  | { kind: 'rows' }
  | { kind: 'file' }
  | { kind: 'whole' }
  | { kind: 'header'; rows: number; syntax: 'csv' | 'lines' };

const rowFormats = [
  'TabSeparated',
  'TSV',
  'TabSeparatedRaw',
  'TSVRaw',
  'Raw',
  'CSV',
  'JSONEachRow',
  'JSONLines',
  'NDJSON',
  'JSONStringsEachRow',
  'JSONCompactEachRow',
  'JSONCompactStringsEachRow',
  'RowBinary',
  'Native',
  'LineAsString',
  'RawBLOB',
  'TSKV',
  'Null',
];
const fileFormats = ['Parquet', 'ORC', 'Arrow', 'ArrowStream', 'Avro'];
const headerFormats: [string, number, 'csv' | 'lines'][] = [
  ['CSVWithNames', 1, 'csv'],
  ['CSVWithNamesAndTypes', 2, 'csv'],
  ...['TabSeparated', 'TSV', 'TabSeparatedRaw', 'TSVRaw', 'JSONCompactEachRow', 'JSONCompactStringsEachRow'].flatMap(
    (name): [string, number, 'lines'][] => [
      [`${name}WithNames`, 1, 'lines'],
      [`${name}WithNamesAndTypes`, 2, 'lines'],
    ],
  ),
];

const kinds = new Map<string, FormatKind>([
  ...rowFormats.map((name): [string, FormatKind] => [name.toLowerCase(), { kind: 'rows' }]),
  ...fileFormats.map((name): [string, FormatKind] => [name.toLowerCase(), { kind: 'file' }]),
  ...headerFormats.map(([name, rows, syntax]): [string, FormatKind] => [
    name.toLowerCase(),
    { kind: 'header', rows, syntax },
  ]),
]);

export function formatKind(format: string): FormatKind {
  return kinds.get(format.toLowerCase()) ?? { kind: 'whole' };
}

/** Length in bytes of the first `rows` header rows of a piece. */
export function headerLength(piece: Uint8Array, rows: number, syntax: 'csv' | 'lines'): number {
  const quote = 0x22;
  const newline = 0x0a;
  let isQuoted = false;
  let left = rows;
  for (let at = 0; at < piece.length; at++) {
    if (syntax === 'csv' && piece[at] === quote) isQuoted = !isQuoted;
    if (piece[at] === newline && !isQuoted && --left === 0) return at + 1;
  }
  return piece.length;
}

export function mediaType(format: string): string {
  const name = format.toLowerCase();
  if (/^json.*eachrow|^ndjson|^jsonlines/.test(name)) return 'application/x-ndjson; charset=UTF-8';
  if (name.startsWith('json')) return 'application/json; charset=UTF-8';
  if (name.startsWith('csv'))
    return `text/csv; charset=UTF-8; header=${name.includes('withnames') ? 'present' : 'absent'}`;
  if (/^(tabseparated|tsv)/.test(name)) return 'text/tab-separated-values; charset=UTF-8';
  if (fileFormats.some((known) => known.toLowerCase() === name) || /binary|native/.test(name))
    return 'application/octet-stream';
  return 'text/plain; charset=UTF-8';
}

const binaryInput =
  /^(parquet|orc|arrow|arrowstream|avro|native|rowbinary.*|protobuf.*|msgpack|npy|capnproto|bsoneachrow)$/i;

export function isBinaryInput(format: string): boolean {
  return binaryInput.test(format);
}
