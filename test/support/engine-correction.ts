import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { assetPath } from '../../src/platform/assets.ts';

interface Correction {
  offset: number;
  /** In hexadecimal digits. */
  original: string;
  corrected: string;
  what: string;
}

interface Corrector {
  originalEngine: string;
  corrections: Record<string, Correction[]>;
  corrected(bytes: Buffer): Buffer | undefined;
}

const { originalEngine, corrections, corrected } = (await import(
  pathToFileURL(assetPath('scripts/correct-engine.mjs')).href
)) as Corrector;

/** The HTTP engine's binary as the package has it. */
export const original = readFileSync(originalEngine);
/** The corrections of the build; undefined for an unknown binary. */
export const changes = corrections[createHash('sha256').update(original).digest('hex')];
/** For tests of what only a corrected engine does. */
export const whereCorrected = { skip: changes ? false : 'no correction is known for the HTTP engine of this system' };
export { corrected };
