import { asciiFileName } from '../../platform/ascii-file-name.ts';
import { readFileRange } from '../../platform/file-range.ts';
import type { Outcome, RouteRequest } from '../routing/route.ts';
import type { Header } from './reply.ts';

export type FileToSend = FileMetadata &
  ({ path: string } | { read(first: number, last: number): Promise<AsyncIterable<Uint8Array>> });

export interface FileMetadata {
  size: number;
  /** A strong validator without its quotes: the same as long as the bytes are the same. */
  etag: string;
  mediaType: string;
  /** The file name for the client, in any script. */
  fileName: string;
}

/**
 * Sends a file as an attachment: whole, or one range of it (RFC 9110 §14), or 304 if the client has it. A request for
 * several ranges gets the whole file, as the RFC allows. HEAD does not open the file, which may be in a bucket.
 */
export async function replyWithFile(
  request: Pick<RouteRequest, 'header' | 'isHead'>,
  file: FileToSend,
): Promise<Outcome> {
  const etag = `"${file.etag}"`;
  const commonHeaders: Header[] = [
    ['etag', etag],
    ['accept-ranges', 'bytes'],
    ['cache-control', 'private, no-cache'],
    ['x-content-type-options', 'nosniff'],
  ];
  if (matchesEtag(request.header('if-none-match'), etag)) return { kind: 'head', status: 304, headers: commonHeaders };
  const condition = request.header('if-range');
  const range = condition === undefined || condition === etag ? readRange(request.header('range'), file.size) : 'whole';
  if (range === 'unsatisfiable')
    return {
      kind: 'head',
      status: 416,
      headers: [...commonHeaders, ['content-range', `bytes */${file.size}`]],
      contentLength: 0,
    };
  const { first, last } = range === 'whole' ? { first: 0, last: file.size - 1 } : range;
  const headers: Header[] = [
    ['content-type', file.mediaType],
    ['content-disposition', contentDisposition(file.fileName)],
    ...commonHeaders,
  ];
  if (range !== 'whole') headers.push(['content-range', `bytes ${first}-${last}/${file.size}`]);
  const source = request.isHead ? noBytes() : await open(file, first, last);
  return { kind: 'stream', status: range === 'whole' ? 200 : 206, headers, source, totalBytes: last - first + 1 };
}

/** A bucket that cannot be read is a refusal, so it is asked before the head is sent. */
const open = async (file: FileToSend, first: number, last: number): Promise<AsyncIterable<Uint8Array>> =>
  'path' in file ? readFileRange(file.path, first, last) : file.read(first, last);

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Reads a Range header; anything but a single well-formed byte range is ignored. */
export function readRange(
  header: string | undefined,
  size: number,
): { first: number; last: number } | 'whole' | 'unsatisfiable' {
  const parts = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '');
  if (!parts || (parts[1] === '' && parts[2] === '')) return 'whole';
  const [from, to] = [parts[1] ?? '', parts[2] ?? ''];
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return 'whole';
  return first >= size ? 'unsatisfiable' : { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}

/** Content-Disposition (RFC 6266): a plain name for old clients, and the real one in UTF-8 (RFC 8187). */
export function contentDisposition(fileName: string): string {
  const encoded = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*!]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${asciiFileName(fileName)}"; filename*=UTF-8''${encoded}`;
}
