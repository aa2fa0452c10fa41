import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { type RunningService, startService } from '../support/service.ts';

const mib = 1024 * 1024;
/** Addresses that no other test sends from, by number. */
const network = Array.from({ length: 2 }, () => Math.floor(Math.random() * 256));
const addressOf = (n: number): string => ['10', ...network, n].join('.');

async function served(env: Record<string, string>, run: (service: RunningService, admin: Client) => Promise<void>) {
  const service = await startService({ env });
  try {
    await run(service, await adminClient(service));
  } finally {
    assert.equal(await service.stop(), 0);
  }
}

async function fileSurvey({ base }: RunningService, admin: Client, settings: Record<string, unknown> = {}) {
  const { id } = await admin.create('/surveys', { title: 'Files' });
  const question = await admin.create(`/surveys/${id}/questions`, {
    type: 'FILE_UPLOAD',
    text: 'A file?',
    settings,
  });
  await admin.post(`/surveys/${id}/publish`);
  return {
    async upload(bytes: number, address = addressOf(1), start = '') {
      const body = Buffer.alloc(bytes, 65);
      body.write(start, 'latin1');
      const reply = await fetch(`${base}/uploads/surveys/${id}/questions/${question.id}`, {
        method: 'POST',
        body,
        headers: { 'x-forwarded-for': address, 'content-type': 'text/plain' },
      });
      const { code, message, data }: any = await reply.json();
      return {
        status: reply.status,
        code,
        message,
        uploadId: data?.uploadId,
        retryAfter: Number(reply.headers.get('retry-after')),
      };
    },
    claim: async (uploadId: string) =>
      (await admin.submit(id, { answers: [{ questionId: question.id, textValue: uploadId }] })).status,
  };
}

describe('anonymous uploads', () => {
  it('are refused beyond the budget of a survey, until responses claim them', () =>
    served({ TRUSTED_PROXIES: '127.0.0.1', UPLOAD_SURVEY_UNCLAIMED_BYTES: String(3 * mib) }, async (service, admin) => {
      const [one, other] = [await fileSurvey(service, admin), await fileSurvey(service, admin)];
      const first = await one.upload(mib, addressOf(1));
      assert.deepEqual([first.status, (await one.upload(mib, addressOf(2))).status], [201, 201]);
      const refused = await one.upload(1.5 * mib, addressOf(3));
      assert.deepEqual([refused.status, refused.code], [503, 'SERVICE_UNAVAILABLE']);
      assert.ok(refused.retryAfter > 0);
      assert.equal((await other.upload(mib)).status, 201, 'other surveys go on');
      assert.equal(await one.claim(first.uploadId), 201);
      assert.equal((await one.upload(1.5 * mib, addressOf(3))).status, 201);
      const raced = await Promise.all(Array.from({ length: 8 }, (_, n) => other.upload(mib, addressOf(100 + n))));
      assert.equal(raced.filter(({ status }) => status === 201).length, 2, 'also at once');
    }));

  it('are counted in bytes for each address and hour, refused ones too', () =>
    served(
      { TRUSTED_PROXIES: '127.0.0.1', UPLOAD_ADDRESS_HOURLY_BYTES: String(3 * mib), UPLOAD_MAX_BYTES: String(2 * mib) },
      async (service, admin) => {
        const survey = await fileSurvey(service, admin);
        for (let sent = 0; sent < 3; sent += 1) {
          const { status, uploadId } = await survey.upload(mib, addressOf(50));
          assert.equal(status, 201);
          assert.equal(await survey.claim(uploadId), 201);
        }
        const refused = await survey.upload(mib, addressOf(50));
        assert.deepEqual([refused.status, refused.code], [429, 'RATE_LIMITED']);
        assert.ok(refused.retryAfter > 3000);
        assert.equal((await survey.upload(mib, addressOf(51))).status, 201, 'other addresses go on');
        for (let tries = 0; tries < 4; tries += 1)
          assert.equal((await survey.upload(0, addressOf(52))).status, 400, 'what is not read is given back');
        assert.equal((await survey.upload(2 * mib, addressOf(52))).status, 201);
        const archive = 'PK\x03\x04\x14\0\0\0\0\0';
        for (const status of [415, 415, 429])
          assert.equal((await survey.upload(1.5 * mib, addressOf(53), archive)).status, status);
      },
    ));

  it('may be as large as UPLOAD_MAX_BYTES, unless their question takes less', () =>
    served({ UPLOAD_MAX_BYTES: String(32 * mib) }, async (service, admin) => {
      const ofService = await fileSurvey(service, admin);
      const small = await fileSurvey(service, admin, { maxBytes: mib });
      const large = await fileSurvey(service, admin, { maxBytes: 100 * mib });
      for (const { upload } of [ofService, large]) {
        assert.equal((await upload(30 * mib)).status, 201);
        assert.equal((await upload(32 * mib + 1)).status, 413);
      }
      const { status, message } = await small.upload(mib + 1);
      assert.deepEqual([status, message], [413, 'The file is larger than 1048576 bytes']);
    }));

  it('leave a reserve of the disk for the stores', () =>
    served({ UPLOAD_DISK_RESERVE_PERCENT: '99' }, async (service, admin) => {
      const survey = await fileSurvey(service, admin);
      const refused = await survey.upload(1);
      assert.deepEqual([refused.status, refused.code], [503, 'SERVICE_UNAVAILABLE']);
      assert.ok(refused.retryAfter > 0);
    }));
});
