import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { finishedExport } from '../support/exports.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';

describe('the files of exports', () => {
  async function served(env: Record<string, string>, run: (service: RunningService, admin: Client) => Promise<void>) {
    const service = await startService({ env });
    try {
      await run(service, await adminClient(service));
    } finally {
      assert.equal(await service.stop(), 0);
    }
  }

  const request = (client: Client, surveyId: string) =>
    client.call('POST', `/exports/surveys/${surveyId}`, { body: { format: 'CSV' } });

  it('may have so many bytes for each user, and make room when they are removed', () =>
    served({ EXPORT_USER_BYTES: '10' }, async (service, admin) => {
      const [user, other] = [await signInNewUser(service, admin), await signInNewUser(service, admin)];
      const { id: surveyId } = await user.create('/surveys', { title: 'Files', status: 'ACTIVE' });
      const { id, fileSize } = await finishedExport(user, (await request(user, surveyId)).body.data.exportId);
      const refused = await request(user, surveyId);
      assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED']);
      assert.equal(refused.body.message, `Your files have ${fileSize} bytes, and may have 10: remove some`);
      const { id: otherSurveyId } = await other.create('/surveys', { title: 'Another', status: 'ACTIVE' });
      assert.equal((await request(other, otherSurveyId)).status, 202);
      await user.remove(`/exports/${id}`);
      assert.equal((await request(user, surveyId)).status, 202);
    }));

  it('count while the user may read their survey, and can therefore be removed', () =>
    served({ EXPORT_USER_BYTES: '10' }, async (service, admin) => {
      const [user, owner] = [await signInNewUser(service, admin), await signInNewUser(service, admin)];
      const { id: sharedId } = await owner.create('/surveys', { title: 'Shared', status: 'ACTIVE' });
      const { id: surveyId } = await user.create('/surveys', { title: 'Files', status: 'ACTIVE' });
      await owner.put(`/surveys/${sharedId}/members/${user.id}`, { role: 'VIEWER' });
      await finishedExport(user, (await request(user, sharedId)).body.data.exportId);
      assert.equal((await request(user, surveyId)).status, 429);
      await owner.remove(`/surveys/${sharedId}/members/${user.id}`);
      assert.deepEqual(await user.get('/exports'), []);
      assert.equal((await request(user, surveyId)).status, 202);
      await owner.put(`/surveys/${sharedId}/members/${user.id}`, { role: 'VIEWER' });
      assert.equal((await request(user, surveyId)).status, 429);
    }));

  it('leave a reserve of the disk for the stores', () =>
    served({ UPLOAD_DISK_RESERVE_PERCENT: '99' }, async (_service, admin) => {
      const { id: surveyId } = await admin.create('/surveys', { title: 'Files', status: 'ACTIVE' });
      const { exportId } = (await request(admin, surveyId)).body.data;
      const { status, error } = await finishedExport(admin, exportId);
      assert.deepEqual([status, error], ['FAILED', 'There is no room on the disk for files right now']);
    }));
});
