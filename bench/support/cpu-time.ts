import { readFileSync } from 'node:fs';

/** User and system time of a process in seconds; the kernel counts ticks of 1/100 s. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Time that all processors together have been busy, in seconds. */
export function machineSeconds(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/ +/).slice(1).map(Number) ?? [];
  return (user + nice + system + irq + softIrq) / 100;
}

export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
