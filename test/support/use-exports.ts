import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before } from 'node:test';
import { type Client, createClient } from './client.ts';
import { temporaryDataDir } from './data-dir.ts';
import { answersOf, createFullSurvey, type FullSurvey } from './every-type.ts';
import { type ExportedFile, exportFile } from './exports.ts';
import { adminEmail, adminPassword, type RunningService, startService } from './service.ts';

export interface ExportsFixture {
  service: RunningService;
  admin: Client;
  token: string;
  /** Has a question of every type, a title of several scripts, and so many responses. */
  full: FullSurvey;
  sent: number;
  /** An export of that survey, or of another. */
  file(body: object, surveyId?: string): Promise<ExportedFile>;
}

/** A service on stores of its own for the tests of a suite, with a survey to export: `take` is given it before the first. */
export function useExports(take: (fixture: ExportsFixture) => void): void {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  const sent = 12;
  before(async () => {
    service = await startService({ dataDir });
    const login = await createClient(service).call('POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
    });
    const token = login.body.data.accessToken;
    const admin = createClient(service, token);
    const full = await createFullSurvey(admin, { title: 'Опрос “гостей” 客人/2026' });
    for (let n = 0; n < sent; n += 1)
      assert.equal(
        (
          await admin.submit(full.id, {
            answers: answersOf(full, n),
            respondent: `panel-${n}`,
            metadata: { source: n % 2 === 0 ? 'mail' : 'web' },
          })
        ).status,
        201,
      );
    const file = (body: object, surveyId = full.id) => exportFile(service, admin, token, surveyId, body);
    take({ service, admin, token, full, sent, file });
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    rmSync(dataDir, { recursive: true, force: true });
  });
}
