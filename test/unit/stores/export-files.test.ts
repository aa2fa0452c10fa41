import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PermanentFailure } from '../../../src/errors.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createExportFiles, type FileSink } from '../../../src/stores/export-files.ts';
import { temporaryDataDir } from '../../support/data-dir.ts';

describe('what a killed process wrote of an export', () => {
  const begin = async () => {
    const dataDir = temporaryDataDir();
    const [files, killed, other] = [createExportFiles(dataDir), newId(), newId()];
    const names = () => readdirSync(join(dataDir, 'exports')).sort();
    const write = (id: string, text: string, before?: Promise<void>) =>
      files.write(id, async (sink) => {
        await sink.write(Buffer.from(text));
        await before;
      });
    await write(other, 'other');
    const parts = [killed, other].map((id) => `${id}.0123456789ab.part`);
    for (const part of parts) writeFileSync(join(dataDir, 'exports', part), 'half');
    return { files, killed, other, parts, names, write };
  };

  it('goes when another process has written the file, and nothing of other exports with it', async () => {
    const { killed, other, parts, names, write } = await begin();
    await write(killed, 'whole');
    assert.deepEqual(names(), [killed, other, parts[1]].sort());
  });

  it('goes with the export', async () => {
    const { files, killed, other, parts, names } = await begin();
    await files.remove(killed);
    assert.deepEqual(names(), [other, parts[1]].sort());
  });

  it('leaves a process that still writes the same file the one that was first', async () => {
    const { killed, names, write } = await begin();
    let goOn: () => void = () => undefined;
    const slow = write(
      killed,
      'whole',
      new Promise((resolve) => {
        goOn = resolve;
      }),
    );
    const first = await write(killed, 'whole');
    goOn();
    assert.deepEqual(await slow, first);
    assert.deepEqual(
      names().filter((name) => name.startsWith(killed)),
      [killed],
    );
  });
});

describe('a file of an export', () => {
  it('is made although nothing is written of it for more than an hour', async () => {
    const [files, id] = [createExportFiles(temporaryDataDir()), newId()];
    const { fileSize } = await files.write(id, async (sink) => {
      await files.list(Date.now() + 2 * 3_600_000);
      await sink.write(Buffer.from('measured first'));
    });
    assert.equal(fileSize, 14);
    assert.equal(readFileSync(files.path(id), 'utf8'), 'measured first');
  });

  it('may have no byte', async () => {
    const [files, id] = [createExportFiles(temporaryDataDir()), newId()];
    assert.equal((await files.write(id, async () => undefined)).fileSize, 0);
    assert.equal(await files.size(id), 0);
  });

  it('leaves the stores their share of the disk, as does what is kept for it', async () => {
    let freeBytes = 2 ** 40;
    const dataDir = temporaryDataDir();
    const files = createExportFiles(dataDir, { spaceOf: async () => ({ freeBytes, totalBytes: 2 ** 40 }) });
    const fill = async ({ write }: FileSink) => {
      freeBytes = 2 ** 40;
      await write(Buffer.alloc(2 ** 20));
      freeBytes = 0;
      for (let written = 1; written < 15; written += 1) await write(Buffer.alloc(2 ** 20));
      await assert.rejects(write(Buffer.alloc(2 ** 20)), PermanentFailure);
      throw new Error('to be removed');
    };
    await assert.rejects(files.write(newId(), fill), /to be removed/);
    freeBytes = 2 ** 40;
    await assert.rejects(files.withScratchFile(newId(), fill), /to be removed/);
    assert.deepEqual(readdirSync(join(dataDir, 'exports')), []);
  });
});
