import type { MetricFamilies } from '../metrics.ts';

/** What an HTTP process tells the main one. `ask` pairs a question with its answer. */
export type FromHttpProcess =
  | { kind: 'listening'; port: number }
  | { kind: 'metrics requested'; requestId: number }
  | { kind: 'metrics'; requestId: number; metrics: MetricFamilies };

/** What the main process tells an HTTP process. */
export type ToHttpProcess =
  | { kind: 'metrics requested'; requestId: number }
  | { kind: 'all metrics'; requestId: number; metrics: MetricFamilies[] };
