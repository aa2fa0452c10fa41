import type { Outcome } from '../../src/domain/outcome.ts';
import type { CountPlan, Dimension } from '../../src/domain/questions/contract.ts';
import { encodeTombstone } from '../../src/domain/response-row.ts';
import { newId } from '../../src/platform/ids.ts';
import { givenStart, responseLine } from './response-database.ts';

/** Small numbers that look random and are the same in every run of a seed. */
export function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % sides;
  };
}

export interface Modelled {
  responseId: string;
  submittedAtMs: number;
  version: number;
  surveyVersion: number;
  outcome: Outcome;
  durationMs: number;
  /** The answers to two questions, and the bits that say which of them was not asked. */
  codes: [number, number, number];
  numbers: [number];
  texts: [string];
  isDeleted: boolean;
}

const outcomesDrawn = ['PARTIAL', 'COMPLETED', 'COMPLETED', 'COMPLETED', 'SCREENED_OUT', 'OVER_QUOTA'] as const;

/** The expected content of the store: the newest version of each response. */
export function createModel(dice: (sides: number) => number, spanMs: number) {
  const surveyId = newId();
  const all: Modelled[] = [];
  const line = (response: Modelled) =>
    responseLine({ surveyId, ...response, completedAtMs: response.outcome === 'PARTIAL' ? 0 : response.submittedAtMs });
  const sent: string[] = [];
  const content = () => ({
    surveyVersion: 1 + dice(4),
    outcome: outcomesDrawn[dice(outcomesDrawn.length)] ?? 'COMPLETED',
    durationMs: dice(4) === 0 ? -1 : dice(100_000),
    codes: [dice(4), dice(8), dice(2) * dice(8)] satisfies [number, number, number],
    numbers: [dice(50)] satisfies [number],
    texts: [`w${dice(5)}`] satisfies [string],
  });
  const born = (): Modelled => ({
    responseId: newId(),
    submittedAtMs: givenStart + Math.floor((all.length * spanMs) / 600) + dice(40),
    version: 1,
    ...content(),
    isDeleted: false,
  });
  return {
    surveyId,
    live: () => all.filter((response) => !response.isDeleted),
    /** A batch: mostly new responses, some merges, deletions and rows that are delivered again. */
    batch(): string[] {
      return Array.from({ length: 1 + dice(40) }, () => {
        const old = all[dice(Math.max(1, all.length))];
        const event =
          old === undefined
            ? 'new'
            : (['merge', 'delete', 'again', 'new', 'new', 'new', 'new', 'new'] as const)[dice(8)];
        if (event === 'again') return sent[dice(sent.length)] ?? '';
        if (event === 'merge' && old && !old.isDeleted) Object.assign(old, content(), { version: old.version + 1 });
        if (event === 'delete' && old) {
          old.isDeleted = true;
          return encodeTombstone(surveyId, old.responseId, old.submittedAtMs);
        }
        const response = event === 'merge' && old && !old.isDeleted ? old : born();
        if (response !== old) all.push(response);
        const row = line(response);
        sent.push(row);
        return row;
      });
    },
  };
}

/** How the answers to the two questions are counted. */
export const plan: CountPlan = {
  base: [0],
  requests: [
    { kind: 'codes', slot: 0 },
    { kind: 'bits', slots: [1] },
    { kind: 'number', slot: 0, presence: 0 },
    { kind: 'text', slot: 0, presence: 0, by: 'words' },
  ],
};

/** The two questions in a crosstab. */
export const rows: Dimension = {
  categories: [1, 2, 3].map((code) => ({ code, value: `${code}`, text: '' })),
  source: { kind: 'code', slot: 0 },
};
export const columns: Dimension = {
  categories: [1, 2, 3].map((code) => ({ code, value: `${code}`, text: '' })),
  source: { kind: 'bits', slots: [1] },
};
