import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { debianProgram } from './debian-program.ts';

/**
 * A library for LD_PRELOAD: the wall clock shows the real time and so many seconds more as the file SHIFTED_CLOCK_FILE
 * holds (8 bytes, little endian). It allocates nothing, unlike libfaketime, which does not start together with the
 * allocator of Debian's Redis (jemalloc).
 */
const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static int64_t none = 0;
static volatile int64_t *shift = 0;
static int64_t seconds(void) {
  if (!shift) {
    int file = open(SHIFTED_CLOCK_FILE, O_RDONLY);
    void *mapped = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    shift = mapped == MAP_FAILED ? &none : (int64_t *)mapped;
  }
  return *shift;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
  int code = (int)syscall(SYS_clock_gettime, clock, at);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += seconds();
  return code;
}
int gettimeofday(struct timeval *at, void *zone) {
  int code = (int)syscall(SYS_gettimeofday, at, zone);
  if (code == 0) at->tv_sec += seconds();
  return code;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

export interface ShiftedClock {
  /** Environment of the process whose clock is shifted. */
  env: Record<string, string>;
  set(seconds: number): void;
}

/** Builds the library in a folder, or says why that is not possible. */
export function createShiftedClock(folder: string): ShiftedClock | { missing: string } {
  if (process.platform !== 'linux') return { missing: 'LD_PRELOAD is a matter of Linux' };
  const compiler = debianProgram('gcc');
  if ('missing' in compiler) return compiler;
  const [text, library, file] = [join(folder, 'clock.c'), join(folder, 'clock.so'), join(folder, 'clock')];
  writeFileSync(text, source);
  const built = spawnSync(
    compiler.path,
    ['-shared', '-fPIC', '-O1', `-DSHIFTED_CLOCK_FILE="${file}"`, '-o', library, text],
    { encoding: 'utf8' },
  );
  if (built.status !== 0) return { missing: `the clock cannot be built: ${built.stderr}` };
  const set = (seconds: number): void => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    // In place, since a process has the file mapped.
    const opened = openSync(file, 'r+');
    writeSync(opened, bytes, 0, 8, 0);
    closeSync(opened);
  };
  writeFileSync(file, Buffer.alloc(8));
  return { env: { LD_PRELOAD: library }, set };
}
