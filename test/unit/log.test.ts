import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';

const logModule = new URL('../../src/log.js', import.meta.url).href;

/** Logs and exits when it hears something. */
const program = `
  import { createLog } from '${logModule}';
  const log = createLog('info');
  process.stdin.once('data', () => {
    for (let line = 0; line < 10; line++) log.info('stopping');
    process.exit(3);
  });
  process.stdout.write('listening');`;

describe('the log', () => {
  it('does not keep a process from ending whose standard error nobody reads any more', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    await once(child.stdout, 'data');
    child.stderr.destroy();
    await once(child.stderr, 'close');
    child.stdin.write('stop');
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    const [code] = await once(child, 'exit');
    clearTimeout(timer);
    assert.equal(code, 3);
  });

  it('is written to its end when the process exits at once', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await once(child.stdout, 'data');
    child.stdin.write('stop');
    const [code] = await once(child, 'close');
    assert.equal(code, 3);
    assert.equal(text.trim().split('\n').length, 10);
  });
});
