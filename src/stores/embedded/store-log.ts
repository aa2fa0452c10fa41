import { closeSync, ftruncateSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const maxLogBytes = 10 * 1024 * 1024;
/** A log that has become too long keeps as many bytes. */
const keptBytes = 1024 * 1024;
const maxLineLength = 400;
const wroteNothing = 'it wrote nothing';

/** The log of a store from the start of one of its processes on. */
export interface StoreLog {
  fd: number;
  /** The line that tells most about why the process has ended or is not ready. */
  tellingLine(): string;
  /** Whether the process has written that its port is in use. */
  saysPortInUse(): boolean;
  /** Leaves the end of a log that has become too long. */
  shorten(): void;
}

export function openStoreLog(dir: string): StoreLog {
  const file = join(dir, 'log');
  // Whatever a process writes is appended, also where the file was shortened under it.
  const fd = openSync(file, 'a', 0o600);
  shortenFile(file);
  let start = statSync(file).size;
  const written = (): string => {
    try {
      return readFileSync(file).subarray(start).toString('utf8');
    } catch {
      return '';
    }
  };
  return {
    fd,
    tellingLine: () => tellingLineOf(written()),
    saysPortInUse: () => portInUse.test(written()),
    shorten: () => (start = Math.max(0, start - shortenFile(file))),
  };
}

/**
 * Leaves the last lines of a file that is too long, or the end of the last one, and returns by how many bytes its
 * beginning has come nearer. They are written over its beginning, which needs no room on the disk, and only then is it
 * cut. A line is lost only if it is written between the end of reading and the cut, the very next calls. A file that
 * cannot be shortened, for example because somebody has removed it, keeps its end.
 */
function shortenFile(file: string): number {
  try {
    const { size } = statSync(file);
    if (size <= maxLogBytes) return 0;
    const fd = openSync(file, 'r+');
    try {
      const read = readFrom(fd, size - keptBytes);
      const lineStart = read.indexOf('\n') + 1;
      const kept = lineStart < read.length ? read.subarray(lineStart) : read;
      writeFileSync(fd, kept);
      const late = readFrom(fd, size - keptBytes + read.length);
      writeFileSync(fd, late);
      ftruncateSync(fd, kept.length + late.length);
      return size - keptBytes + read.length - kept.length;
    } finally {
      closeSync(fd);
    }
  } catch {
    return 0;
  }
}

/** The rest of a file, with what is appended while it is read. */
function readFrom(fd: number, start: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const piece = Buffer.alloc(keptBytes);
    const length = readSync(fd, piece, 0, keptBytes, at);
    if (length === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, length));
    at += length;
  }
}

/** The words of the operating system, which Redis, PostgreSQL and Node.js repeat. */
const portInUse = /address already in use/i;

/** Redis warns at every start that it may fail where memory is not overcommitted. */
const warning = /\bWARNING\b/;
const trouble = /error|fatal|fail|cannot|can't|could not|unable|denied|bad |no such|no space/i;

/** The last line about trouble, else the last one, of what a process wrote. */
export function tellingLineOf(written: string): string {
  const lines = written.trim().split('\n');
  const telling = lines.findLast((line) => trouble.test(line) && !warning.test(line));
  return (telling ?? lines.at(-1) ?? '').trim().slice(0, maxLineLength) || wroteNothing;
}
