import { isAscii } from 'node:buffer';
import { fileTypeFromBuffer } from 'file-type';
import { Problem } from '../../errors.ts';
import { asciiFileName } from '../../platform/ascii-file-name.ts';
import { createZipInspector } from './zip-type.ts';

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
const zipType = 'application/zip';

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

/** Signatures of pictures that file-type knows only where their directory lies in the head. */
const headlessSignatures: readonly (readonly [bytes: string, mimeType: string])[] = [
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
];

/**
 * Types by signature whose files may be texts throughout. Others have short signatures, which a text may begin with:
 * `BM`, `MZ`, `GIF`.
 */
const isTextual = (mimeType: string, head: Buffer): boolean =>
  mimeType === 'model/stl'
    ? stlWords.test(head.toString('latin1'))
    : mimeType.startsWith('text/') || textualTypes.has(mimeType);
const textualTypes: ReadonlySet<string> = new Set([
  'application/xml',
  'application/rtf',
  'application/pdf',
  'application/postscript',
  'application/eps',
  'application/pgp-encrypted',
  'application/x-ms-regedit',
  'application/x-unix-archive',
  'application/x-deb',
]);
/** One of them follows in a model that is a text; its signature alone is the word “solid”. */
const stlWords = /\b(?:facet|endsolid)\b/;

/** Other names of types that are found by content; a sound in a container for films is not told from a film. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  'video/webm': ['audio/webm'],
  'video/mp4': ['audio/mp4'],
  'audio/x-m4a': ['audio/mp4', 'audio/m4a'],
  'audio/mp4': ['audio/x-m4a', 'audio/m4a'],
  'audio/wav': ['audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
  'audio/mpeg': ['audio/mp3'],
  'audio/flac': ['audio/x-flac'],
  'audio/aiff': ['audio/x-aiff'],
  'image/jpeg': ['image/jpg'],
  'image/x-icon': ['image/vnd.microsoft.icon'],
  'application/xml': ['text/xml'],
  'application/rtf': ['text/rtf'],
  'application/gzip': ['application/x-gzip'],
  'application/zip': ['application/x-zip-compressed'],
};

/** Types, or patterns, of documents that are ZIP archives, and may say so only at their end. */
const archivedTypes = /^(?:application|model)\//;

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
 * Detects the media type by content: text if all of it is UTF-8 without control characters and no kind of text has its
 * signature, else by signature, else unknown. The type of an archive may be known only when all bytes were read; it is
 * ZIP where the question takes ZIP and not what only the end of the archive says. Other bytes without control characters
 * are `text/csv` or `text/plain` where the question names it. The declared type only chooses among kinds of plain text,
 * and among names of one type that the question takes. `acceptedTypes`: media types or `image/*` patterns; undefined
 * accepts all except archives and programs. Throws VALIDATION_ERROR for an empty file.
 */
export async function inspectContent(
  pieces: AsyncGenerator<Uint8Array>,
  { declared, acceptedTypes, fileName = '' }: InspectOptions,
): Promise<InspectedBytes> {
  const { head, rest } = await readHead(pieces);
  if (head.length === 0)
    throw new Problem('VALIDATION_ERROR', 'The file is empty', {
      details: [{ path: '', message: 'the file is empty' }],
    });
  assertAcceptedName(fileName, acceptedTypes);
  const detected = ownSignature(head) ?? (await foreignSignature(head));
  const isSingleByteTaken = acceptedTypes?.some((type) => singleByteTypes.has(type)) === true;
  const isTextHead = createTextCheck({ isSingleByteTaken })(head, head.length < headBytes);
  const isTextualType = detected !== undefined && isTextual(detected.mime, head);
  const isText = detected === undefined || detected.mime === 'application/xml' || (isTextHead && !isTextualType);
  const nameOf = (found: string) => acceptedName(found, { declared, acceptedTypes });
  let mimeType = nameOf(isText ? textType(head, { declared, acceptedTypes }) : detected.mime);
  const check = createTextCheck({
    isSingleByteTaken: singleByteTypes.has(mimeType) && acceptedTypes?.includes(mimeType) === true,
  });
  let isStillText = isText && mimeType !== unknownType;
  const inspect = (bytes: Uint8Array, isLast: boolean) => {
    if (!isStillText || check(bytes, isLast)) return;
    isStillText = false;
    mimeType = nameOf(detected === undefined || isTextualType ? unknownType : detected.mime);
    assertAcceptedType(mimeType, acceptedTypes);
  };
  inspect(head, false);
  // Where the beginning tells the type of an archive, it decides.
  const archive = detected?.mime === zipType ? createZipInspector() : undefined;
  const mayTurnOut = archive !== undefined && (acceptedTypes?.some((type) => archivedTypes.test(type)) ?? true);
  if (!mayTurnOut) assertAcceptedType(mimeType, acceptedTypes);
  const bytes = (async function* () {
    archive?.add(head);
    yield head;
    for await (const piece of rest) {
      inspect(piece, false);
      archive?.add(piece);
      yield piece;
    }
    inspect(new Uint8Array(), true);
    if (archive === undefined) return;
    // Where the question takes archives, but not what this one turns out to be, it is an archive.
    const told = [(await archive.type()) ?? zipType, zipType].map(nameOf);
    mimeType = told.find((name) => isAcceptedType(name, acceptedTypes)) ?? told[0] ?? zipType;
    assertAcceptedType(mimeType, acceptedTypes);
  })();
  return { bytes, mimeType: () => mimeType };
}

