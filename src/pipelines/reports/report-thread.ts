import { parentPort, workerData } from 'node:worker_threads';
import type { ReportDocument } from '../../ai/report.ts';
import { writeReport } from './report-pdf.ts';

// The body of the thread that draws a report.
parentPort?.postMessage(await writeReport(workerData as ReportDocument));
