import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { assetPath } from '../../src/assets.ts';
import { adminPassword, type RunningService } from './service.ts';

const readme = assetPath('README.md');

/** Why what is pasted cannot be tried here; false where it can. */
export function missing(...programs: string[]): string | false {
  return programs.every((program) => spawnSync(program, ['--version']).status === 0) ? false : `needs ${programs.join(', ')}`;
}

/** The lines for a shell that stand in a section of the README, as they would be pasted for this service. */
export function readmeLines(section: string, { origin }: Pick<RunningService, 'origin'>): string {
  const lines = new RegExp(`\\n## ${section}\\n[\\s\\S]*?\\n\`\`\`sh\\n([\\s\\S]*?)\\n\`\`\`\\n`).exec(readFileSync(readme, 'utf8'))?.[1] ?? '';
  assert.ok(lines.includes('http://127.0.0.1:3000'), `the README shows nothing to paste under ${section}`);
  return lines.replaceAll('http://127.0.0.1:3000', origin).replace("'long enough'", `'${adminPassword}'`);
}

/** Pastes lines into bash, in the project's folder; gives what was printed. Every tour sets the password by itself. */
export async function paste(lines: string, { flags = [], cwd = dirname(readme) }: { flags?: string[]; cwd?: string } = {}): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', [...flags, '-c', lines], { cwd, timeout: 60_000, env: { ...process.env, ADMIN_PASSWORD: '' } });
  return stdout;
}

/** The same in an empty folder, stopped by the first command that fails; `look` is given the folder before it goes. */
export async function pasteInFolder<T>(lines: string, look: (stdout: string, folder: string) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'survey-readme-'));
  try {
    return look(await paste(lines, { flags: ['-euo', 'pipefail'], cwd: folder }), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
