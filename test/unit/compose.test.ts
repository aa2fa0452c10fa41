import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assetPath } from '../../src/platform/assets.ts';
import { environmentSchema } from '../../src/settings/definitions.ts';
import { intakeConfiguration } from '../../src/stores/redis/intake/server-check.ts';

const compose = readFileSync(assetPath('docker-compose.yml'), 'utf8');
const settings = Object.keys(environmentSchema.shape);

/** The text of each service, by its name. */
const services = new Map(
  [
    ...(compose.split(/^services:\n/m)[1]?.split(/^volumes:\n/m)[0] ?? '').matchAll(
      /^ {2}([a-z-]+):\n((?: {4}.*\n|\n| {2}#.*\n)+)/gm,
    ),
  ].map(([, name = '', text = '']) => [name, text]),
);
const stores = ['redis-intake', 'redis-jobs', 'postgres', 'clickhouse'];

/** The names in the block that all roles share. */
const shared = [...(/^x-environment:[\s\S]*?\n\n/m.exec(compose)?.[0] ?? '').matchAll(/^ {2}([A-Z0-9_]+):/gm)].map(
  ([, name]) => name ?? '',
);

test('docker-compose.yml passes the upload settings to all roles, and no unknown setting', () => {
  const uploads = settings.filter((name) => name.startsWith('UPLOAD_'));
  assert.ok(uploads.length >= 7, String(uploads));
  assert.deepEqual(
    uploads.filter((name) => !shared.includes(name)),
    [],
  );
  assert.deepEqual(
    shared.filter((name) => !settings.includes(name)),
    [],
  );
});

test('docker-compose.yml configures the intake as the start requires', () => {
  for (const [name, value] of Object.entries(intakeConfiguration))
    assert.match(services.get('redis-intake') ?? '', new RegExp(`- --${name}\n +- "?${value}"?\n`), name);
});

test('docker-compose.yml sets the TCP retries that docs/guide/live.md names', () => {
  const page = readFileSync(assetPath('docs/guide/live.md'), 'utf8');
  const [, named] = /`net\.ipv4\.tcp_retries2=(\d+)`/.exec(page) ?? [];
  const [, set] = /^ {2}http:[\s\S]*?net\.ipv4\.tcp_retries2: "(\d+)"[\s\S]*?^ {2}ingest:/m.exec(compose) ?? [];
  assert.ok(named !== undefined);
  assert.equal(set, named);
});

test('docker-compose.yml starts each role after its stores and the one that migrates, and refers to nothing that is missing', () => {
  assert.deepEqual([...services.keys()], ['http', 'ingest', 'jobs', ...stores]);
  const anchored = /depends_on: &stores\n((?: {6}.*\n)+)/.exec(services.get('http') ?? '')?.[1] ?? '';
  assert.deepEqual(
    [...anchored.matchAll(/^ {6}([a-z-]+): \{ condition: service_healthy \}$/gm)].map(([, name]) => name),
    stores,
  );
  for (const role of ['ingest', 'jobs'])
    assert.match(services.get(role) ?? '', /<<: \*stores\n(?: +#.*\n)* +http: \{ condition: service_healthy \}/);
  const declared = [...(/^volumes:\n((?: {2}.*\n?)+)/m.exec(compose)?.[1] ?? '').matchAll(/^ {2}([a-z-]+):/gm)].map(
    ([, name]) => name,
  );
  const used = [...compose.matchAll(/^ +- ([a-z-]+):\//gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(used)].sort(), declared.sort());
});

test('docs/operating.md says how to empty the stores of docker-compose.yml, fill them, and start the service last', () => {
  const page = readFileSync(assetPath('docs/operating.md'), 'utf8');
  const [, commands = ''] = /^### Restore\n[\s\S]*?```sh\n([\s\S]*?)```/m.exec(page) ?? [];
  const [, project] = /^name: (.+)$/m.exec(compose) ?? [];
  const [, removed = ''] = /^docker volume rm --force (.+)$/m.exec(commands) ?? [];
  assert.deepEqual(removed.split(' ').sort(), stores.map((store) => `${project}_${store}`).sort());
  const [, started = ''] = /^docker compose up --detach --wait (.+)$/m.exec(commands) ?? [];
  assert.deepEqual(started.split(' ').sort(), [...stores].sort());
  assert.match(
    commands,
    /pg_restore .*--no-owner[\s\S]*RESTORE DATABASE[\s\S]*chown -R node:node \/data\n[^\n]* up --detach\n$/,
  );
});

test('docker-compose.yml keeps personal data out of the log of PostgreSQL, as the embedded one does', () => {
  const embedded = readFileSync(assetPath('src/stores/embedded/postgres.ts'), 'utf8');
  const settings = [...embedded.matchAll(/^ +(log_(?:min_error_statement|error_verbosity)): '(\w+)',$/gm)];
  assert.equal(settings.length, 2);
  for (const [, name, value] of settings)
    assert.ok(services.get('postgres')?.includes(`"-c", "${name}=${value}"`), name);
});

test('docker-compose.yml bounds the log of every container', () => {
  assert.match(
    compose,
    /^x-logging: &logging\n {2}driver: json-file\n {2}options: \{ max-size: \d+m, max-file: "\d+" \}$/m,
  );
  assert.equal(
    [...compose.matchAll(/^ +logging: \*logging$/gm)].length,
    [...compose.matchAll(/^ +restart: unless-stopped$/gm)].length,
  );
});

test('docker-compose.yml names images by their version', () => {
  const images = [...compose.matchAll(/^ +image: (\S+)$/gm)]
    .map(([, image = '']) => image)
    .filter((image) => image !== 'survey-service');
  assert.deepEqual(
    images.filter((image) => !/:\d+(\.\d+)*(-[a-z]+)?$/.test(image)),
    [],
  );
  assert.equal(images.length, 3);
});

test('docker-compose.yml gives the service longer to stop than it takes, and stores longer than the default', () => {
  const seconds = (text: string) => Number(/stop_grace_period: (\d+)s/.exec(text)?.[1] ?? 10);
  const hardDeadlineMs = Number(
    /hardDeadlineMs = ([\d_]+)/
      .exec(readFileSync(assetPath('src/processes/shutdown.ts'), 'utf8'))?.[1]
      ?.replace('_', ''),
  );
  const definitions = readFileSync(assetPath('src/settings/definitions.ts'), 'utf8');
  const longestDelayMs = Number(/DRAIN_DELAY_MS: integer\(0, ([\d_]+)\)/.exec(definitions)?.[1]?.replace('_', ''));
  assert.ok(seconds(/^x-service:[\s\S]*?\n\n/m.exec(compose)?.[0] ?? '') * 1000 >= hardDeadlineMs + longestDelayMs);
  for (const store of ['postgres', 'clickhouse']) assert.ok(seconds(services.get(store) ?? '') > 10, store);
});

test('docker-compose.yml asks databases that set themselves up on a private address first by the address that others use', () => {
  const asked = (store: string) => /test: (.*)/.exec(services.get(store) ?? '')?.[1] ?? '';
  // PostgreSQL's set-up listens on a socket only, ClickHouse's on loopback only.
  assert.match(asked('postgres'), /--host 127\.0\.0\.1 /);
  assert.match(asked('clickhouse'), /http:\/\/clickhouse:8123\/ping/);
});
