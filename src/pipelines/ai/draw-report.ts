import { Worker } from 'node:worker_threads';
import type { DrawReport, ReportDocument } from '../../ai/tasks/report.ts';
import { createSemaphore } from '../../platform/semaphore.ts';

const timeoutMs = 60_000;
const maxHeapMegabytes = 512;

/**
 * Draws reports one after the other, each in its own worker thread, so that drawing does not delay requests and the
 * memory of the fonts is freed. Refuses with SERVICE_UNAVAILABLE when too many wait.
 */
export function createReportDrawer(drawOne: DrawReport = drawInWorker): DrawReport {
  const semaphore = createSemaphore({
    concurrency: 1,
    maxQueued: 8,
    retryAfterSeconds: 5,
    queueFullMessage: 'Other reports are being drawn',
  });
  return (document) => semaphore.run(() => drawOne(document));
}

function drawInWorker(document: ReportDocument): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./report-pdf-worker.js', import.meta.url), {
      workerData: document,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
    });
    const timer = setTimeout(() => void thread.terminate(), timeoutMs);
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('the thread ended before the report was drawn'));
    });
  });
}
