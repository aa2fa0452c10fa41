import type { Figures } from '../metrics.ts';

/** What an HTTP process tells the main one. `ask` pairs a question with its answer. */
export type FromHttpProcess =
  | { kind: 'listening'; port: number }
  | { kind: 'figures wanted'; ask: number }
  | { kind: 'figures'; ask: number; figures: Figures };

/** What the main process tells an HTTP process. */
export type ToHttpProcess =
  | { kind: 'figures wanted'; ask: number }
  | { kind: 'figures of all'; ask: number; figures: Figures[] };
