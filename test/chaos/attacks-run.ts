import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { loadavg } from 'node:os';
import { machineLine, option } from '../../bench/support/machine.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { signInNewUser } from '../support/new-user.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type SteadyLoadResult, startSteadyLoad } from '../support/steady-load.ts';

/**
 * `npm run chaos:attacks`: a service with stores of its own and a steady load of submissions (`--rate N` a second, 200),
 * alone and beside each attack: patterns that are large, files of anybody, webhooks that amplify, keys without end, the
 * largest crosstabs, bodies that never end; `--only H1`: one of them. `--seconds N` (6) each, after two that do not
 * count. Ends with code 1 where the event loop was held for more than 20 ms (p99), where a submission of the load
 * failed, or where an attack was not refused as it should be.
 */
const [rate, seconds] = [option('rate', 200), option('seconds', 6)];
const only = process.argv[process.argv.indexOf('--only') + 1 || process.argv.length] ?? '';
const limitMs = 20;
const warmUpMs = 2000;
/** Connections that the service has ended already and the receiver has not. */
const closing = 5;
/** The run ends itself, whatever hangs. */
const mostMs = 90_000 + (seconds - 6) * 8000;
const stopWithinMs = 12_000;

interface Attack {
  name: string;
  /** Callers that send one request after the other. */
  callers: number;
  /** One request; gives the status under which it is counted. */
  send(caller: number, n: number): Promise<number | string>;
  /** What is wrong with the replies; undefined: nothing. */
  faultOf(replies: Readonly<Record<string, number>>): string | undefined;
  /** Takes away what would go on beside the next attack. */
  end?(): Promise<void>;
}

