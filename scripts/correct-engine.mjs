// Writes a corrected copy of the HTTP engine's native binary to dist/native. The build runs it (prepare.mjs, npm run
// build, Dockerfile); src/http/server/uwebsockets.ts loads the copy. Plain JavaScript without dependencies, like
// prepare.mjs.
// Usage: node scripts/correct-engine.mjs [the folder of the build]
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const binaryName = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;

/**
 * The binary that the package itself would load here. There is none for a Node version or system that it does not know.
 */
export const originalEngine = join(root, 'node_modules', 'uWebSockets.js', 'binaries', binaryName);

/**
 * The bytes to change, by the SHA-256 of the original. Each is the opcode of a conditional jump behind a comparison of
 * one byte of the request. The compiler took `char` for signed, so bytes of 0x80 and above count as less than a blank.
 * The unsigned jump is as long and as fast as the signed one. Offsets are those in the file, here the same as the
 * addresses that objdump shows.
 */
export const corrections = {
  // uws_linux_x64_115.node (Node 20) of @trufflesuite/uws-js-unofficial 20.30.0-unofficial.0
  f158fb441f7e2e37b3ab9a56782fe37f4c0d33b5cd32e96ee5c0120ce7db7ced: [
    {
      offset: 0xeb655,
      original: 0x7d,
      corrected: 0x73,
      what: 'jge to jae: where blanks at the end of a header value stop',
    },
    {
      offset: 0xeb670,
      original: 0x7f,
      corrected: 0x77,
      what: 'jg to ja: where blanks at the start of a header value stop',
    },
    { offset: 0xeb0a2, original: 0x8c, corrected: 0x82, what: 'jl to jb: where the size of a chunk ends, first byte' },
    {
      offset: 0xeb116,
      original: 0x7d,
      corrected: 0x73,
      what: 'jge to jae: where the size of a chunk ends, further bytes',
    },
  ],
};

/**
 * The corrected bytes, or undefined for a binary that no correction is known for. Throws if a byte is not the expected
 * one.
 */
export function corrected(bytes) {
  const changes = corrections[createHash('sha256').update(bytes).digest('hex')];
  if (!changes) return undefined;
  const copy = Buffer.from(bytes);
  for (const { offset, original, corrected: byte, what } of changes) {
    if (copy[offset] !== original)
      throw new Error(`byte ${offset} of ${binaryName} is ${copy[offset]}, not ${original} (${what})`);
    copy[offset] = byte;
  }
  return copy;
}

/**
 * Writes the copy below `dist`, or removes an older one where there is nothing to correct. True if there is a copy now.
 */
export function correctEngine(dist) {
  const target = join(dist, 'native', binaryName);
  const bytes = existsSync(originalEngine) ? corrected(readFileSync(originalEngine)) : undefined;
  if (!bytes) {
    rmSync(target, { force: true });
    return false;
  }
  mkdirSync(join(dist, 'native'), { recursive: true });
  // Never written in place: a running process has the file mapped into its memory.
  const draft = `${target}.${process.pid}`;
  writeFileSync(draft, bytes, { mode: 0o755 });
  renameSync(draft, target);
  return true;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const isCorrected = correctEngine(resolve(process.argv[2] ?? join(root, 'dist')));
  process.stderr.write(
    isCorrected
      ? `Wrote a corrected ${binaryName}\n`
      : `No correction is known for ${binaryName}: it is used as it is\n`,
  );
}
