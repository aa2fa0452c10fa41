import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  currentThemeName,
  planThemeNames,
  type ThemeNames,
  type ThemeNaming,
} from '../../../../src/domain/analytics/theme-names.ts';

/** A survey whose answers are about these themes, as an analysis calls them. */
function survey(...found: string[]) {
  let names: ThemeNames = new Map();
  const shown = () => [...new Set(found.map((theme) => currentThemeName(names, theme)))];
  const plan = (...namings: [theme: string, name: string | null][]) =>
    planThemeNames(
      { names, shown: shown() },
      namings.map(([theme, name]) => ({ theme, name })),
    );
  const name = (...namings: [theme: string, name: string | null][]): ThemeNaming[] => {
    const planned = plan(...namings);
    assert.ok('names' in planned, JSON.stringify(planned));
    names = planned.names;
    return planned.undo;
  };
  return {
    shown,
    name,
    nowCalled: (theme: string) => currentThemeName(names, theme),
    take: (undo: readonly ThemeNaming[]) =>
      name(...undo.map(({ theme, name: to }) => [theme, to] as [string, typeof to])),
    refusals: (...namings: [theme: string, name: string | null][]) => {
      const planned = plan(...namings);
      return 'issues' in planned ? planned.issues.map(({ path }) => path) : [];
    },
  };
}

describe('names that people give to themes', () => {
  it('rename and merge, by whatever spelling, and each change can be taken back', () => {
    const { shown, name, take, nowCalled } = survey('Soup', 'Queue', 'Slow service');
    const renamed = name(['soups', 'Broth']);
    assert.deepEqual(shown(), ['Broth', 'Queue', 'Slow service']);
    const merged = name(['Queue', 'Waiting'], ['SLOW SERVICE', 'Waiting']);
    assert.deepEqual(shown(), ['Broth', 'Waiting']);
    const further = name(['Waiting', 'Broth']);
    assert.deepEqual(shown(), ['Broth']);
    assert.deepEqual([nowCalled('queue'), nowCalled('waiting'), nowCalled('Staff')], ['Broth', 'Broth', 'Staff']);
    take(further);
    assert.deepEqual(shown(), ['Broth', 'Waiting']);
    take(merged);
    take(renamed);
    assert.deepEqual(shown(), ['Soup', 'Queue', 'Slow service']);
  });

  it('take the spelling of a theme that is there, and can change only the spelling', () => {
    const { shown, name, take } = survey('Soup', 'Queue');
    name(['Queue', 'SOUPS']);
    assert.deepEqual(shown(), ['Soup']);
    const spelled = name(['Soup', 'SOUP']);
    assert.deepEqual(shown(), ['SOUP']);
    assert.deepEqual(name(['Soup', 'SOUP']), [], 'said again');
    take(spelled);
    assert.deepEqual(shown(), ['Soup']);
  });

  it('go back to a former name, and forth by undo', () => {
    const { shown, name, take } = survey('Soup', 'Queue');
    name(['Soup', 'Broth']);
    const back = name(['Broth', 'soup']);
    assert.deepEqual(shown(), ['Soup', 'Queue']);
    take(back);
    assert.deepEqual(shown(), ['Broth', 'Queue']);
    name(['Soup', null]);
    assert.deepEqual(shown(), ['Soup', 'Queue']);
    assert.deepEqual(name(['Soup', null]), []);
  });

  it('are refused for unknown themes, repeated ones, their own name and circles', () => {
    const { refusals, name } = survey('Soup', 'Queue', 'Staff');
    assert.deepEqual(refusals(['Salad', 'Food'], ['Soup', 'Food']), ['names.0.theme']);
    assert.deepEqual(refusals(['Soup', 'Food'], ['soups', 'Meals']), ['names.1.theme']);
    assert.deepEqual(refusals(['Soup', 'Soup'], ['queue', 'Queue']), ['names.0.name', 'names.1.name']);
    assert.deepEqual(refusals(['Soup', 'Queue'], ['Queue', 'Soup']), ['names.0.name', 'names.1.name']);
    assert.equal(refusals(['Soup', 'Queue'], ['Queue', 'Staff'], ['Staff', 'Soup']).length, 3);
    name(['Soup', 'Queue'], ['Queue', 'Staff']);
    assert.deepEqual(refusals(['Staff', 'Soup']), []);
  });
});
