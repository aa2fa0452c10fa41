import type { Collector } from '../../src/domain/collector.ts';
import { nextId } from './questions.ts';

const at = new Date('2026-01-01T00:00:00.000Z');

/** The default collector of a survey as it is made, unless `more` says otherwise. */
export const collectorWith = (more: Partial<Collector> = {}): Collector => ({
  id: nextId(),
  surveyId: nextId(),
  code: 0,
  linkId: 'abcdefghij',
  name: 'Default',
  kind: 'OPEN',
  isActive: true,
  opensAt: null,
  closesAt: null,
  responseQuota: null,
  language: null,
  metadata: {},
  isDeleted: false,
  createdAt: at,
  updatedAt: at,
  ...more,
});
