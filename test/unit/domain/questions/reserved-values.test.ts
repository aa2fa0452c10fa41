import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeOptions, type OptionInput } from '../../../../src/domain/questions/option-list.ts';
import type { Option } from '../../../../src/domain/survey.ts';
import type { ValidationIssue } from '../../../../src/errors.ts';

function merge(given: OptionInput[], existing: Option[] = []) {
  const issues: ValidationIssue[] = [];
  const options = mergeOptions(given, { existing, newId: () => 'new', issues });
  return { options, issues: issues.map(({ path, message }) => `${path} ${message}`) };
}

describe('the reserved values of options', () => {
  const old = (value: string): Option => ({ id: 'old', text: 'I left it out', value, code: 1, isHidden: false });

  it('are refused of new options, and of others that are given one', () => {
    for (const value of ['__other__', '__skipped__', '__proto__']) {
      assert.deepEqual(merge([{ text: 'a', value }]).issues, ['options.0.value is reserved'], value);
      assert.deepEqual(merge([{ id: 'old', text: 'a', value }], [old('a')]).issues, ['options.0.value is reserved']);
    }
  });

  it('stay with an option that had one before it was reserved, so that its question can be changed', () => {
    const { options, issues } = merge([{ text: 'Left out', value: '__skipped__' }], [old('__skipped__')]);
    assert.deepEqual(issues, []);
    assert.deepEqual(options, [{ ...old('__skipped__'), text: 'Left out' }]);
    assert.deepEqual(merge([{ id: 'old', text: 'Left out' }], [old('__skipped__')]).issues, []);
  });
});
