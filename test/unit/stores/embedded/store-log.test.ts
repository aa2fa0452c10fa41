import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openStoreLog, tellingLineOf } from '../../../../src/stores/embedded/store-log.ts';

const started = [
  '7:C 28 Nov 2026 10:00:00.000 # WARNING Memory overcommit must be enabled! Without it, a background save may fail',
  '7:M 28 Nov 2026 10:00:00.001 * monotonic clock: POSIX clock_gettime',
  '7:M 28 Nov 2026 10:00:00.002 * Running mode=standalone, port=6379.',
];

describe('the line of a log that tells why a store has ended', () => {
  for (const line of [
    '# Bad file format reading the append only file a.aof: make a backup of your AOF file, then use ./redis-check-aof --fix',
    '# Unable to obtain the AOF file a.aof length. stat: No such file or directory',
    '# Error writing to the AOF file: No space left on device',
  ])
    it(`is "${line.slice(0, 40)}…" and no warning about memory`, () => {
      assert.equal(tellingLineOf([...started, line, '# Exiting', ''].join('\n')), line);
    });

  it('is the last one where none is about trouble', () => {
    assert.equal(tellingLineOf(`${started.join('\n')}\n`), started.at(-1));
    assert.equal(tellingLineOf(''), 'it wrote nothing');
  });
});

describe('the log of a store', () => {
  const newDir = (t: TestContext): string => {
    const dir = mkdtempSync(join(tmpdir(), 'store-log-'));
    t.after(() => rmSync(dir, { recursive: true }));
    return dir;
  };
  const contentOf = (dir: string) => readFileSync(join(dir, 'log'), 'utf8');
  const line = 'the earlier process could not go on\n';
  const megabytes = (count: number) => line.repeat((count * 1_000_000) / line.length);

  it('keeps its last lines where it is too long, and goes on behind them', (t) => {
    const dir = newDir(t);
    const log = openStoreLog(dir);
    writeSync(log.fd, `${megabytes(11)}Error: the last one\n`);
    log.shorten();
    writeSync(log.fd, 'bye\n');
    const content = contentOf(dir);
    assert.ok(content.startsWith(line) && content.endsWith(`${line}Error: the last one\nbye\n`));
    assert.ok(content.length < 1_100_000, `${content.length} bytes`);
    assert.equal(log.tellingLine(), 'Error: the last one');
  });

  it('keeps why a process has failed when the next one is started', (t) => {
    const dir = newDir(t);
    writeSync(openStoreLog(dir).fd, `${megabytes(11)}Error: the last one\n`);
    assert.equal(openStoreLog(dir).tellingLine(), 'it wrote nothing');
    assert.ok(contentOf(dir).endsWith('Error: the last one\n') && contentOf(dir).length < 1_100_000);
  });

  it('tells nothing of an earlier process, also where it was shortened in between', (t) => {
    const dir = newDir(t);
    writeSync(openStoreLog(dir).fd, megabytes(10.4));
    const log = openStoreLog(dir);
    writeSync(log.fd, `${'all is well\n'.repeat(20_000)}`);
    log.shorten();
    assert.ok(contentOf(dir).startsWith(line) && contentOf(dir).length < 1_100_000);
    assert.equal(log.tellingLine(), 'all is well');
  });

  it('keeps the end of a last line that is longer than what is kept', (t) => {
    const dir = newDir(t);
    const log = openStoreLog(dir);
    writeSync(log.fd, `${megabytes(10)}Error: ${'y'.repeat(1_100_000)}z\n`);
    log.shorten();
    assert.ok(contentOf(dir).endsWith('yz\n') && contentOf(dir).length < 1_100_000);
    assert.match(log.tellingLine(), /^y{400}$/);
  });

  it('keeps its end where what is kept cannot be written', (t) => {
    const dir = newDir(t);
    writeSync(openStoreLog(dir).fd, `${megabytes(11)}Error: the last one\n`);
    const before = contentOf(dir);
    const module = new URL('../../../../src/stores/embedded/store-log.js', import.meta.url).href;
    const program = `
      const { openStoreLog } = await import(${JSON.stringify(module)});
      openStoreLog(${JSON.stringify(dir)});`;
    // No byte of a file may be written beyond its first 512 KiB: what is kept is longer.
    const script = 'ulimit -f 1024; exec "$0" --input-type=module -e "$1"';
    execFileSync('sh', ['-c', script, process.execPath, program]);
    assert.ok(contentOf(dir).endsWith(before.slice(-1_100_000)));
  });

  it('stays as it is where it was removed', (t) => {
    const dir = newDir(t);
    const log = openStoreLog(dir);
    rmSync(join(dir, 'log'));
    log.shorten();
    assert.equal(log.tellingLine(), 'it wrote nothing');
  });
});
