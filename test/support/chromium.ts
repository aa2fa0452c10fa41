import { type Browser, chromium } from 'playwright-core';
import { debianProgram, findProgram } from './debian-program.ts';

/** Chromium without windows, which takes half the processor time, or a whole one that is there or can be installed. */
function findChromium(): { path: string } | { missing: string } {
  const installed = findProgram('chromium-headless-shell') ?? findProgram('chromium');
  if (installed !== undefined) return { path: installed };
  const shell = debianProgram('chromium-headless-shell');
  return 'path' in shell ? shell : debianProgram('chromium');
}

/** Why there is no browser here; undefined: there is one. */
export function missingChromium(): string | undefined {
  const program = findChromium();
  return 'missing' in program ? program.missing : undefined;
}

/** A headless Chromium with its own profile, which can reach this machine only. */
export function launchChromium(profile: string): Promise<Browser> {
  const program = findChromium();
  return chromium.launch({
    executablePath: 'path' in program ? program.path : '',
    env: { ...process.env, HOME: profile },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  });
}
