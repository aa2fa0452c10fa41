import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ok, route } from '../../../../src/http/routing/route.ts';
import { assertNativeServer, keepsHeaderBytes, warnOfTrimmedHeaders } from '../../../../src/http/server/uwebsockets.ts';
import { assetPath } from '../../../../src/platform/assets.ts';
import { changes, corrected, original, whereCorrected } from '../../../support/engine-correction.ts';
import { startLoopback } from '../../../support/loopback-server.ts';
import { common } from '../../../support/things-server.ts';

describe('the HTTP engine', () => {
  it('is native', () => assertNativeServer());

  it('keeps bytes above 0x7f at the ends of header values, and logs no warning', whereCorrected, async () => {
    assert.equal(await keepsHeaderBytes(), true);
    await warnOfTrimmedHeaders({ warn: () => assert.fail('there was a warning') });
  });

  it('differs from the one of the package in the listed bytes only', whereCorrected, () => {
    const copy = corrected(original);
    assert.ok(copy && changes && copy.length === original.length);
    const restored = Buffer.from(copy);
    for (const { offset, original: before, corrected: after, what } of changes) {
      const [was, is] = [before, after].map((hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex'));
      assert.ok(was && is && was.length === is.length && !was.equals(is), what);
      assert.deepEqual(copy.subarray(offset, offset + is.length), is, what);
      restored.set(was, offset);
    }
    assert.ok(restored.equals(original));
  });

  it('is corrected wherever the service is built', () => {
    for (const file of ['Dockerfile', 'package.json'])
      assert.match(readFileSync(assetPath(file), 'utf8'), /&& node scripts\/correct-engine\.mjs/, file);
  });

  it('of an unknown build is not touched', () => {
    assert.equal(corrected(Buffer.concat([original, Buffer.from([0])])), undefined);
    assert.equal(corrected(Buffer.from('something else')), undefined);
  });
});

/**
 * The package's own build cannot be loaded beside the corrected one, so it gets a process, with a build that has no
 * copy.
 */
describe('the HTTP engine without a corrected copy', () => {
  const build = mkdtempSync(join(tmpdir(), 'engine-'));
  before(() => {
    mkdirSync(join(build, 'src', 'http'), { recursive: true });
    copyFileSync(
      fileURLToPath(new URL('../../../../src/http/server/uwebsockets.js', import.meta.url)),
      join(build, 'src', 'http', 'engine.js'),
    );
    writeFileSync(join(build, 'package.json'), '{"type":"module"}');
    symlinkSync(assetPath('node_modules'), join(build, 'node_modules'));
  });
  after(() => rmSync(build, { recursive: true, force: true }));

  it('is that of the package, and a warning at the start says that it drops bytes', whereCorrected, async () => {
    const program = `
      const engine = await import(${JSON.stringify(pathToFileURL(join(build, 'src', 'http', 'engine.js')).href)});
      engine.assertNativeServer();
      console.log(await engine.keepsHeaderBytes());
      await engine.warnOfTrimmedHeaders({ warn: (fields, message) => console.log(message) });`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    assert.match(
      stdout,
      /^false\nheader values with bytes above 0x7f at their ends cannot be told apart by this build/,
    );
  });
});

describe('the size of a chunk', () => {
  const things = route({
    ...common,
    method: 'POST',
    path: '/things',
    body: z.unknown(),
    handle: async ({ body }) => ok(body),
  });
  const say = async (port: number, size: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      socket.end();
    });
    socket.write(
      `POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${size}\r\n{"name":"a"}\r\n0\r\n\r\n`,
      'latin1',
    );
    await once(socket, 'close');
    return heard;
  };

  it('ends before no byte above 0x7f: the connection is closed', whereCorrected, async () => {
    const server = await startLoopback({ api: [things] });
    try {
      assert.match(await say(server.port, 'c'), /^HTTP\/1\.1 200 /);
      for (const size of ['c\x80', 'c\xff', '\xe9c', 'c\xa0\xa0', '\x80'])
        assert.doesNotMatch(await say(server.port, size), /^HTTP\/1\.1 2/, Buffer.from(size, 'latin1').toString('hex'));
    } finally {
      await server.stop();
    }
  });
});
