import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium, missingChromium } from '../test/support/chromium.ts';
import { adminClient } from '../test/support/client.ts';
import { startService } from '../test/support/service.ts';
import { machineLine, option } from './support/machine.ts';
import { bareDocument, publishSurvey, surveyJsModel } from './support/page-survey.ts';
import { buildPeerForm, filesIn, serveFiles } from './support/peer-form.ts';
import {
  type LoadedBytes,
  loadedBytes,
  type PageProbe,
  type PhoneTimes,
  timeOnSlowPhone,
} from './support/slow-phone.ts';
import { medianOf } from './support/timing.ts';

/**
 * The respondent's page for a survey of 30 questions: its size, and when its first question can be read and answered
 * on a slow phone. Limit: the first section as bare HTML. Peer: the same survey as a form of SurveyJS. `--runs N` (5).
 */
const runs = option('runs', 5);
/** Budgets of docs/benchmarks.md, in KB of gzip and milliseconds. */
const budgets = { script: 35, all: 60, usableMs: 4000, consoleScript: 180 };
const kilobytes = (bytes: number): number => Math.round(bytes / 100) / 10;
const missing = missingChromium();
if (missing !== undefined) {
  console.log(`not measured: ${missing}`);
  process.exit(0);
}
console.log(machineLine());
const folder = mkdtempSync(join(tmpdir(), 'pages-bench-'));
const service = await startService({ env: { LOG_LEVEL: 'warn' } });
const browser = await launchChromium(folder);
try {
  await measure(browser);
} finally {
  await browser.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Measured extends LoadedBytes, PhoneTimes {}

async function measure(opened: Browser): Promise<void> {
  const link = await publishSurvey(await adminClient(service));
  await buildPeerForm(surveyJsModel, join(folder, 'peer'));
  const bare = await serveFiles(new Map([['index.html', Buffer.from(bareDocument())]]));
  const peer = await serveFiles(filesIn(join(folder, 'peer')));
  const probes: Record<string, PageProbe> = {
    'bare HTML': { url: bare.origin, question: 'legend', controls: 'input', reaction: undefined },
    SurveyJS: {
      url: peer.origin,
      question: '.sd-question__title',
      controls: 'input[type=radio]',
      reaction: '.sd-item--checked',
    },
    ours: {
      url: `${service.origin}/s/${link}`,
      question: 'form .question-text',
      controls: 'form input[type=radio]',
      reaction: '.status[data-status="kept"], .status[data-status="saving"], .status[data-status="saved"]',
    },
  };
  const measured = new Map<string, Measured>();
  const times = new Map<string, PhoneTimes[]>(Object.keys(probes).map((name) => [name, []]));
  // In turn, so that a slow moment of the machine meets all.
  for (let run = 0; run < runs; run += 1)
    for (const [name, probe] of Object.entries(probes)) times.get(name)?.push(await timeOnSlowPhone(opened, probe));
  for (const [name, probe] of Object.entries(probes)) {
    const own = times.get(name) ?? [];
    measured.set(name, {
      ...(await loadedBytes(opened, probe.url, probe.question)),
      firstQuestionMs: medianOf(own.map(({ firstQuestionMs }) => firstQuestionMs)),
      usableMs: medianOf(own.map(({ usableMs }) => usableMs)),
    });
  }
  const consoleBytes = await loadedBytes(opened, service.origin, 'h1');
  peer.stop();
  bare.stop();
  report(measured, consoleBytes);
}

function report(measured: ReadonlyMap<string, Measured>, consoleBytes: LoadedBytes): void {
  for (const [name, { script, all, requests, firstQuestionMs, usableMs }] of measured)
    console.log(
      `${name.padEnd(10)} script ${kilobytes(script)} KB, in all ${kilobytes(all)} KB in ${requests} requests · slow phone: first question ${Math.round(firstQuestionMs)} ms, usable ${Math.round(usableMs)} ms`,
    );
  console.log(
    `console    first screen: script ${kilobytes(consoleBytes.script)} KB, in all ${kilobytes(consoleBytes.all)} KB`,
  );
  const ours = measured.get('ours');
  if (!ours) return;
  const checks: [string, number, number][] = [
    ['script of the page, KB', kilobytes(ours.script), budgets.script],
    ['page in all, KB', kilobytes(ours.all), budgets.all],
    ['usable on the slow phone, ms', Math.round(ours.usableMs), budgets.usableMs],
    ['script of the console’s first screen, KB', kilobytes(consoleBytes.script), budgets.consoleScript],
  ];
  for (const [name, value, budget] of checks)
    console.log(`${value <= budget ? 'kept' : 'MISSED'}  ${name}: ${value} (wanted ≤ ${budget})`);
  console.log(JSON.stringify({ bench: 'pages', runs, ...Object.fromEntries(measured), console: consoleBytes }));
}
