import { isAscii } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';
import { Problem } from '../../errors.ts';

export interface InspectedBytes {
  /** The same bytes; throws UNSUPPORTED_MEDIA_TYPE as soon as their type proves to be unaccepted. */
  bytes: AsyncGenerator<Uint8Array>;
  /** Final after all bytes were read. */
  mimeType(): string;
}

export interface InspectOptions {
  /** The Content-Type that the client sent. */
  declared: string | undefined;
  acceptedTypes: readonly string[] | undefined;
  /** Its ending may only forbid the file. */
  fileName?: string;
}

const headBytes = 64 * 1024;
const unknownType = 'application/octet-stream';

/** Archives and programs, accepted only if the question names their type. */
const blockedByDefault = new Set([
  'application/zip',
  'application/gzip',
  'application/x-7z-compressed',
  'application/vnd.rar',
  'application/x-rar-compressed',
  'application/x-tar',
  'application/x-bzip2',
  'application/x-xz',
  'application/zstd',
  'application/x-lz4',
  'application/x-lzh-compressed',
  'application/x-lzip',
  'application/x-compress',
  'application/x-cpio',
  'application/x-unix-archive',
  'application/x-ace-compressed',
  'application/x-arj',
  'application/x-stuffit',
  'application/vnd.ms-cab-compressed',
  'application/java-archive',
  'application/vnd.android.package-archive',
  'application/x-apple-diskimage',
  'application/x-iso9660-image',
  'application/x-deb',
  'application/x-rpm',
  'application/x-xar',
  'application/x-msdownload',
  'application/x-elf',
  'application/x-mach-binary',
  'application/java-vm',
  'application/x-ms-shortcut',
  'application/x-google-chrome-extension',
  'application/x-installshield',
  'application/x-msi',
  'application/x.ms.shortcut',
  'application/x.apple.alias',
  'application/x-ms-regedit',
  'application/vnd.ms-htmlhelp',
  'application/x-asar',
  'application/x-xpinstall',
  // Installers, and documents of old Office versions, which may hold macros.
  'application/x-cfb',
]);

/** Types of files with macros: `application/vnd.ms-word.document.macroenabled.12`. */
const hasMacros = (mimeType: string): boolean => /macroenabled/i.test(mimeType);

/**
 * Endings of files that run something, or lead to another host, when they are opened, whatever their content seems to
 * be.
 */
const blockedEndings = new Set(
  (
    'ade adp appimage appinstaller appref-ms appx application bat chm cmd com command cpl csh desktop diagcab dll docm ' +
    'dotm dqy exe fileloc gadget hta img inetloc inf ins iqy iso jar jnlp js jse library-ms lnk mde msc msi msix msp ' +
    'mst odc oqy osd pif pkg potm ppam ppsm pptm ps1 ps1xml psm1 py pyc pyw pyz pyzw rar rdp reg rqy scf scr sct ' +
    'search-ms searchconnector-ms settingcontent-ms sh shb sldm slk sys url vb vbe vbs vhd vhdx webloc website ws wsc ' +
    'wsf wsh xar xlam xll xlsb xlsm xltm'
  ).split(' '),
);

/** Endings of files that a browser opens as a page. */
const pageEndings = new Set(['htm', 'html', 'mht', 'mhtml', 'shtml', 'xht', 'xhtml']);

/** Signatures that file-type does not know. */
const signatures: readonly (readonly [bytes: string, mimeType: string])[] = [
  ['ITSF', 'application/vnd.ms-htmlhelp'],
  ['xar!', 'application/x-xar'],
  ['Windows Registry Editor', 'application/x-ms-regedit'],
  ['REGEDIT4', 'application/x-ms-regedit'],
];

/** Text types that the content does not distinguish. */
const textTypes: readonly string[] = [
  'text/plain',
  'text/csv',
  'text/tab-separated-values',
  'text/markdown',
  'text/calendar',
  'text/vcard',
  'application/json',
  'application/x-ndjson',
  'application/yaml',
];

