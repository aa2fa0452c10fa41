import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../src/settings/settings.ts';
import { createShards } from '../src/stores/redis/intake/shards.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { type LoadResult, postBytes, runLoad } from './support/load.ts';
import { machineLine, option } from './support/machine.ts';
import { portOf } from './support/peer-process.ts';
import { type BenchService, type BenchSurvey, startBenchService, type Visibility } from './support/service.ts';
import { inTurn, medianOf } from './support/timing.ts';

/**
 * Submissions a second at 64 and at 256 connections: bare uWebSockets.js that parses and replies (the limit), Fastify
 * with one Postgres row a response (the peer), and this service with validation, limits, quota and a sync to disk
 * before every reply. They run in turn, because the speed of a shared machine changes from minute to minute: ratios are
 * those of neighbouring runs. After them, in rounds of their own: plain submissions, such with a new Idempotency-Key
 * each, whose records the stores go on merging, and such to a survey of 20 conditions, 5 skips and 50 quotas by cell.
 * The load generator and all stores share the machine. `--rounds N` (default 5), `--seconds N` (of this service a
 * round, default 5; 10 with an analytics client).
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 5);
const watchedSeconds = 10;
const contenders = ['limit', 'peer', 'ours'] as const;
const variants = ['plain', 'keyed', 'branched'] as const;
/** Callers, each of which waits for its reply. With few of them, everybody waits for the disk at times. */
const [fewConnections, manyConnections] = [64, 256];
const dataDir = temporaryDataDir();

