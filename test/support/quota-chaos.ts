import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { newId } from '../../src/platform/ids.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import type { RunningService } from './service.ts';

export interface QuotaChaosOptions {
  /** With WORKERS set. */
  service: RunningService;
  admin: Client;
  /** Submissions in all. */
  count: number;
  /** An HTTP process is killed after each so many replies. */
  killEvery: number;
}

export interface QuotaChaosReport {
  kills: number;
  failedCalls: number;
  /** Cells with more demand than seats. */
  scarceCells: number;
  /** What is not as it must be, a sentence each; at most 20. */
  faults: string[];
}

interface Sent {
  cell: number;
  outcome: string;
}

const [side, lanes] = [8, 48];

/**
 * Submissions race into the 64 cells of two questions with 8 options, each with its own key or id, repeated until it is
 * answered, while HTTP processes are killed. Then compares replies, the counts of the intake and the stored responses
 * with min(demand, limit) of each cell.
 */
export async function runQuotaChaos({
  service,
  admin,
  count,
  killEvery,
}: QuotaChaosOptions): Promise<QuotaChaosReport> {
  const limit = Math.floor(count / (2 * side * side));
  const { id, questions } = await makeSurvey(admin, limit);
  const demand = new Array<number>(side * side).fill(0);
  const sent = new Map<string, Sent>();
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const path = `/api/v1/responses/surveys/${id}/submit`;
  let [next, failedCalls, kills] = [0, 0, 0];
  let isOver = false;

  const submitter = async (): Promise<void> => {
    while (next < count && !isOver) {
      const n = next;
      next += 1;
      // More demand for the first cells, too little for the last ones.
      const cell = Math.min(side * side - 1, Math.floor(side * side * Math.random() ** 2));
      demand[cell] = (demand[cell] ?? 0) + 1;
      const body = JSON.stringify({
        ...(n % 3 === 0 && { responseId: newId() }),
        answers: questions.map(({ questionId, optionIds }, index) => ({
          questionId,
          optionId: optionIds[index === 0 ? Math.floor(cell / side) : cell % side],
        })),
      });
      const key = n % 3 === 0 ? undefined : randomUUID();
      while (!isOver) {
        const reply = await post(agent, service.port, path, body, key);
        if (reply?.status === 201) {
          sent.set(reply.data.responseId, { cell, outcome: reply.data.outcome });
          break;
        }
        if (reply && reply.status !== 503) throw new Error(`a submission got ${reply.status}`);
        failedCalls += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const killer = async (): Promise<void> => {
    for (let goal = killEvery; goal < count; goal += killEvery) {
      await eventually(() => {
        if (sent.size < goal) throw new Error(`${sent.size} of ${goal} submissions are answered`);
      }, 300_000);
      const pids = httpPids(service);
      // In turn; those that were killed before may just be starting again.
      const turn = kills % pids.length;
      if ([...pids.slice(turn), ...pids.slice(0, turn)].some(isKilled)) kills += 1;
    }
  };
  try {
    await Promise.all([killer(), ...Array.from({ length: lanes }, submitter)]);
  } finally {
    isOver = true;
    agent.destroy();
  }

  const faults: string[] = [];
  const expected = demand.map((wanted) => Math.min(wanted, limit));
  compare(faults, 'replies', countCells([...sent.values()]), expected);
  if (sent.size !== count) faults.push(`${sent.size} responses were acknowledged, ${count} submissions were sent`);
  await eventually(async () => {
    const { totalResponses } = await admin.get(`/analytics/surveys/${id}`);
    if (totalResponses < count) throw new Error(`${totalResponses} of ${count} responses are stored`);
  }, 120_000);
  const quotas = await admin.get(`/surveys/${id}/quotas?limit=100`);
  compare(
    faults,
    'the intake',
    quotas.map(({ count: counted }: { count: number }) => counted),
    expected,
  );
  const stored = await storedResponses(admin, id, questions);
  compare(faults, 'the response store', countCells([...stored.values()]), expected);
  if (stored.size !== sent.size) faults.push(`${stored.size} responses are stored, ${sent.size} were acknowledged`);
  for (const [responseId, { cell, outcome }] of sent) {
    const found = stored.get(responseId);
    if (found?.cell !== cell || found.outcome !== outcome)
      faults.push(`response ${responseId}: ${outcome} in cell ${cell}, stored ${JSON.stringify(found)}`);
  }
  return {
    kills,
    failedCalls,
    scarceCells: demand.filter((wanted) => wanted > limit).length,
    faults: faults.slice(0, 20),
  };
}

interface AskedQuestion {
  questionId: string;
  optionIds: string[];
}

async function makeSurvey(admin: Client, limit: number): Promise<{ id: string; questions: AskedQuestion[] }> {
  const { id } = await admin.create('/surveys', { title: 'Cells' });
  const questions: AskedQuestion[] = [];
  for (const text of ['Region', 'Age']) {
    const options = Array.from({ length: side }, (_, n) => ({ text: `${text} ${n + 1}` }));
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text, options });
    questions.push({ questionId: question.id, optionIds: question.options.map((option: { id: string }) => option.id) });
  }
  await admin.create(`/surveys/${id}/quotas/grid`, {
    questionIds: questions.map(({ questionId }) => questionId),
    limit,
  });
  await admin.post(`/surveys/${id}/publish`);
  await eventually(async () => {
    const quotas: { isCounting: boolean }[] = await admin.get(`/surveys/${id}/quotas?limit=100`);
    if (quotas.length !== side * side || quotas.some(({ isCounting }) => isCounting)) throw new Error('still counting');
  }, 60_000);
  return { id, questions };
}

/** Completed responses by cell. */
function countCells(sent: readonly Sent[]): number[] {
  const counts = new Array<number>(side * side).fill(0);
  for (const { cell, outcome } of sent) if (outcome === 'COMPLETED') counts[cell] = (counts[cell] ?? 0) + 1;
  return counts;
}

function compare(faults: string[], where: string, counts: readonly number[], expected: readonly number[]): void {
  for (const [cell, wanted] of expected.entries())
    if (counts[cell] !== wanted) faults.push(`cell ${cell}: ${where} says ${counts[cell]}, it must be ${wanted}`);
}

/** Kills a process; false where it has ended before. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

/** Process ids of the HTTP processes that listen now. */
function httpPids(service: RunningService): number[] {
  const byName = new Map<string, number>();
  for (const line of service.logs().split('\n')) {
    if (!line.includes('"listening"')) continue;
    const { part: name, pid } = JSON.parse(line) as { part?: string; pid: number };
    if (name?.startsWith('http-')) byName.set(name, pid);
  }
  return [...byName.values()];
}

async function storedResponses(
  admin: Client,
  surveyId: string,
  questions: readonly AskedQuestion[],
): Promise<Map<string, Sent>> {
  const found = new Map<string, Sent>();
  let cursor = '';
  do {
    const after = cursor === '' ? '' : `&cursor=${cursor}`;
    const { status, body } = await admin.call('GET', `/responses/surveys/${surveyId}?limit=1000${after}`);
    if (status !== 200) throw new Error(`responses: ${status}`);
    for (const { id, outcome, answers } of body.data) {
      if (found.has(id)) throw new Error(`response ${id} is listed twice`);
      const [first = -1, second = -1] = questions.map(({ questionId, optionIds }) =>
        optionIds.indexOf(answers.find((answer: { questionId: string }) => answer.questionId === questionId)?.optionId),
      );
      found.set(id, { cell: first * side + second, outcome });
    }
    cursor = body.pagination.nextCursor ?? '';
  } while (cursor !== '');
  return found;
}

/** Undefined where the connection failed. */
function post(
  agent: Agent,
  port: number,
  path: string,
  body: string,
  key: string | undefined,
): Promise<{ status: number; data: { responseId: string; outcome: string } } | undefined> {
  return new Promise((resolve) => {
    const call = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
      },
      (reply) => {
        let text = '';
        reply.setEncoding('utf8');
        reply.on('data', (part: string) => (text += part));
        reply.once('error', () => resolve(undefined));
        reply.once('close', () => {
          if (!reply.complete) return resolve(undefined);
          resolve({ status: reply.statusCode ?? 0, data: JSON.parse(text).data });
        });
      },
    );
    call.once('error', () => resolve(undefined));
    call.end(body);
  });
}