/** Types that a question may ask for by name and get in a single-byte encoding, as Excel writes it in Windows. */
const singleByteTypes: ReadonlySet<string> = new Set(['text/plain', 'text/csv']);

/**
 * Detects the media type by content: by signature, else text if all of it is UTF-8 without control characters, else
 * unknown. Other bytes without control characters are `text/csv` or `text/plain` where the question names it. The
 * declared type only chooses among kinds of plain text. `acceptedTypes`: media types or `image/*` patterns; undefined
 * accepts all except archives and programs. Throws VALIDATION_ERROR for an empty file.
 */
export async function inspectContent(
  pieces: AsyncGenerator<Uint8Array>,
  { declared, acceptedTypes, fileName = '' }: InspectOptions,
): Promise<InspectedBytes> {
  const head = await readHead(pieces);
  if (head.length === 0)
    throw new Problem('VALIDATION_ERROR', 'The file is empty', {
      details: [{ path: '', message: 'the file is empty' }],
    });
  assertAcceptedName(fileName, acceptedTypes);
  const detected = ownSignature(head) ?? (await foreignSignature(head));
  const isText = detected === undefined || detected.mime === 'application/xml';
  let mimeType = isText ? textType(head, { declared, acceptedTypes }) : detected.mime;
  const check = createTextCheck({
    isSingleByteTaken: singleByteTypes.has(mimeType) && acceptedTypes?.includes(mimeType) === true,
  });
  const inspect = (bytes: Uint8Array, isLast: boolean) => {
    if (!isText || mimeType === unknownType || check(bytes, isLast)) return;
    mimeType = unknownType;
    assertAcceptedType(mimeType, acceptedTypes);
  };
  inspect(head, false);
  assertAcceptedType(mimeType, acceptedTypes);
  const bytes = (async function* () {
    yield head;
    for await (const piece of { [Symbol.asyncIterator]: () => pieces }) {
      inspect(piece, false);
      yield piece;
    }
    inspect(new Uint8Array(), true);
  })();
  return { bytes, mimeType: () => mimeType };
}

function ownSignature(head: Buffer): { mime: string } | undefined {
  const start = head.toString('latin1', 0, 64).replace(/^\xef\xbb\xbf/, '');
  const found = signatures.find(([bytes]) => start.startsWith(bytes));
  return found && { mime: found[1] };
}

/** The beginning of a text in UTF-16 with the lower byte first, and of sound that nobody has made for decades. */
const utf16Mark = Buffer.from([0xff, 0xfe]);

async function foreignSignature(head: Buffer): Promise<{ mime: string } | undefined> {
  const found = await fileTypeFromBuffer(head);
  return found?.mime === 'audio/mpeg' && head.subarray(0, 2).equals(utf16Mark) ? undefined : found;
}

/**
 * Refuses endings of programs, unless the question names a type of programs or archives, and those of pages where it
 * takes none. What follows a colon names a stream of the same file in Windows.
 */
function assertAcceptedName(fileName: string, acceptedTypes: readonly string[] | undefined): void {
  const takesPrograms = acceptedTypes?.some(
    (type) => type === unknownType || blockedByDefault.has(type) || hasMacros(type),
  );
  const takesPages = isAcceptedType('text/html', acceptedTypes);
  for (const part of fileName.split(':')) {
    const ending = /\.([^.]+?)[. ]*$/.exec(part)?.[1]?.toLowerCase() ?? '';
    if ((takesPrograms || !blockedEndings.has(ending)) && (takesPages || !pageEndings.has(ending))) continue;
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', `Files whose names end in .${ending} are not taken`);
  }
}

async function readHead(pieces: AsyncGenerator<Uint8Array>): Promise<Buffer> {
  const head: Uint8Array[] = [];
  for (let length = 0; length < headBytes; ) {
    const next = await pieces.next();
    if (next.done) break;
    head.push(next.value);
    length += next.value.length;
  }
  return Buffer.concat(head);
}