function ownSignature(head: Buffer): { mime: string } | undefined {
  const start = head.toString('latin1', 0, 64).replace(/^\xef\xbb\xbf/, '');
  return signatureIn(start, signatures);
}

function signatureIn(start: string, known: typeof signatures): { mime: string } | undefined {
  const found = known.find(([bytes]) => start.startsWith(bytes));
  return found && { mime: found[1] };
}

/** The beginning of a text in UTF-16 with the lower byte first, and of sound that nobody has made for decades. */
const utf16Mark = Buffer.from([0xff, 0xfe]);

async function foreignSignature(head: Buffer): Promise<{ mime: string } | undefined> {
  const found = await fileTypeFromBuffer(head);
  if (found === undefined) return signatureIn(head.toString('latin1', 0, 4), headlessSignatures);
  if (found.mime === 'audio/mpeg' && head.subarray(0, 2).equals(utf16Mark)) return undefined;
  return { mime: found.mime.replace(/;.*/, '') };
}

/**
 * The name of a type that the question takes, the declared one first; the type itself where it takes none. A pattern
 * takes other names only of sounds, which may come in a container for films.
 */
function acceptedName(
  found: string,
  { declared, acceptedTypes }: { declared: string | undefined; acceptedTypes: readonly string[] | undefined },
): string {
  if (acceptedTypes === undefined) return found;
  const names = [found, ...(otherNames[found] ?? [])].filter((name) =>
    name === found || name.startsWith('audio/') ? isAcceptedType(name, acceptedTypes) : acceptedTypes.includes(name),
  );
  return names.find((name) => name === typeDeclared(declared)) ?? names[0] ?? found;
}

/**
 * Refuses endings of programs, unless the question names a type of programs or archives, and those of pages where it
 * takes none. What follows a colon names a stream of the same file in Windows. The name in ASCII is the one under which
 * some programs keep a download.
 */
function assertAcceptedName(fileName: string, acceptedTypes: readonly string[] | undefined): void {
  const takesPrograms = acceptedTypes?.some(
    (type) => type === unknownType || blockedByDefault.has(type) || hasMacros(type),
  );
  const takesPages = isAcceptedType('text/html', acceptedTypes);
  for (const part of [...fileName.split(':'), asciiFileName(fileName)]) {
    const ending = /\.([^.]+?)[. ]*$/.exec(part)?.[1]?.toLowerCase() ?? '';
    if ((takesPrograms || !blockedEndings.has(ending)) && (takesPages || !pageEndings.has(ending))) continue;
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', `Files whose names end in .${ending} are not taken`);
  }
}

/** The first bytes, always as many of them, so that the type does not depend on the pieces; and what comes after. */
async function readHead(
  pieces: AsyncGenerator<Uint8Array>,
): Promise<{ head: Buffer; rest: AsyncIterable<Uint8Array> }> {
  const begin: Uint8Array[] = [];
  for (let length = 0; length < headBytes; ) {
    const next = await pieces.next();
    if (next.done) break;
    begin.push(next.value);
    length += next.value.length;
  }
  const bytes = Buffer.concat(begin);
  const rest = (async function* () {
    if (bytes.length > headBytes) yield bytes.subarray(headBytes);
    yield* pieces;
  })();
  return { head: bytes.subarray(0, headBytes), rest };
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
  const given = typeDeclared(declared);
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

/** The media type of a Content-Type header, without its parameters; '' if there is none. */
const typeDeclared = (header: string | undefined): string => declaredType.exec(header ?? '')?.[1]?.toLowerCase() ?? '';

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
