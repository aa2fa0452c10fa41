import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