console.log(machineLine());
console.log(
  `load of the machine before the run (1, 5, 15 minutes): ${loadavg()
    .map((n) => n.toFixed(1))
    .join(', ')}`,
);
const probe = createProcessProbe();
const dataDir = temporaryDataDir();
const service = await startService({
  dataDir,
  // Limits of callers are out of the way, limits against each attack are the default ones.
  env: {
    ...probe.env,
    LOG_LEVEL: 'error',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_HOST_CONNECTIONS: '20',
    WEBHOOK_HOST_REQUESTS_PER_SECOND: '500',
    WEBHOOK_BUSY_REQUESTS_PER_SECOND: '20',
    API_KEYS_PER_USER: '20',
    // The ceiling of keys is never below it.
    RATE_LIMIT_API: '1000',
    UPLOAD_SURVEY_UNCLAIMED_BYTES: String(96 * 1024 * 1024),
  },
});
const receiver = await startLargeReceiver();
let faults = 0;
try {
  await Promise.race([run(service), atTheEnd()]);
} catch (error) {
  faults += 1;
  console.error(error instanceof Error ? error.message : error);
} finally {
  // A service that hangs is killed, so that nothing is left behind.
  const killing = setTimeout(() => void service.kill(), stopWithinMs);
  await service.stop();
  clearTimeout(killing);
  receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(faults === 0 ? 0 : 1);

/** Rejects when the time of the run is over. */
function atTheEnd(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not finished within ${mostMs} ms`)), mostMs).unref();
  });
}

async function run({ port, pid }: RunningService): Promise<void> {
  const admin = await adminClient(service);
  const survey = await admin.create('/surveys', { title: 'Steady', status: 'ACTIVE' });
  const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'How likely?' });
  const attacks = [
    await patterns(admin),
    await uploads(admin),
    await webhooks(admin),
    await apiKeys(admin),
    await crosstabs(admin),
    await halfSentBodies(admin),
  ];
  const load = await startSteadyLoad({
    port,
    path: `/api/v1/responses/surveys/${survey.id}/submit`,
    body: JSON.stringify({ answers: [{ questionId: question.id, numberValue: 7 }] }),
    perSecond: rate,
  });
  const measure = async (name: string, attack?: Attack): Promise<void> => {
    const replies: Record<string, number> = {};
    let isOver = false;
    const calling = Array.from({ length: attack?.callers ?? 0 }, async (_, caller) => {
      for (let n = 0; !isOver; n += 1) {
        const status = await attack?.send(caller, n).catch(() => 'broken off');
        if (status !== undefined && !isOver) replies[status] = (replies[status] ?? 0) + 1;
      }
    });
    await elapsed(warmUpMs);
    probe.begin(pid);
    await load.read();
    await elapsed(seconds * 1000);
    const [{ p99Ms, maxMs }, submissions] = [await probe.read(pid), await load.read()];
    isOver = true;
    await Promise.all(calling);
    report(name, { p99Ms, maxMs }, submissions, replies, attack?.faultOf(replies));
    await attack?.end?.();
  };
  await measure('alone');
  for (const attack of attacks.filter(({ name }) => name.startsWith(only))) await measure(attack.name, attack);
  await measure('alone, at the end');
  await load.stop();
}

function report(
  attack: string,
  { p99Ms, maxMs }: { p99Ms: number; maxMs: number },
  { statuses, ...submissions }: SteadyLoadResult,
  replies: Readonly<Record<string, number>>,
  fault: string | undefined,
): void {
  const failed = Object.entries(statuses).filter(([status]) => status !== '201');
  const issues = [
    ...(p99Ms > limitMs ? [`event loop p99 ${p99Ms.toFixed(1)} ms`] : []),
    ...(failed.length > 0 || statuses['201'] === undefined ? ['submissions failed'] : []),
    ...(fault === undefined ? [] : [fault]),
  ];
  faults += issues.length;
  const round = (ms: number) => Math.round(ms * 10) / 10;
  console.log(
    JSON.stringify({
      attack,
      loopP99Ms: round(p99Ms),
      loopLongestMs: round(maxMs),
      submissions: { ...submissions, statuses },
      replies,
      ...(issues.length > 0 && { issues }),
    }),
  );
}

/** H1: questions with patterns that take long to compile, by EDITORs. */
async function patterns(admin: Client): Promise<Attack> {
  const callers = 4;
  // Each caller is several users in turn, none of whom reaches the limit of calls on a quick machine.
  const usersOfCaller = 8;
  const editors = await Promise.all(
    Array.from({ length: callers * usersOfCaller }, async () => {
      const editor = await signInNewUser(service, admin, 'EDITOR');
      return { editor, id: (await editor.create('/surveys', { title: 'Patterns' })).id };
    }),
  );
  const hostile = [
    '(a|bc|d|ef){1000}'.repeat(28),
    '((a{1,9}){1,9}){1,9}'.repeat(20),
    '\\pL{1000}'.repeat(40),
    `${'('.repeat(200)}a${'){2}'.repeat(200)}`,
    '[^\\W\\d_]{999}(?i:[a-zß-ü]{1,999})'.repeat(10),
  ];
  return {
    name: 'H1 patterns',
    callers,
    send: async (caller, n) => {
      const { editor, id } = editors[caller * usersOfCaller + (n % usersOfCaller)] ?? assert.fail();
      const settings = { pattern: hostile[(caller + n) % hostile.length] };
      const body = { type: 'SHORT_TEXT', text: 'Code?', settings };
      return (await editor.call('POST', `/surveys/${id}/questions`, { body })).status;
    },
    faultOf: (replies) => onlyWith(replies, ['400']),
  };
}

/** H2: files of 10 MiB by anybody, which no response claims. */
async function uploads(admin: Client): Promise<Attack> {
  const { id } = await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' });
  const question = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'A file?' });
  const bytes = new Uint8Array(10 * 1024 * 1024).fill(65);
  return {
    name: 'H2 uploads',
    callers: 4,
    send: async () => {
      const reply = await fetch(`${service.base}/uploads/surveys/${id}/questions/${question.id}`, {
        method: 'POST',
        body: bytes,
        headers: { 'content-type': 'text/plain' },
      });
      await reply.arrayBuffer();
      return reply.status;
    },
    faultOf: (replies) =>
      replies['503'] === undefined && replies['429'] === undefined && replies['broken off'] === undefined
        ? 'no upload was refused'
        : undefined,
  };
}

/** M1: as many endpoints of one EDITOR as are allowed, at one host whose replies are large, and anonymous submissions. */
async function webhooks(admin: Client): Promise<Attack> {
  const editor = await signInNewUser(service, admin, 'EDITOR');
  const { id } = await editor.create('/surveys', { title: 'Amplified', status: 'ACTIVE' });
  const asked = 120;
  const made: string[] = [];
  for (let n = 0; n < asked; n += 1) {
    const body = { url: `${receiver.url}/${n}`, events: ['response.completed'] };
    const { status, body: reply } = await editor.call('POST', '/webhooks', { body });
    if (status === 201) made.push(reply.data.id);
  }
  const anybody = createClient(service);
  const startedAt = performance.now();
  return {
    name: `M1 webhooks (${made.length} endpoints, ${asked - made.length} refused)`,
    callers: 1,
    send: async () => {
      const { status } = await anybody.submit(id, { answers: [] });
      await elapsed(50);
      return status;
    },
    faultOf: () => {
      const perSecond = Math.round(receiver.count() / ((performance.now() - startedAt) / 1000));
      console.log(`webhooks received: ${receiver.count()}, at most ${receiver.sockets()} connections at once`);
      if (made.length > 100) return 'more endpoints than a user may have';
      if (receiver.sockets() > 20 + closing) return `${receiver.sockets()} connections to one host`;
      return perSecond > 500 ? `${perSecond} requests a second to one host` : undefined;
    },
    // Thousands of deliveries wait.
    end: async () => {
      for (const webhook of made) await editor.remove(`/webhooks/${webhook}`);
    },
  };
}

/** M2: as many keys as an EDITOR gets, each with the highest limit that is granted, all of them in use. */
async function apiKeys(admin: Client): Promise<Attack> {
  const editor = await signInNewUser(service, admin, 'EDITOR');
  const make = (n: number, requestsPerMinute: number) =>
    editor.call('POST', '/api-keys', { body: { name: `${n}`, role: 'EDITOR', requestsPerMinute } });
  const greedy = await make(0, 1_000_000);
  const made = [];
  for (let n = 0; n < 30; n += 1) made.push(await make(n, 1000));
  const keys = made.filter(({ status }) => status === 201).map(({ body }) => createClient(service, body.data.key));
  return {
    name: `M2 API keys (${keys.length} made, ${made.length - keys.length} refused, a million calls a minute: ${greedy.status})`,
    callers: keys.length,
    send: async (caller) => (await keys[caller]?.call('GET', '/surveys'))?.status ?? 0,
    faultOf: (replies) => {
      if (keys.length > 20 || greedy.status !== 400) return 'the ceilings of keys do not hold';
      return (replies['200'] ?? 0) > 1000 * Math.ceil((warmUpMs / 1000 + seconds) / 60 + 1)
        ? 'the keys called more than their common ceiling'
        : undefined;
    },
  };
}

/** Bodies of submissions that come to their last bytes at once, and then byte by byte, until the service ends them. */
async function halfSentBodies(admin: Client): Promise<Attack> {
  const { id } = await admin.create('/surveys', { title: 'Half', status: 'ACTIVE' });
  const [declared, first] = [262_000, 250_000];
  const head = `POST /api/v1/responses/surveys/${id}/submit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${declared}\r\n\r\n`;
  return {
    name: 'bodies that never end',
    callers: 100,
    send: () =>
      new Promise((resolve) => {
        const socket = connect({ port: service.port, host: '127.0.0.1', localAddress: '127.0.0.2', noDelay: true });
        socket.write(head + ' '.repeat(first));
        const dripping = setInterval(() => socket.write(' '), 5);
        const enough = setTimeout(() => socket.destroy(), 3000);
        socket.on('data', () => socket.destroy());
        socket.on('error', () => undefined);
        socket.on('close', () => {
          clearInterval(dripping);
          clearTimeout(enough);
          resolve('closed');
        });
      }),
    faultOf: () => undefined,
  };
}

/** M4: crosstabs of 200 × 200 options in a loop, by a VIEWER, and the same with a banner of four. */
async function crosstabs(admin: Client): Promise<Attack> {
  const viewer = await signInNewUser(service, admin, 'VIEWER');
  const { id } = await admin.create('/surveys', { title: 'Wide', status: 'ACTIVE' });
  await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
  const questions = [];
  for (let n = 0; n < 6; n += 1)
    questions.push(
      await admin.create(`/surveys/${id}/questions`, {
        type: 'CHECKBOXES',
        text: `Which, ${n}?`,
        options: Array.from({ length: 200 }, (_, option) => ({ text: `Option ${option}` })),
      }),
    );
  const answers = questions.flatMap((question) =>
    question.options.map((option: { id: string }) => ({ questionId: question.id, optionId: option.id })),
  );
  for (let n = 0; n < 3; n += 1) await admin.submit(id, { answers: answers.slice(0, 1000) });
  const [one, other, ...banner] = questions.map((question) => question.id);
  return {
    name: 'M4 crosstabs',
    callers: 2,
    send: async (caller, n) => {
      const isWider = (caller + n) % 2 === 0;
      const body = JSON.stringify({ questionId1: one, questionId2: other, ...(isWider && { banner }) });
      const reply = await fetch(`${service.base}/analytics/surveys/${id}/crosstab`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${viewer.token}` },
      });
      // Its megabytes are received and not read.
      await reply.arrayBuffer();
      return `${reply.status}${isWider ? ' with a banner' : ''}`;
    },
    faultOf: (replies) => onlyWith(replies, ['200', '400 with a banner']),
  };
}

/** Says which replies are not among the expected ones, or which of these are missing. */
function onlyWith(replies: Readonly<Record<string, number>>, expected: readonly string[]): string | undefined {
  const [found, wanted] = [Object.keys(replies).sort().join(', '), [...expected].sort().join(', ')];
  return found === wanted ? undefined : `replies ${found} instead of ${wanted}`;
}

/** A client's server whose replies have a megabyte. */
async function startLargeReceiver() {
  const large = Buffer.alloc(1024 * 1024, 'x');
  let [received, sockets, most] = [0, 0, 0];
  const server = createServer((request, reply) => {
    received += 1;
    request.resume();
    reply.end(large);
    reply.on('error', () => undefined);
  });
  server.on('connection', (socket) => {
    sockets += 1;
    most = Math.max(most, sockets);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets -= 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => received,
    sockets: () => most,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
