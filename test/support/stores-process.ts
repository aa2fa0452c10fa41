/**
 * A process that owns embedded stores, for tests that kill it: `node stores-process.js <DATA_DIR> [store …]`. Prints
 * one JSON line with the URLs and process numbers when they serve. SIGTERM stops them; SIGINT is ignored, as it is
 * meant for the whole group.
 */
import { createLog } from '../../src/log.ts';
import { type StoreName, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';

const [dataDir = '', ...names] = process.argv.slice(2);
const all = ['redis', 'redisJobs', 'postgres', 'clickhouse'] as const;
const isNeeded = (name: StoreName) => names.length === 0 || names.includes(name);
const need = {
  redis: isNeeded('redis'),
  redisJobs: isNeeded('redisJobs'),
  postgres: isNeeded('postgres'),
  clickhouse: isNeeded('clickhouse'),
};

const env = { ...process.env, PATH: process.env['STORES_PATH'] ?? process.env['PATH'] };
const { stop, pid, ...urls } = await startEmbeddedStores({ dataDir, needed: need, log: createLog('error'), env });
process.on('SIGINT', () => {});
process.on('SIGTERM', () => void stop().then(() => process.exit(0)));
setInterval(() => {}, 60_000);
process.stdout.write(`${JSON.stringify({ urls, pids: Object.fromEntries(all.map((name) => [name, pid(name)])) })}\n`);
