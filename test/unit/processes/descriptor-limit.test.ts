import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warnOfLowDescriptorLimit } from '../../../src/processes/descriptor-limit.ts';

describe('the limit of open files', () => {
  const warningsOf = (limit: string): unknown[] => {
    const warnings: unknown[] = [];
    warnOfLowDescriptorLimit(
      { warn: (fields: unknown) => void warnings.push(fields) },
      `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${limit}                 4096                 files\n`,
    );
    return warnings;
  };

  it('is warned of where it is lower than what the engine needs', () => {
    assert.deepEqual(warningsOf('128'), [{ limit: 128 }]);
    assert.deepEqual(warningsOf('1023'), [{ limit: 1023 }]);
    assert.deepEqual([warningsOf('1024'), warningsOf('unlimited')], [[], []]);
  });
});
