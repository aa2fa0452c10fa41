import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warnOfSmallUploadBudgets } from '../../../src/processes/upload-budgets.ts';
import { readSettings } from '../../../src/settings/settings.ts';

describe('a budget of uploads', () => {
  const warningsOf = (given: Record<string, string>): unknown[] => {
    const warnings: unknown[] = [];
    warnOfSmallUploadBudgets(readSettings(given), { warn: (fields: unknown) => void warnings.push(fields) });
    return warnings;
  };

  it('that the largest upload exceeds is warned of, and ends no start', () => {
    assert.deepEqual(warningsOf({}), []);
    assert.deepEqual(warningsOf({ UPLOAD_MAX_BYTES: '536870912' }), []);
    assert.deepEqual(warningsOf({ UPLOAD_MAX_BYTES: '1073741824' }), [
      { UPLOAD_ADDRESS_HOURLY_BYTES: 536_870_912, UPLOAD_MAX_BYTES: 1_073_741_824 },
    ]);
    assert.deepEqual(warningsOf({ UPLOAD_SURVEY_UNCLAIMED_BYTES: '20971520' }), [
      { UPLOAD_SURVEY_UNCLAIMED_BYTES: 20_971_520, UPLOAD_MAX_BYTES: 26_214_400 },
    ]);
  });
});
