import { rmSync } from 'node:fs';
import type { BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { createLog } from '../src/log.ts';
import { createClickHouse } from '../src/stores/clickhouse/client.ts';
import { launchChromium, missingChromium } from '../test/support/chromium.ts';
import { signedInPage } from '../test/support/console.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { eventually } from '../test/support/eventually.ts';
import { startSteadyLoad } from '../test/support/steady-load.ts';
import { machineLine, option } from './support/machine.ts';
import { benchQuestions, fillResponses, mergeParts } from './support/response-fill.ts';
import { type BenchService, startBenchService } from './support/service.ts';
import { medianOf } from './support/timing.ts';

/**
 * The screen Results in a browser: the time to the first chart of a survey of `--responses N` (1,000,000), beside that
 * of the API's own reply (limit); then, while `--rate N` (1000) submissions a second arrive for `--minutes N` (2), the
 * time from the 201 of a submission to the moment at which its bar has moved, and the memory of the page.
 */
const [responses, rate, minutes] = [option('responses', 1_000_000), option('rate', 1000), option('minutes', 2)];
const openings = 5;
const secondsBetweenLooks = 5;
const wanted = { barMs: 2000 };

const missing = missingChromium();
if (missing !== undefined) {
  console.log(`not measured: ${missing}`);
  process.exit(0);
}
console.log(machineLine());
const folder = temporaryDataDir();
const bench = await startBenchService(folder, { RATE_LIMIT_SUBMIT: '100000000' });
const browser = await launchChromium(folder);
try {
  const first = await measureFirstChart(bench);
  const live = await measureLive(bench);
  console.log(JSON.stringify({ bench: 'results', responses, rate, minutes, ...first, ...live }));
} finally {
  await browser.close();
  await bench.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function openConsole(path: string): Promise<Page> {
  const opener = { open: async (options?: BrowserContextOptions) => (await browser.newContext(options)).newPage() };
  return signedInPage(opener, { origin: `http://127.0.0.1:${bench.port}` }, { path });
}

/** Milliseconds to the first row of the first chart, after a reload; and of the API's reply to the same question. */
async function measureFirstChart({ client, clickhouseUrl }: BenchService) {
  const { id } = await client.create('/surveys', { title: 'Large', status: 'ACTIVE' });
  for (const [at, { options, isBits }] of benchQuestions.entries())
    await client.create(`/surveys/${id}/questions`, {
      type: isBits ? 'CHECKBOXES' : 'DROPDOWN',
      text: `Question ${at + 1}?`,
      options: Array.from({ length: options }, (_, n) => ({ text: `Option ${n + 1}` })),
    });
  const clickhouse = createClickHouse({ urls: [clickhouseUrl], log: createLog('error') });
  await fillResponses(clickhouse, responses, id);
  const askedAt = performance.now();
  const { totalResponses } = await client.get(`/analytics/surveys/${id}`);
  const firstReplyMs = performance.now() - askedAt;
  if (totalResponses < responses * 0.9) throw new Error(`only ${totalResponses} responses are counted`);
  const page = await openConsole(`/surveys/${id}/results`);
  const [charts, replies]: [number[], number[]] = [[], []];
  const chart = page.getByRole('article').first().getByRole('row', { name: /%/ }).first();
  await chart.waitFor();
  for (let n = 0; n < openings; n += 1) {
    // Other days each time, as what was asked before is in the cache of the service.
    const repliedFrom = performance.now();
    await client.get(`/analytics/surveys/${id}?startDate=2026-01-${21 + n}`);
    replies.push(performance.now() - repliedFrom);
    const openedAt = performance.now();
    await page.goto(`${new URL(page.url()).origin}/surveys/${id}/results?from=2026-01-${11 + n}`);
    await chart.waitFor();
    charts.push(performance.now() - openedAt);
  }
  await page.context().close();
  // Merging goes on, as in a service.
  await mergeParts(clickhouse);
  await clickhouse.close();
  const [chartMs, replyMs] = [Math.round(medianOf(charts)), Math.round(medianOf(replies))];
  console.log(
    `${totalResponses.toLocaleString('en')} responses: first reply of the API ${Math.round(firstReplyMs)} ms; then reply (limit) ${replyMs} ms · first chart after a reload ${chartMs} ms`,
  );
  return { firstReplyMs: Math.round(firstReplyMs), replyMs, chartMs };
}

async function measureLive({ client, port }: BenchService) {
  const { id } = await client.create('/surveys', { title: 'Live', status: 'ACTIVE' });
  const question = await client.create(`/surveys/${id}/questions`, {
    type: 'MULTIPLE_CHOICE',
    text: 'Which?',
    options: [{ text: 'Often' }, { text: 'Rare' }],
  });
  const choose = (at: number) => ({ answers: [{ questionId: question.id, optionId: question.options[at].id }] });
  await client.submit(id, choose(1));
  await eventually(async () => {
    if ((await client.get(`/analytics/surveys/${id}`)).totalResponses !== 1) throw new Error('not counted yet');
  });
  const page = await openConsole(`/surveys/${id}/results`);
  await page.getByRole('row', { name: /^Rare .* 1$/ }).waitFor();
  const session = await page.context().newCDPSession(page);
  const path = `/api/v1/responses/surveys/${id}/submit`;
  const load = await startSteadyLoad({ port, path, body: JSON.stringify(choose(0)), perSecond: rate });
  const delays: number[] = [];
  const memory = [await heapOf(session)];
  const end = performance.now() + minutes * 60_000;
  for (let rare = 2; performance.now() < end; rare += 1) {
    const moved = whenRowShows(page, new RegExp(`^Rare.*\\b${rare}$`));
    await client.submit(id, choose(1));
    const acceptedAt = Date.now();
    delays.push((await moved) - acceptedAt);
    memory.push(await heapOf(session));
    await new Promise((resolve) => setTimeout(resolve, secondsBetweenLooks * 1000));
  }
  const { statuses } = await load.read();
  await load.stop();
  const sorted = delays.toSorted((one, other) => one - other);
  const barMs = {
    median: Math.round(medianOf(delays)),
    p95: Math.round(sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN),
    longest: Math.round(sorted.at(-1) ?? Number.NaN),
  };
  const megabytes = (bytes: number) => Math.round(bytes / 1e5) / 10;
  // The first minute is that of code which runs for the first times.
  const settled = memory[Math.min(memory.length - 1, Math.ceil(60 / secondsBetweenLooks))] ?? Number.NaN;
  const heap = { first: megabytes(memory[0] ?? 0), settled: megabytes(settled), last: megabytes(memory.at(-1) ?? 0) };
  console.log(
    `${rate} submissions/s for ${minutes} minutes, replies ${JSON.stringify(statuses)}: a bar moved after ${barMs.median} ms (p95 ${barMs.p95}, longest ${barMs.longest}, ${delays.length} looks; wanted ≤ ${wanted.barMs}) · objects of the page ${heap.first} MB at first, ${heap.settled} MB after a minute, ${heap.last} MB at the end`,
  );
  return { barMs, heapMegabytes: heap, statuses };
}

/** The time (Unix ms) at which a row of a table shows such a text, seen by the page itself. */
function whenRowShows(page: Page, text: RegExp): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const observer = new MutationObserver(look);
    function look() {
      if (![...document.querySelectorAll('tr')].some((row) => ${text}.test(row.textContent))) return;
      observer.disconnect();
      resolve(Date.now());
    }
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    look();
  })`);
}

/** Bytes of the objects of a page that are in use. */
async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}
