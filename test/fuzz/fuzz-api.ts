import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import postgres from 'postgres';
import { startAiProvider } from '../support/ai-provider.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { sharedStoreUrls, startService } from '../support/service.ts';
import { createChance } from './chance.ts';
import { createKnownIds } from './ids.ts';
import { faultOf, isJsonReply, shownRequest } from './judge.ts';
import { createRequestMaker, operationsOf } from './requests.ts';
import { createSampler, type Schema } from './sample.ts';
import { setScene } from './scene.ts';
import { createWire } from './wire.ts';

export interface FuzzOptions {
  seed: number;
  requests: number;
  /** Ends earlier than after `requests`. */
  seconds: number;
  /** So many are sent even where that takes up to eight times as long. */
  atLeast?: number;
  /** Told now and then while it runs. */
  progress?(line: string): void;
}

export interface FuzzReport {
  sent: number;
  seconds: number;
  /** Replies by status and code. */
  replies: Record<string, number>;
  /** Violations of the contract, each kind once, with the request that caused it. */
  faults: string[];
  routes: number;
  /** Routes that never gave a success: their handlers were hardly reached. */
  unanswered: string[];
  startBytes: number;
  peakBytes: number;
  endBytes: number;
  /** JavaScript objects alone, at the end; collected or not. */
  heapBytes: number;
  /** Time for which the service's event loop was held: the longest, and the 99th percentile, over the whole run. */
  longestDelayMs: number;
  p99DelayMs: number;
  /** Longest stall of the sending process, which would look like a stall of the service. */
  ownDelayMs: number;
}

const connections = 8;
const roundOf = 1000;
const mostFaults = 20;
/**
 * What the service may hold beyond what it held when warm: buffers, caches with bounds, a heap that is not collected
 * yet.
 */
const allowanceBytes = 300 * 1024 * 1024;

/** Sends requests that are made from the service's own document to a service of its own, and judges every reply. */
export async function fuzzApi({ seed, requests, seconds, atLeast = 0, progress }: FuzzOptions): Promise<FuzzReport> {
  const provider = await startAiProvider();
  const probe = createProcessProbe();
  const service = await startService({
    env: { ...provider.env, ...intakeOfItsOwn(), ...probe.env, LOG_LEVEL: 'error', WEBHOOK_ALLOW_PRIVATE: 'true' },
  });
  try {
    return await run();
  } finally {
    await service.stop();
    await provider.close();
    await forgetKeys();
  }

  async function run(): Promise<FuzzReport> {
    const chance = createChance(seed);
    const ids = createKnownIds(chance);
    const admin = await adminClient(service);
    const { key } = await admin.create('/api-keys', { name: 'fuzz', role: 'ADMIN', requestsPerMinute: 100_000 });
    // Requests may end a session; the key that no list shows stays.
    const keeper = createClient(service, key);
    const document: Schema = (await createClient(service).call('GET', '/openapi.json')).body;
    const scene = await setScene({ base: service.base, keeper, admin, ids });
    const operations = operationsOf(document);
    const make = createRequestMaker({
      chance,
      ids,
      sampler: createSampler(chance, document, ids.of),
      operations,
      goodBodies: scene.goodBodies,
      credentials: () => [
        [70, `Bearer ${key}`],
        [10, scene.editorToken()],
        [6, undefined],
        [6, `Bearer ${scene.viewerKey}`],
        [2, 'Bearer'],
        [2, `Bearer ${key}x`],
        [2, 'Basic YTpi'],
        [2, `Bearer ${'x'.repeat(3000)}`],
      ],
    });
    const report: FuzzReport = {
      sent: 0,
      seconds: 0,
      replies: {},
      faults: [],
      routes: operations.length,
      unanswered: [],
      startBytes: 0,
      peakBytes: 0,
      endBytes: 0,
      heapBytes: 0,
      longestDelayMs: 0,
      p99DelayMs: 0,
      ownDelayMs: 0,
    };
    const kinds = new Set<string>();
    const answered = new Set<string>();
    const addFault = (fault: string, shown: string) => {
      const kind = fault.replace(/[0-9a-f-]{36}|\d+/g, '#').slice(0, 160);
      if (kinds.has(kind) || kinds.size >= mostFaults) return;
      kinds.add(kind);
      report.faults.push(`${fault.slice(0, 1500)}\n    ${shown}`);
      progress?.(`FAULT ${report.faults.at(-1)}`);
    };
    const wires = Array.from({ length: connections }, () => createWire(service.port));
    const startedAt = performance.now();
    const own = monitorEventLoopDelay();
    own.enable();
    const isLate = () => performance.now() - startedAt > seconds * 1000 * (report.sent < atLeast ? 8 : 1);
    const isOver = () => report.sent >= requests || isLate() || kinds.size >= mostFaults;
    const keepSending = async (wire: (typeof wires)[number], until: number) => {
      while (report.sent < until && !isOver()) {
        report.sent += 1;
        const request = make();
        const outcome = await wire.send(request).catch(() => 'closed' as const);
        const fault = faultOf(request, outcome);
        if (fault !== undefined) addFault(`${request.route ?? `${request.method} …`}: ${fault}`, shownRequest(request));
        if (typeof outcome === 'string' || request.isBroken) {
          note(report, typeof outcome === 'string' ? outcome : 'broken');
          continue;
        }
        const isJson = isJsonReply(request, outcome);
        const body = isJson && outcome.body.length > 0 ? JSON.parse(outcome.body.toString()) : undefined;
        note(report, `${outcome.status}${body?.code ? ` ${body.code}` : ''}`);
        if (request.route !== undefined && outcome.status < 300) answered.add(request.route);
        if (outcome.status === 201 || outcome.status === 202) ids.harvest(request.path.replace('/api/v1', ''), body);
      }
    };
    const look = async () => {
      const { rssBytes, heapBytes, maxMs, p99Ms } = await probe.read(service.pid);
      report.endBytes = rssBytes;
      report.heapBytes = heapBytes;
      report.peakBytes = Math.max(report.peakBytes, rssBytes);
      report.longestDelayMs = Math.round(maxMs);
      report.p99DelayMs = Math.round(p99Ms * 10) / 10;
    };
    probe.begin(service.pid);
    while (!isOver()) {
      await Promise.all(wires.map((wire) => keepSending(wire, report.sent + roundOf)));
      await look();
      if (report.startBytes === 0) {
        report.startBytes = report.endBytes;
        // Code that runs for the first time is slower; the rest of the run is measured.
        if (!isOver()) probe.begin(service.pid);
      }
      progress?.(
        `${report.sent} requests · ${Math.round(report.endBytes / 2 ** 20)} MiB, heap ${Math.round(report.heapBytes / 2 ** 20)} · ${report.faults.length} faults`,
      );
      if (!isOver()) await scene.renew().catch(passIfBusy);
    }
    for (const wire of wires) wire.close();
    report.ownDelayMs = Math.round(own.max / 1e6);
    report.seconds = (performance.now() - startedAt) / 1000;
    report.unanswered = operations.map(({ method, path }) => `${method} ${path}`).filter((name) => !answered.has(name));
    await settle(report, { service, keeper, look, addFault });
    return report;
  }
}

