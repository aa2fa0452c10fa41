import assert from 'node:assert/strict';
import { createResponseErasure } from '../../src/actors/erasure/erasure.ts';
import { createLog } from '../../src/log.ts';
import { createAudit } from '../../src/stores/postgres/audit.ts';
import { retentionRules } from '../../src/stores/postgres/survey-retention.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import type { RunningService } from './service.ts';
import { uploadPicture, uploadsBy } from './uploads.ts';
import { type ServiceFixture, useServiceAndStores } from './use-service.ts';

export const dayMs = 86_400_000;

/**
 * A service on the run's shared stores for the tests of a suite, and what makes surveys whose responses are erased:
 * `take` is given the service and the stores before the first test.
 */
export function useRetention(take: (served: ServiceFixture & { stores: Stores }) => void) {
  let service: RunningService;
  let admin: Client;
  let stores: Stores;
  useServiceAndStores((served) => {
    ({ service, admin, stores } = served);
    take(served);
  });

  /** Of these tests: other files of a worker may have left surveys whose responses are too old by then. */
  const ownIds = new Set<string>();
  return {
    /** The service's own parts, on its stores, at another time. */
    inDays(days: number, generalDays?: number) {
      const now = () => Date.now() + days * dayMs;
      const { deadLetters, reading, uploads } = uploadsBy(now, stores);
      const erasing = createResponseErasure({
        ...stores,
        reading,
        uploads,
        deadLetters,
        audit: createAudit(stores.sql, createLog('error')),
        log: createLog('error'),
        now,
        rules: async (at) =>
          (await retentionRules(stores.sql, generalDays, at)).filter(({ surveyId }) => ownIds.has(surveyId)),
      });
      return { erasing };
    },
    /** A published survey, whose responses may name an upload. */
    async make(fields: Record<string, unknown> = {}) {
      const { id } = await admin.create('/surveys', { title: 'Kept for a while', ...fields });
      ownIds.add(id);
      const name = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Name?' });
      const file = await admin.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'File?' });
      await admin.post(`/surveys/${id}/publish`);
      const upload = () => uploadPicture(service, { surveyId: id, questionId: file.id });
      const submit = async (more: Record<string, unknown> = {}, uploadId?: string): Promise<string> => {
        const answers = [
          { questionId: name.id, textValue: 'somebody' },
          ...(uploadId === undefined ? [] : [{ questionId: file.id, textValue: uploadId }]),
        ];
        const reply = await admin.submit(id, { answers, ...more });
        assert.equal(reply.status, 201, JSON.stringify(reply.body));
        return reply.body.data.responseId;
      };
      return { id, nameId: String(name.id), upload, submit };
    },
    /** Waits until analytics and the survey count so many responses. */
    shows: (id: string, total: number) =>
      eventually(async () => {
        const { totalResponses } = await admin.get(`/analytics/surveys/${id}`);
        const { responseCount } = await admin.get(`/surveys/${id}`);
        assert.deepEqual([totalResponses, responseCount], [total, total]);
      }),
  };
}
