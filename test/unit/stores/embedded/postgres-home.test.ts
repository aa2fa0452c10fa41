import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { StartError } from '../../../../src/platform/start-error.ts';
import { clusterHome } from '../../../../src/stores/embedded/postgres-home.ts';

/** A service that is not root runs PostgreSQL as its own user. */
const noOther = undefined;
const postgres = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

function newDirs(t: TestContext): { storeDir: string; outside: string } {
  const root = mkdtempSync(join(tmpdir(), 'postgres-home-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  chmodSync(root, 0o755);
  const [storeDir, outside] = [join(root, 'data'), join(root, 'outside')];
  for (const dir of [storeDir, outside]) {
    mkdirSync(dir);
    chmodSync(dir, 0o711);
  }
  return { storeDir, outside };
}

const makeCluster = (dir: string) => mkdirSync(join(dir, 'cluster'));
const nameLocation = (storeDir: string, dir: string) => writeFileSync(join(storeDir, 'location'), `${dir}\n`);

const withoutRights = process.platform === 'win32' ? 'Windows has no such rights' : false;

describe('the cluster of PostgreSQL', { skip: withoutRights }, () => {
  it('lies in DATA_DIR where nothing else is said, and stays there', (t) => {
    const { storeDir } = newDirs(t);
    assert.deepEqual([clusterHome(storeDir, noOther), clusterHome(storeDir, postgres)], [storeDir, storeDir]);
    makeCluster(storeDir);
    assert.deepEqual([clusterHome(storeDir, noOther), clusterHome(storeDir, postgres)], [storeDir, storeDir]);
  });

  it('lies where the file location says for a normal user too, to whom root has handed DATA_DIR over', (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    makeCluster(outside);
    assert.deepEqual([clusterHome(storeDir, postgres), clusterHome(storeDir, noOther)], [outside, outside]);
  });

  it('is not replaced by an empty one where the directory that location names is gone', (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, join(outside, 'gone'));
    for (const user of [noOther, postgres])
      assert.throws(() => clusterHome(storeDir, user), /outside\/gone\): restore it/);
  });

  it('stays the one that each user had where DATA_DIR holds one and names another', (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    makeCluster(outside);
    makeCluster(storeDir);
    assert.deepEqual([clusterHome(storeDir, postgres), clusterHome(storeDir, noOther)], [outside, storeDir]);
  });

  it('lies in the directory that location names also where the first start ended before it was made', (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    assert.equal(clusterHome(storeDir, postgres), outside);
  });

  it('is the one in DATA_DIR where the directory that location names has none', (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    makeCluster(storeDir);
    assert.equal(clusterHome(storeDir, postgres), storeDir);
  });

  it('is not replaced by an empty one where a directory above it is closed to the user postgres', (t) => {
    const { storeDir } = newDirs(t);
    const above = dirname(storeDir);
    const stranger = { uid: 65_533, gid: 65_533 };
    makeCluster(storeDir);
    chmodSync(above, 0o700);
    assert.throws(
      () => clusterHome(storeDir, stranger),
      (error) =>
        error instanceof StartError &&
        error.message.startsWith(`the database in ${storeDir}/cluster cannot be reached by the user postgres: `) &&
        error.message.includes(`open ${above} `),
    );
    assert.deepEqual(readdirSync(storeDir), ['cluster']);
  });

  const skip = process.getuid?.() === 0 ? false : 'needs to be root';

  it('is refused to a user to whom only DATA_DIR was handed over', { skip }, (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    makeCluster(outside);
    assert.match(
      refusalOfNobody(storeDir),
      /StartError: the database that .*location names .* hand that directory over to this user/,
    );
  });

  it('is refused to a user who cannot see whether another DATA_DIR still uses it', { skip }, (t) => {
    const { storeDir, outside } = newDirs(t);
    nameLocation(storeDir, outside);
    makeCluster(outside);
    const hidden = join(dirname(storeDir), 'hidden');
    mkdirSync(hidden, { mode: 0o700 });
    const claim = join(outside, 'named-by');
    writeFileSync(claim, join(hidden, 'location'));
    for (const file of [outside, claim]) chownSync(file, 65_534, 65_534);
    assert.match(
      refusalOfNobody(storeDir),
      /StartError: .* may be the one of .*hidden\/location, where this user cannot look/,
    );
    assert.equal(readFileSync(claim, 'utf8'), join(hidden, 'location'));
  });

  it('is not said to be gone to a user who cannot look where it lies', { skip }, (t) => {
    const { storeDir, outside } = newDirs(t);
    const dir = join(outside, 'postgres');
    mkdirSync(dir);
    nameLocation(storeDir, dir);
    chmodSync(outside, 0o700);
    assert.match(refusalOfNobody(storeDir), /^Error: EACCES: permission denied, stat .*outside\/postgres'/m);
  });
});

/** What a process of the user nobody writes that looks for the cluster. */
function refusalOfNobody(storeDir: string): string {
  const module = new URL('../../../../src/stores/embedded/postgres-home.js', import.meta.url).href;
  const program = `
    import { clusterHome } from ${JSON.stringify(module)};
    process.setgroups([]);
    process.setgid(65534);
    process.setuid(65534);
    clusterHome(${JSON.stringify(storeDir)}, undefined);
  `;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }).stderr;
}
