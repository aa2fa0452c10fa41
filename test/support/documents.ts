import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { assetPath } from '../../src/platform/assets.ts';
import { adminPassword, type RunningService } from './service.ts';

const projectFolder = dirname(assetPath('README.md'));

/** Reason to skip a tour whose programs are not installed; false when they are. */
export function missing(...programs: string[]): string | false {
  return programs.every((program) => spawnSync(program, ['--version']).status === 0)
    ? false
    : `needs ${programs.join(', ')}`;
}

const signingIn = '. docs/guide/tour.sh';

/** The blocks of code of a page that are in a language. */
export const examplesOf = (page: string, language: string): string[] =>
  readFileSync(assetPath(page), 'utf8')
    .split(`\n\`\`\`${language}\n`)
    .slice(1)
    .map((rest) => rest.slice(0, rest.indexOf('\n```\n')));

/** The tour of a page: the block of shell lines that signs in, and the one after it. */
export function tourOf(page: string, { origin }: Pick<RunningService, 'origin'>): string {
  const blocks = examplesOf(page, 'sh');
  const first = blocks.findIndex((lines) => lines.startsWith(signingIn));
  const [sign, tour] = blocks.slice(first, first + 2);
  assert.ok(first >= 0 && sign && tour, `${page} has no tour`);
  return `SURVEY_URL=${origin}\n${sign.replace(signingIn, `. '${assetPath('docs/guide/tour.sh')}'`)}\n${tour}`;
}

/** Runs lines in bash, in the project's folder, with the password set, and returns what they print. */
export async function paste(
  lines: string,
  {
    flags = [],
    cwd = projectFolder,
    password = adminPassword,
  }: { flags?: string[]; cwd?: string; password?: string } = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', [...flags, '-c', lines], {
    cwd,
    timeout: 120_000,
    env: { ...process.env, ADMIN_PASSWORD: password },
  });
  return stdout;
}

/**
 * Runs lines in an empty folder and stops at the first command that fails. `look` gets the folder before it is removed.
 */
export async function pasteInFolder<T>(lines: string, look: (stdout: string, folder: string) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'survey-tour-'));
  try {
    return look(await paste(lines, { flags: ['-euo', 'pipefail'], cwd: folder }), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