console.log(machineLine());
const service = await startBenchService(dataDir);
try {
  await compare(service);
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

type Round<Name extends string> = Record<Name, LoadResult>;
type Comparison = readonly Round<(typeof contenders)[number]>[];

interface Load {
  /** The next request; the same one by default. */
  next?: () => Buffer;
  connections?: number;
}

async function compare(ours: BenchService): Promise<void> {
  const survey = await ours.makeSurvey({ quota: 100_000_000 });
  const probe = await makeProbe(ours, survey.id);
  const branched = await ours.makeBranchedSurvey({ quota: 100_000_000 });
  const pathOf = ({ id }: BenchSurvey) => `/api/v1/responses/surveys/${id}/submit`;
  const path = pathOf(survey);
  const body = JSON.stringify({ answers: survey.answers });
  const request = postBytes(path, body);
  const branchedRequest = postBytes(pathOf(branched), JSON.stringify({ answers: branched.answers }));
  const repeated = () => request;
  const loadOn = (port: number, duration: number, { next = repeated, connections = fewConnections }: Load = {}) =>
    runLoad({ host: '127.0.0.1', port, connections, seconds: duration, request: next });
  let keys = 0;
  const keyedRequest = (): Buffer => postBytes(path, body, `Idempotency-Key: bench-${++keys}-of-this-run\r\n`);
  const [limit, peer] = [
    await startPeer('peer-bare'),
    await startPeer('peer-fastify', { DATABASE_URL: ours.peerDatabaseUrl }),
  ];
  const loads: LoadResult[] = [];
  const branchedLoads: LoadResult[] = [];
  const loadBranched = async (duration: number): Promise<LoadResult> => {
    const result = await loadOn(ours.port, duration, { next: () => branchedRequest });
    branchedLoads.push(result);
    return result;
  };
  const allSettled = async (): Promise<number> =>
    (await settled(ours, survey.id, loads)) + (await settled(ours, branched.id, branchedLoads));
  const loadOurs = async (duration: number, load?: Load): Promise<LoadResult> => {
    const result = await loadOn(ours.port, duration, load);
    loads.push(result);
    return result;
  };
  try {
    for (const port of [limit.port, peer.port]) await loadOn(port, 1);
    await loadOurs(2);
    /** Begins when the service has stored everything, so that it does not slow the others down. */
    const settledFirst = (measure: () => Promise<LoadResult>) => async (): Promise<LoadResult> => {
      await allSettled();
      return measure();
    };
    const compareAt = (connections: number) =>
      inTurn(rounds, {
        limit: settledFirst(() => loadOn(limit.port, 3, { connections })),
        peer: settledFirst(() => loadOn(peer.port, 3, { connections })),
        ours: settledFirst(() => loadOurs(seconds, { connections })),
      });
    const measured = await compareAt(fewConnections);
    const measuredWithMany = await compareAt(manyConnections);
    // The peers have no analytics clients, so the service is also measured with some.
    const watch = ours.watchVisibility(probe);
    const watched = await loadOurs(watchedSeconds);
    const visible = await watch.stop();
    await loadOurs(1, { next: keyedRequest });
    await loadBranched(1);
    const varied = await inTurn(rounds, {
      plain: settledFirst(() => loadOurs(seconds)),
      keyed: settledFirst(() => loadOurs(seconds, { next: keyedRequest })),
      branched: settledFirst(() => loadBranched(seconds)),
    });
    report({
      measured,
      measuredWithMany,
      varied,
      watched,
      visible,
      accepted: acceptedOf([...loads, ...branchedLoads]),
      stored: await allSettled(),
      errors: [...loads, ...branchedLoads].reduce(
        (sum, { replies, statuses }) => sum + replies - (statuses[201] ?? 0) + (statuses[0] ?? 0),
        0,
      ),
    });
  } finally {
    for (const { stop } of [limit, peer]) stop();
  }
}

function acceptedOf(loads: readonly LoadResult[]): number {
  return loads.reduce((sum, { statuses }) => sum + (statuses[201] ?? 0), 0);
}

function settled(ours: BenchService, surveyId: string, loads: readonly LoadResult[]): Promise<number> {
  return ours.waitForStored(surveyId, acceptedOf(loads));
}

interface Measured {
  measured: Comparison;
  measuredWithMany: Comparison;
  varied: readonly Round<(typeof variants)[number]>[];
  watched: LoadResult;
  visible: Visibility;
  accepted: number;
  stored: number;
  errors: number;
}

function report({ measured, measuredWithMany, varied, watched, visible, accepted, stored, errors }: Measured): void {
  const few = reportComparison(fewConnections, measured);
  const many = reportComparison(manyConnections, measuredWithMany);
  line('the same, while analytics are asked for', watched);
  for (const { plain, keyed, branched } of varied) {
    line('this service, durable', plain);
    line('the same, each with an Idempotency-Key', keyed);
    line('20 conditions, 5 skips, 50 quotas by cell', branched);
  }
  const [plain, keyed, branched] = variants.map((who) => medianOf(varied.map((round) => round[who].perSecond)));
  const ofPlain = (who: 'keyed' | 'branched') =>
    medianOf(varied.map((round) => round[who].perSecond / round.plain.perSecond));
  const [keyedOfPlain, branchedOfPlain] = [ofPlain('keyed'), ofPlain('branched')];
  for (const { connections, oursOfLimit, oursOfPeer, p99Ms } of [few, many])
    console.log(
      `${connections} connections, medians of ${rounds} rounds: ours / limit ${oursOfLimit.toFixed(2)} (wanted ≥ 0.40) · ours / peer ${oursOfPeer.toFixed(1)} (wanted ≥ 4) · greatest p99 ${p99Ms} ms (wanted ≤ 50)`,
    );
  console.log(
    `with keys / without ${keyedOfPlain.toFixed(2)} (wanted ≥ 0.6) · with paths / without ${branchedOfPlain.toFixed(2)} (wanted ≥ 0.6)`,
  );
  console.log(
    `accepted ${accepted} · stored ${stored} · accepted → visible p95 ${visible.p95Ms} ms over ${visible.samples} samples (wanted ≤ 1000)`,
  );
  console.log(
    JSON.stringify({
      bench: 'submit',
      comparisons: [few, many],
      plain,
      keyed,
      keyedOfPlain: Number(keyedOfPlain.toFixed(2)),
      branched,
      branchedOfPlain: Number(branchedOfPlain.toFixed(2)),
      oursWatched: watched.perSecond,
      errors,
      accepted,
      stored,
      visibleP95Ms: visible.p95Ms,
    }),
  );
}

/** Prints the rounds; gives the medians, ratios of neighbouring runs and the greatest p99 of ours. */
function reportComparison(connections: number, comparison: Comparison) {
  for (const { limit, peer, ours } of comparison) {
    line(`bare uWebSockets.js, ${connections} connections (limit)`, limit);
    line(`Fastify + postgres.js, ${connections} connections (peer)`, peer);
    line(`this service, durable, ${connections} connections`, ours);
  }
  const [limit, peer, ours] = contenders.map((who) => medianOf(comparison.map((round) => round[who].perSecond)));
  const ratioTo = (who: 'limit' | 'peer') =>
    medianOf(comparison.map((round) => round.ours.perSecond / round[who].perSecond));
  return {
    connections,
    limit,
    peer,
    ours,
    oursOfLimit: Number(ratioTo('limit').toFixed(3)),
    oursOfPeer: Number(ratioTo('peer').toFixed(2)),
    p50Ms: medianOf(comparison.map((round) => round.ours.p50Ms)),
    p99Ms: Math.max(...comparison.map((round) => round.ours.p99Ms)),
  };
}

/** A second survey in the shard of the first, so that its responses queue behind the load. */
async function makeProbe(ours: BenchService, surveyId: string): Promise<BenchSurvey> {
  const shards = createShards(readSettings({}).intakeShards);
  for (;;) {
    const probe = await ours.makeSurvey({ quota: 100_000_000 });
    if (shards.of(probe.id) === shards.of(surveyId)) return probe;
  }
}

async function startPeer(name: string, env: Record<string, string> = {}): Promise<{ port: number; stop(): void }> {
  const child = fork(fileURLToPath(new URL(`./support/${name}.js`, import.meta.url)), {
    env: { ...process.env, ...env },
  });
  return { port: await portOf(child), stop: () => child.disconnect() };
}

function line(name: string, result: LoadResult): void {
  console.log(
    `${name.padEnd(50)} ${String(result.perSecond).padStart(7)}/s  p50 ${result.p50Ms} ms  p99 ${result.p99Ms} ms  ${JSON.stringify(result.statuses)}`,
  );
}
