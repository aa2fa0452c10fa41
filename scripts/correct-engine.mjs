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
 * The bytes to change, by the SHA-256 of the original, in hexadecimal digits. Offsets are those in the file, here the
 * same as the addresses that objdump shows.
 *
 * Header bytes: each change is the opcode of a conditional jump behind a comparison of one byte of the request. The
 * compiler took `char` for signed, so bytes of 0x80 and above count as less than a blank. The unsigned jump is as long
 * and as fast as the signed one.
 *
 * Half close: the function that is called when a client has closed its sending half closes the connection. Where a
 * request has come to its end and its reply has not begun, it now only notes that the connection is to be closed after
 * the reply, as for a request with `Connection: close`. The new code lies where the same function of TLS servers was,
 * which is told to use its neighbour, the same in every byte.
 */
export const corrections = {
  // uws_linux_x64_115.node (Node 20) of @trufflesuite/uws-js-unofficial 20.30.0-unofficial.0
  f158fb441f7e2e37b3ab9a56782fe37f4c0d33b5cd32e96ee5c0120ce7db7ced: [
    { offset: 0xeb655, original: '7d', corrected: '73', what: 'jge to jae: where blanks at the end of a value stop' },
    { offset: 0xeb670, original: '7f', corrected: '77', what: 'jg to ja: where blanks at the start of a value stop' },
    { offset: 0xeb0a2, original: '8c', corrected: '82', what: 'jl to jb: where the size of a chunk ends, first byte' },
    { offset: 0xeb116, original: '7d', corrected: '73', what: 'jge to jae: where the size of a chunk ends, others' },
    {
      offset: 0xf98a0,
      original: '48 89 fe 31 ff',
      corrected: 'e9 7d 08 ff ff', // jmp ea122
      what: 'the end of a client’s half, HttpContext<false>: to the new code',
    },
    {
      offset: 0xea120,
      original: '48 89 fe bf 01 00 00 00 31 d2 31 c9 e9 af 6d fd ff 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 44 00',
      corrected: [
        'eb 1e', //                      ea120  jmp ea140               HttpContext<true>: its neighbour closes as well
        '8a 87 f4 00 00 00', //          ea122  mov al, [rdi + 0xf4]    state of the response
        '24 09', //                      ea128  and al, 9               pending (8), status written (1)
        '3c 08', //                      ea12a  cmp al, 8
        '75 0c', //                      ea12c  jne ea13a               no request, or the reply has begun
        '48 83 bf d8 00 00 00 00', //    ea12e  cmp qword [rdi + 0xd8], 0
        '75 02', //                      ea136  jne ea13a               a body that is still received
        'eb 17', //                      ea138  jmp ea151
        'e9 71 f7 00 00', //             ea13a  jmp f98b0               closes, as before
      ].join(' '),
      what: 'whether a whole request waits for its reply',
    },
    {
      offset: 0xea151,
      original: '66 2e 0f 1f 84 00 00 00 00 00 0f',
      corrected: [
        '80 8f f4 00 00 00 10', //       ea151  or byte [rdi + 0xf4], 16  to be closed after the reply
        '48 89 f8', //                   ea158  mov rax, rdi
        'c3', //                         ea15b  ret
      ].join(' '),
      what: 'closes after the reply',
    },
  ],
};

const bytesOf = (hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/**
 * The corrected bytes, or undefined for a binary that no correction is known for. Throws if a byte is not the expected
 * one.
 */
export function corrected(bytes) {
  const changes = corrections[createHash('sha256').update(bytes).digest('hex')];
  if (!changes) return undefined;
  const copy = Buffer.from(bytes);
  for (const { offset, original, corrected: after, what } of changes) {
    const [expected, replacement] = [bytesOf(original), bytesOf(after)];
    const found = copy.subarray(offset, offset + expected.length);
    if (!found.equals(expected) || replacement.length !== expected.length)
      throw new Error(`${binaryName} has ${found.toString('hex')} at ${offset}, not ${original} (${what})`);
    replacement.copy(copy, offset);
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
