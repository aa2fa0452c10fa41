import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newId } from '../../../src/platform/ids.ts';
import { createExportFiles } from '../../../src/stores/export-files.ts';
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
