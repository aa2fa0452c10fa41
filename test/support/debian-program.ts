import { spawnSync } from 'node:child_process';

/** The path of a program that is installed. */
export function findProgram(program: string): string | undefined {
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim() || undefined;
}

/**
 * A program that a test needs and Debian has: its path, or why there is none. As root on Debian a missing one is
 * installed, as the service does with Redis.
 */
export function debianProgram(
  program: string,
  debianPackage: string = program,
): { path: string } | { missing: string } {
  const found = findProgram(program);
  if (found !== undefined) return { path: found };
  const missing = `${program} is missing, and only root on Debian can install it (apt-get install ${debianPackage})`;
  if (process.getuid?.() !== 0 || spawnSync('sh', ['-c', 'command -v apt-get']).status !== 0) return { missing };
  // The package of a server does not start it, under systemd or another init.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1', RUNLEVEL: '1' };
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', debianPackage],
  ])
    spawnSync('apt-get', args, { env, stdio: 'ignore' });
  const installed = findProgram(program);
  return installed === undefined ? { missing } : { path: installed };
}
