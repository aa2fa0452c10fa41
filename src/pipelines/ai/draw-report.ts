import { Worker } from 'node:worker_threads';
import type { DrawReport, ReportDocument } from '../../ai/tasks/report.ts';
import { createSemaphore } from '../../platform/semaphore.ts';

const timeoutMs = 60_000;
const maxHeapMegabytes = 512;

/**
 * Draws reports one after the other, each on a worker thread of its own, so that requests are not delayed and the memory of the fonts is
 * freed. When the queue is full, further ones are refused with SERVICE_UNAVAILABLE.
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
