import { Worker } from 'node:worker_threads';
import type { DrawReport, ReportDocument } from '../../ai/report.ts';
import { createGate } from '../../gate.ts';

const withinMs = 60_000;
const mostHeapMegabytes = 512;

/**
 * Draws reports one after the other, each on a thread of its own: setting a page is work that must not hold up requests, and fonts are
 * large, so their memory is given back. Those that would wait long are refused with SERVICE_UNAVAILABLE.
 */
export function createReportDrawing(drawOne: DrawReport = draw): DrawReport {
  const gate = createGate({ atOnce: 1, waiting: 8, retryAfterSeconds: 5, refusal: 'Other reports are being drawn' });
  return (document) => gate.run(() => drawOne(document));
}

function draw(document: ReportDocument): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./report-thread.js', import.meta.url), { workerData: document, resourceLimits: { maxOldGenerationSizeMb: mostHeapMegabytes } });
    const timer = setTimeout(() => void thread.terminate(), withinMs);
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('the thread ended before the report was drawn'));
    });
  });
}