function assertAcceptedType(mimeType: string, acceptedTypes: readonly string[] | undefined): void {
  if (isAcceptedType(mimeType, acceptedTypes)) return;
  throw new Problem(
    'UNSUPPORTED_MEDIA_TYPE',
    acceptedTypes
      ? `This question takes ${acceptedTypes.join(', ')}; by its content the file is ${mimeType}`
      : `Files of the type ${mimeType} are not taken`,
  );
}

export function isAcceptedType(mimeType: string, acceptedTypes: readonly string[] | undefined): boolean {
  if (acceptedTypes === undefined) return !blockedByDefault.has(mimeType) && !hasMacros(mimeType);
  // A drawing may hold scripts.
  const isWithin = (pattern: string): boolean =>
    pattern.endsWith('/*') && mimeType.startsWith(pattern.slice(0, -1)) && mimeType !== 'image/svg+xml';
  return acceptedTypes.some((pattern) => pattern === mimeType || isWithin(pattern));
}

/** The kind of text by its beginning; `createTextCheck` checks whether all of it is text. */
function textType(
  head: Buffer,
  { declared, acceptedTypes }: { declared: string | undefined; acceptedTypes: readonly string[] | undefined },
): string {
  const start = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (/<svg[\s/>]/i.test(start) && start.startsWith('<')) return 'image/svg+xml';
  if (htmlStart.test(withoutComments(start))) return 'text/html';
  if (start.startsWith('<?xml')) return 'application/xml';
  const given = declaredType.exec(declared ?? '')?.[1]?.toLowerCase() ?? '';
  if (textTypes.includes(given) && isAcceptedType(given, acceptedTypes)) return given;
  return textTypes.find((type) => isAcceptedType(type, acceptedTypes)) ?? 'text/plain';
}

const htmlStart = /^<(?:!doctype html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p)[\s/>]/i;

/** Removes the comments before the first tag, in linear time: anybody chooses the text. */
function withoutComments(text: string): string {
  let at = 0;
  while (text.startsWith('<!--', at)) {
    // As in browsers, a comment may end with the hyphens that it begins with: `<!-->`.
    const end = text.indexOf('-->', at + 2);
    if (end < 0) break;
    blank.lastIndex = end + 3;
    blank.test(text);
    at = blank.lastIndex;
  }
  return text.slice(at);
}

/** Blanks from `lastIndex` on. */
const blank = /\s*/y;

/** The media type of a Content-Type header, without its parameters. */
const declaredType = /^[ \t]*([\w.+-]+\/[\w.+-]+)[ \t]*(?:;|$)/;

/**
 * Checks piece by piece whether a file is text: UTF-8 without control characters other than tab, line feed, carriage
 * return, form feed and escape. Pieces have up to half a megabyte, and several files come at once: most are ASCII, which
 * is checked ten times as fast as it is decoded. `isSingleByteTaken`: any other bytes are text too if the whole file
 * has no control characters but tab, line feed and carriage return.
 */
function createTextCheck({
  isSingleByteTaken,
}: {
  isSingleByteTaken: boolean;
}): (piece: Uint8Array, isLast: boolean) => boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  /** Whether the decoder may hold the beginning of a character. */
  let isOpen = false;
  let [isUtf8, hasOtherControl] = [true, false];
  return (piece, isLast) => {
    if (hasControl(piece)) return false;
    hasOtherControl ||= isSingleByteTaken && otherControls.some((byte) => piece.includes(byte));
    if (!isUtf8) return !hasOtherControl;
    if (!isOpen && isAscii(piece)) return true;
    try {
      decoder.decode(piece, { stream: !isLast });
      isOpen = piece.length === 0 ? isOpen : (piece.at(-1) ?? 0) >= 0x80;
      return true;
    } catch {
      isUtf8 = false;
      return isSingleByteTaken && !hasOtherControl;
    }
  };
}

/** Form feed, escape and delete, which only text in UTF-8 may have. */
const otherControls = [0x0c, 0x1b, 0x7f] as const;

/** A plain loop: `some` with a function takes seven times as long. */
function hasControl(piece: Uint8Array): boolean {
  for (let at = 0; at < piece.length; at += 1) {
    const byte = piece[at] ?? 0;
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b) return true;
  }
  return false;
}