/**
 * On a machine that is busy with other things the service may say that it cannot right now; the next round begins with
 * what there is.
 */
function passIfBusy(error: unknown): void {
  if (!(error instanceof assert.AssertionError && error.actual === 503)) throw error;
}

function note(report: FuzzReport, kind: string): void {
  report.replies[kind] = (report.replies[kind] ?? 0) + 1;
}

interface Aftermath {
  service: Awaited<ReturnType<typeof startService>>;
  keeper: Client;
  look(): Promise<void>;
  addFault(fault: string, shown: string): void;
}

/** What is still to be seen when the last reply is there: that the service works, what it logged, and what it holds. */
async function settle(report: FuzzReport, { service, keeper, look, addFault }: Aftermath): Promise<void> {
  const survey = await keeper
    .create('/surveys', { title: 'Afterwards', status: 'ACTIVE' })
    .catch((error: unknown) => addFault(`the service does not work afterwards: ${String(error)}`, ''));
  const reply = survey && (await keeper.submit(survey.id, { answers: [] }));
  if (reply?.status !== 201) addFault(`a submission afterwards got ${reply?.status}`, '');
  for (const line of service.logs().split('\n'))
    if (line.includes('"level":"error"') || line.includes('"level":"fatal"')) addFault(`logged: ${line}`, '');
  await look();
  if (report.endBytes > report.startBytes + allowanceBytes)
    addFault(`memory grew from ${report.startBytes} to ${report.endBytes} bytes`, '');
}

/**
 * Other tests leave rows that cannot be stored; asked to try them again, the service would rightly log each as an
 * error.
 */
function intakeOfItsOwn(): Record<string, string> {
  const shared = process.env['TEST_REDIS_URL'];
  return shared === undefined ? {} : { REDIS_URL: new URL('/13', shared).href };
}

/**
 * Keys of providers that were set by the way are sealed for a service that is gone; the next to use the database could
 * not read them.
 */
async function forgetKeys(): Promise<void> {
  const { DATABASE_URL: url } = sharedStoreUrls();
  if (url === undefined) return;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`DELETE FROM ai_settings`;
  await sql.end();
}
