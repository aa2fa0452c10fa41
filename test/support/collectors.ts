import { blankCollector, type Collector } from '../../src/domain/collectors/collector.ts';
import { nextId } from './questions.ts';

/** The default collector of a survey as it is made, unless `more` says otherwise. */
export const collectorWith = (more: Partial<Collector> = {}): Collector => ({
  ...blankCollector({ id: nextId(), surveyId: nextId(), code: 0, linkId: 'abcdefghij', nowMs: Date.UTC(2026, 0, 1) }),
  name: 'Default',
  ...more,
});
