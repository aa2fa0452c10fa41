import { request } from 'node:http';
import { type LoadResult, runLoad } from '../../bench/support/load.ts';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client } from './client.ts';
import { type RunningService, startService } from './service.ts';

export interface IntakeSurvey {
  id: string;
  questionId: string;
}

/** A service with stores of its own, whose intake has so much memory, and a survey with one text question. */
export async function startWithIntake(
  dataDir: string,
  memoryBytes: number,
): Promise<{ service: RunningService; admin: Client; makeSurvey(): Promise<IntakeSurvey> }> {
  const service = await startService({
    dataDir,
    env: { INTAKE_MEMORY_BYTES: String(memoryBytes), LOG_LEVEL: 'warn', ACCESS_TOKEN_TTL_SECONDS: '86400' },
  });
  const admin = await adminClient(service);
  const makeSurvey = async (): Promise<IntakeSurvey> => {
    const { id } = await admin.create('/surveys', { title: 'Load', status: 'ACTIVE' });
    return { id, questionId: (await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Why?' })).id };
  };
  return { service, admin, makeSurvey };
}

interface SmallLoad {
  /** Submissions in all. */
  count: number;
  /** The headers and body of each. */
  of(n: number): { headers?: string; body: object };
}

/** Sends so many submissions as fast as they are taken. */
export async function sendAll(
  { port }: Pick<RunningService, 'port'>,
  surveyId: string,
  { count, of }: SmallLoad,
): Promise<LoadResult> {
  const path = `/api/v1/responses/surveys/${surveyId}/submit`;
  return runLoad({
    host: '127.0.0.1',
    port,
    connections: 64,
    seconds: 3600,
    isEnough: (sent) => sent >= count,
    request: (n) => {
      const { headers = '', body } = of(n);
      const text = JSON.stringify(body);
      return Buffer.from(
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
    },
  });
}

export const keyed =
  (surveyId: string): SmallLoad['of'] =>
  (n) => ({ headers: `Idempotency-Key: ${surveyId}-${n}\r\n`, body: { answers: [] } });
export const partial: SmallLoad['of'] = () => ({ body: { answers: [], isComplete: false } });
export const withClientIds: SmallLoad['of'] = () => ({ body: { answers: [], responseId: newId() } });

interface PacedLoad {
  perSecond: number;
  seconds: number;
  /** Addresses of loopback that the submissions come from, by turns. */
  addresses: readonly string[];
  body(): object;
  /** Waited for before each of them. */
  goesOn?(): Promise<void>;
  /** The most that are not answered yet. */
  atOnce?: number;
}

/** Sends submissions at an even pace, or as they may go on; gives how many had which status. */
export async function sendPaced(
  { port }: Pick<RunningService, 'port'>,
  surveyId: string,
  { perSecond, seconds, addresses, body, goesOn, atOnce = Number.POSITIVE_INFINITY }: PacedLoad,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const dueAt = startedAt + (n * 1000) / perSecond;
    if (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, dueAt - performance.now()));
    while (running.size >= atOnce) await Promise.race(running);
    await goesOn?.();
    const call = post(
      port,
      `/api/v1/responses/surveys/${surveyId}/submit`,
      addresses[n % addresses.length] ?? '127.0.0.1',
      JSON.stringify(body()),
    ).then((status) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
    running.add(call);
    void call.finally(() => running.delete(call));
  }
  await Promise.all(running);
  return statuses;
}

function post(port: number, path: string, localAddress: string, body: string): Promise<number> {
  return new Promise((resolve) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        localAddress,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (reply) => {
        reply.resume();
        reply.once('end', () => resolve(reply.statusCode ?? 0));
      },
    );
    call.once('error', () => resolve(0));
    call.end(body);
  });
}

/**
 * The most metadata that a submission may have; of a control character each sign takes six bytes where it is stored.
 */
export function largeMetadata(sign: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, sign.repeat(1000)]));
}

export interface IntakeMetrics {
  memoryRatio: number;
  lagEntries: number;
}

export async function readIntakeMetrics({ origin }: Pick<RunningService, 'origin'>): Promise<IntakeMetrics> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return { memoryRatio: sum('intake_memory_ratio'), lagEntries: sum('ingest_lag_entries') };
}
