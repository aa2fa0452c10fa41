import { parentPort, workerData } from 'node:worker_threads';
import type { ReportDocument } from '../../ai/tasks/report.ts';
import { renderReportPdf } from './report-pdf.ts';

// Runs in the worker thread that draws a report.
parentPort?.postMessage(await renderReportPdf(workerData as ReportDocument));
