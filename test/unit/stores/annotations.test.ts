import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { themeKey } from '../../../src/domain/analytics/theme-key.ts';
import { type AnnotationsDeps, createAnnotations } from '../../../src/stores/annotations.ts';

describe('removing annotations of deleted responses', () => {
  it('ends at a stop with the survey at hand, and removes the rest from ClickHouse the next time', async () => {
    const stopping = new AbortController();
    const removed: string[] = [];
    const annotations = createAnnotations({
      rows: {
        editionsInUse: async () => [],
        findErasedWithAnnotations: async () => [],
        removeOfResponses: async (surveyId: string) => {
          removed.push(surveyId);
          stopping.abort(new Error('stopped'));
        },
        removeLeftoverThemes: async () => void removed.push('themes'),
      },
      table: {
        editions: async () => new Map(),
        removeEditions: async () => undefined,
        async *findDeleted() {
          for (const surveyId of ['one', 'other']) yield { surveyId, responseIds: ['r'] };
        },
        removeDeleted: async () => void removed.push('in ClickHouse'),
      },
    } as unknown as AnnotationsDeps);
    await assert.rejects(annotations.sweep(Date.now(), stopping.signal), /stopped/);
    assert.deepEqual(removed, ['one']);
    await annotations.sweep(Date.now());
    assert.deepEqual(removed, ['one', 'one', 'other', 'in ClickHouse', 'themes']);
  });
});

describe('the themes of a large analysis, of which one was renamed', () => {
  const found = Array.from({ length: 10_000 }, (_, index) => ({
    value: `Long waiting times at counter ${index}`,
    count: 1,
  }));
  const annotations = createAnnotations({
    rows: {
      lastEdition: async () => 'edition',
      themeNames: async () =>
        new Map([
          [themeKey('Long waiting times at counter 3'), { theme: 'before', name: 'Long waiting times at counter 5' }],
        ]),
    },
    table: {
      values: async () => found,
      valuesByQuestion: async () => new Map(),
      countsOf: async () => [],
    },
  } as unknown as AnnotationsDeps);
  const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
    let [turns, isDone] = [0, false];
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    await work;
    isDone = true;
    return turns;
  };

  it('let others run while they are put under their names', async () => {
    for (const work of [
      () => annotations.findByNames('survey', { filters: ['theme:Queues'] }),
      () => annotations.countsOf('survey', 'question', { kind: 'theme', limit: 10 }),
    ]) {
      const turns = await turnsDuring(work());
      assert.ok(turns > 5, `${turns} turns of the event loop`);
    }
  });

  it('are counted and stored under the names that they have', async () => {
    const { theme } = await annotations.findByNames('survey', { filters: ['theme:Queues'] });
    assert.deepEqual([theme?.values.length, theme?.values[0]], [9999, 'Long waiting times at counter 5']);
    assert.deepEqual(theme?.storedAs?.get('Long waiting times at counter 5'), [
      'Long waiting times at counter 3',
      'Long waiting times at counter 5',
    ]);
  });
});
