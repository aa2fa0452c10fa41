import { Worker } from 'node:worker_threads';
import type { DrawReport, ReportDocument } from '../../ai/report.ts';

const withinMs = 60_000;
const mostHeapMegabytes = 512;

/**
 * Draws reports one after the other, each on a thread of its own: setting a page is work that must not hold up requests, and fonts are
 * large, so their memory is given back.
 */
export function createReportDrawing(): DrawReport {
  let last: Promise<unknown> = Promise.resolve();
  return (document) => {
    const drawn = last.then(() => draw(document));
    last = drawn.catch(() => undefined);
    return drawn;
  };
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
