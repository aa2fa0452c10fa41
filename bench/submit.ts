import { fork } from 'node:child_process';
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../src/settings.ts';
import { createShards } from '../src/stores/redis/shards.ts';
import { portOf } from './support/peer.ts';
import { machineLine, option } from './support/machine.ts';
import { runLoad, postBytes, type LoadResult } from './support/load.ts';
import { startBenchService, type BenchService, type BenchSurvey } from './support/service.ts';

/**
 * Submissions a second at 64 connections: bare uWebSockets.js that parses and replies (the limit), Fastify with one Postgres row a
 * response (the peer), and this service with validation, limits, quota and a sync to disk before every reply. The load generator and
 * all stores share the machine. `--seconds N` (default 10), `--connections N` (default 64).
 */
const seconds = option('seconds', 10);
const connections = option('connections', 64);
const dataDir = mkdtempSync(join(tmpdir(), 'survey-bench-'));
chmodSync(dataDir, 0o711);

console.log(machineLine());
const service = await startBenchService(dataDir);
try {
  await compare(service);
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function compare(ours: BenchService): Promise<void> {
  const survey = await ours.makeSurvey({ quota: 100_000_000 });
  const probe = await makeProbe(ours, survey.id);
  const request = postBytes(`/api/v1/responses/surveys/${survey.id}/submit`, JSON.stringify({ answers: survey.answers }));
  const limit = await measurePeer('peer-bare', request);
  const peer = await measurePeer('peer-fastify', request, { DATABASE_URL: ours.peerDatabaseUrl });
  const load = (duration: number) => runLoad({ host: '127.0.0.1', port: ours.port, connections, seconds: duration, request: () => request });
  const warm = await load(2);
  const result = await load(seconds);
  // The peers have nobody who asks for analytics several times a second: the same load once more, watched.
  const watch = ours.watchVisibility(probe);
  const watched = await load(seconds);
  const visible = await watch.stop();
  const accepted = [warm, result, watched].reduce((sum, { statuses }) => sum + (statuses[201] ?? 0), 0);
  const stored = await ours.waitForStored(survey.id, accepted);
  const errors = [result, watched].reduce((sum, { replies, statuses }) => sum + replies - (statuses[201] ?? 0) + (statuses[0] ?? 0), 0);
  line('bare uWebSockets.js, parse and reply (limit)', limit);
  line('Fastify + postgres.js, a row a response (peer)', peer);
  line('this service, durable', result);
  line('the same, while analytics are asked for', watched);
  console.log(`ours / limit ${(result.perSecond / limit.perSecond).toFixed(2)} (wanted ≥ 0.40) · ours / peer ${(result.perSecond / peer.perSecond).toFixed(1)} (wanted ≥ 4) · p99 ${result.p99Ms} ms (wanted ≤ 50)`);
  console.log(`accepted ${accepted} · stored ${stored} · accepted → visible p95 ${visible.p95Ms} ms over ${visible.samples} samples (wanted ≤ 1000)`);
  console.log(JSON.stringify({
    bench: 'submit', limit: limit.perSecond, peer: peer.perSecond, ours: result.perSecond, oursWatched: watched.perSecond, p50Ms: result.p50Ms, p99Ms: result.p99Ms, errors,
    accepted, stored, visibleP95Ms: visible.p95Ms,
  }));
}

/** A second survey in the shard of the first, so that its responses queue behind the load. */
async function makeProbe(ours: BenchService, surveyId: string): Promise<BenchSurvey> {
  const shards = createShards(readSettings({}).intakeShards);
  for (;;) {
    const probe = await ours.makeSurvey({ quota: 100_000_000 });
    if (shards.of(probe.id) === shards.of(surveyId)) return probe;
  }
}

async function measurePeer(name: string, request: Buffer, env: Record<string, string> = {}): Promise<LoadResult> {
  const child = fork(fileURLToPath(new URL(`./support/${name}.js`, import.meta.url)), { env: { ...process.env, ...env } });
  try {
    const port = await portOf(child);
    await runLoad({ host: '127.0.0.1', port, connections, seconds: 1, request: () => request });
    return await runLoad({ host: '127.0.0.1', port, connections, seconds: Math.min(seconds, 5), request: () => request });
  } finally {
    child.disconnect();
  }
}

function line(name: string, result: LoadResult): void {
  console.log(`${name.padEnd(50)} ${String(result.perSecond).padStart(7)}/s  p50 ${result.p50Ms} ms  p99 ${result.p99Ms} ms  ${JSON.stringify(result.statuses)}`);
}
