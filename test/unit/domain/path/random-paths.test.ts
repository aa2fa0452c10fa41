import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compareOrdersOfSaves,
  comparePrefixes,
  compareShuffled,
  compareSources,
  compareWithSlowPaths,
  evaluateAnything,
} from './compare-paths.ts';

/** `npm test -- fuzz paths` does the same with many more. */
describe('paths through random surveys', () => {
  it('are what a slow evaluator finds', () => {
    const { OPEN, COMPLETE, SCREENED_OUT } = compareWithSlowPaths(300);
    assert.ok(OPEN > 50 && COMPLETE > 30 && SCREENED_OUT > 5, `${OPEN} ${COMPLETE} ${SCREENED_OUT}`);
  });

  it('are the same from answers as clients send them and from a stored row', () => compareSources(150));

  it('are the same whatever the order of the saves', () => compareOrdersOfSaves(100));

  it('do not change before a question if the answers after it do', () => comparePrefixes(100));

  it('never fail, whatever the answers are', () => evaluateAnything(200));

  it('show the same when shuffled', () => compareShuffled(100));
});
