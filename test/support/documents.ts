import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { assetPath } from '../../src/platform/assets.ts';
import { adminPassword, type RunningService } from './service.ts';

const projectFolder = dirname(assetPath('README.md'));
const documentedOrigin = 'http://127.0.0.1:3000';

/** Reason to skip a tour whose programs are not installed; false when they are. */
export function missing(...programs: string[]): string | false {
  return programs.every((program) => spawnSync(program, ['--version']).status === 0)
    ? false
    : `needs ${programs.join(', ')}`;
}

/** The tour of a page (its first block of shell lines that calls the service), with the address and password of this service. */
export function tourOf(page: string, { origin }: Pick<RunningService, 'origin'>): string {
  const blocks = [...readFileSync(assetPath(page), 'utf8').matchAll(/\n```sh\n([\s\S]*?)\n```\n/g)].map(
    ([, lines = '']) => lines,
  );
  const tour = blocks.find((lines) => lines.includes(documentedOrigin));
  assert.ok(tour, `${page} has no tour`);
  return tour.replaceAll(documentedOrigin, origin).replace("'long enough'", `'${adminPassword}'`);
}

/** Runs lines in bash, in the project's folder, and returns what they print. Every tour sets the password by itself. */
export async function paste(
  lines: string,
  { flags = [], cwd = projectFolder }: { flags?: string[]; cwd?: string } = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', [...flags, '-c', lines], {
    cwd,
    timeout: 120_000,
    env: { ...process.env, ADMIN_PASSWORD: '' },
  });
  return stdout;
}

/** Runs lines in an empty folder and stops at the first command that fails. `look` gets the folder before it is removed. */
export async function pasteInFolder<T>(lines: string, look: (stdout: string, folder: string) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'survey-tour-'));
  try {
    return look(await paste(lines, { flags: ['-euo', 'pipefail'], cwd: folder }), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
