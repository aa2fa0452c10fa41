import assert from 'node:assert/strict';
import { type AiProviderServer, startAiProvider } from './ai-provider.ts';
import { adminClient, type Client } from './client.ts';
import { eventually } from './eventually.ts';
import { type RunningService, startService } from './service.ts';
import { sharedStores } from './stores.ts';

export const aiProviders = ['openai', 'anthropic', 'gemini', 'azure'] as const;

/** Limits a minute that do not get in a test's way. */
const highLimits = Object.fromEntries(
  ['OPENAI', 'ANTHROPIC', 'GEMINI', 'AZURE_OPENAI'].flatMap((prefix) => [
    [`${prefix}_RPM`, '100000'],
    [`${prefix}_TPM`, '1000000000'],
  ]),
);

/** A service whose AI providers are all one stand-in, and its first ADMIN. */
export interface AiFixture {
  service: RunningService;
  ai: AiProviderServer;
  admin: Client;
  stop(): Promise<void>;
}

/** Starts all of it; nothing that a provider replied is kept for the next call unless `env` says so. */
export async function startAiFixture(env: Record<string, string> = {}): Promise<AiFixture> {
  await sharedStores();
  const ai = await startAiProvider();
  try {
    const service = await startService({
      env: { ...ai.env, ...highLimits, AI_CACHE_ENABLED: 'false', AI_BATCH_DELAY_MS: '0', ...env },
    });
    const stop = async () => {
      await service.stop();
      await ai.close();
    };
    return { service, ai, admin: await adminClient(service), stop };
  } catch (error) {
    await ai.close();
    throw error;
  }
}

export interface OpenSurvey {
  id: string;
  questionId: string;
  responseIds: string[];
}

/** An ACTIVE survey with one open question and these answers, which analytics show already. */
export async function openSurvey(client: Client, answers: readonly string[]): Promise<OpenSurvey> {
  const { id } = await client.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
  const { id: questionId } = await client.create(`/surveys/${id}/questions`, {
    type: 'LONG_TEXT',
    text: 'What do you think?',
  });
  const responseIds: string[] = [];
  for (const textValue of answers) {
    const reply = await client.submit(id, { answers: [{ questionId, textValue }] });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    responseIds.push(reply.body.data.responseId);
  }
  await eventually(async () =>
    assert.equal((await client.get(`/analytics/surveys/${id}`)).totalResponses, answers.length),
  );
  return { id, questionId, responseIds };
}

/** The job once it has come to this end. */
export function endedJob(
  client: Client,
  jobId: string,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED' = 'COMPLETED',
): Promise<any> {
  return eventually(async () => {
    const job = await client.get(`/ai/jobs/${jobId}`);
    assert.equal(job.status, status, JSON.stringify(job));
    return job;
  });
}
