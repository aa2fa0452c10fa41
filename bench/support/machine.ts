import { cpus, release, totalmem } from 'node:os';

/** One line that names the machine, printed before every figure. */
export function machineLine(): string {
  const [first] = cpus();
  return `machine: ${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${release()}, Node ${process.versions.node}`;
}

/** `--name value` from the command line. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}
