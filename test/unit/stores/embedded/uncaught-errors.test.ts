import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const guard = new URL('../../../../src/stores/embedded/engine/uncaught-errors.js', import.meta.url).href;

test('a process continues after uncaught errors and logs at most one a second', async () => {
  const program = `
    const { logUncaughtErrors } = await import(${JSON.stringify(guard)});
    logUncaughtErrors((line) => console.log(line.split('\\n')[0]));
    const fail = (message) => setImmediate(() => { throw new Error(message); });
    for (let n = 0; n < 50; n += 1) fail('of a listener ' + n);
    Promise.reject(new Error('of a promise'));
    setTimeout(() => fail('later'), 2000);
    setTimeout(() => console.log('still here'), 2100);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, 3, stdout);
  assert.match(lines[0] ?? '', /^\d{4}-\S+ error: unhandled rejection: Error: of a promise$/);
  assert.match(lines[1] ?? '', /error: uncaught exception \(and 50 others before it\): Error: later$/);
  assert.equal(lines[2], 'still here');
});
