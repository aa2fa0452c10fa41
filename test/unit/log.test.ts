import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
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

/** Logs errors as clients of stores give them, with a secret among the arguments of each command or statement. */
const failingProgram = `
  import { createLog } from '${logModule}';
  const command = () => ({ name: 'xadd', args: ['answer-secret'] });
  const failed = (fields) => Object.assign(new Error('ERR failed'), { command: command() }, fields);
  const unknown = new Error("ERR unknown command 'hello', with args beginning with: '3' 'answer-secret'");
  const circular = failed({});
  circular.self = circular;
  circular.cause = circular;
  const log = createLog('info').child({ part: 'test' });
  log.error({ err: failed({}) }, 'a command');
  log.error(failed({}), 'an error alone');
  log.error({ err: failed({ previousErrors: [failed({}), failed({})] }) }, 'a transaction');
  log.error({ err: failed({ lastNodeError: failed({}) }) }, 'a node');
  log.error({ err: new Error('outer', { cause: failed({ cause: unknown }) }) }, 'a cause');
  log.error({ err: new AggregateError([failed({}), unknown]) }, 'several');
  log.error({ err: { reason: { command: command() } } }, 'no error');
  log.error({ err: circular }, 'a circle');
  const statement = "Unknown table 'd.responses' in scope SELECT 1 FROM d.responses WHERE respondent = 'answer-secret'";
  const response = 'The response store cannot be reached';
  log.error({ err: new Error(response, { cause: new Error(statement) }) }, 'a statement');
  const called = "Memory limit exceeded: while executing 'FUNCTION position(answer, 'answer-secret'_String :: 2) -> hit'";
  log.error({ err: new Error(response, { cause: new Error(called + '. In scope SELECT answer-secret') }) }, 'a function');
  const attempts = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')];
  log.error({ err: new Error('outer', { cause: new AggregateError(attempts) }) }, 'two addresses');`;

describe('the log', () => {
  it('has the names of commands that failed, and none of their arguments', () => {
    const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', failingProgram], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const lines = stderr.trim().split('\n');
    assert.equal(lines.length, 11);
    assert.doesNotMatch(stderr, /answer-secret/);
    const named = lines.filter((line) => line.includes('"command":{"name":"xadd"}'));
    assert.equal(named.length, 7, 'the fields of a cause are not logged');
    assert.match(stderr, /cannot be reached: Unknown table 'd\.responses'"/);
    assert.match(stderr, /cannot be reached: Memory limit exceeded"/);
    assert.match(stderr, /outer: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127\.0\.0\.1:1"/);
    assert.match(stderr, /outer: ERR failed: ERR unknown command 'hello'/);
  });

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
