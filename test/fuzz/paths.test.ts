import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compareOrdersOfSaves,
  comparePrefixes,
  compareShuffled,
  compareSources,
  compareWithSlowPaths,
  evaluateAnything,
} from '../unit/domain/path/compare-paths.ts';

/** Each of them; PATH_SURVEYS takes another number, PATH_SEED other surveys. */
const surveys = Number(process.env['PATH_SURVEYS'] ?? 10_000);
const seed = Number(process.env['PATH_SEED'] ?? 7);

describe('paths through ten thousand random surveys', () => {
  it('are what a slow evaluator finds', () => {
    const outcomes = compareWithSlowPaths(surveys, seed);
    for (const [outcome, count] of Object.entries(outcomes)) assert.ok(count > surveys / 200, `${count} ${outcome}`);
  });

  it('are the same from answers as clients send them and from a stored row', () => compareSources(surveys, seed));

  it('are the same whatever the order of the saves', () => compareOrdersOfSaves(surveys, seed));

  it('do not change before a question if the answers after it do', () => comparePrefixes(surveys, seed));

  it('never fail, whatever the answers are', () => evaluateAnything(surveys, seed));

  it('show the same when shuffled', () => compareShuffled(surveys, seed));
});
