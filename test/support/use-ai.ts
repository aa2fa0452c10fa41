import { after, before, beforeEach } from 'node:test';
import { type AiFixture, startAiFixture } from './ai-fixture.ts';
import type { AiProviderServer } from './ai-provider.ts';

export interface UseAiOptions {
  env?: Record<string, string>;
  /** The default replies of the provider in each test. */
  answer: AiProviderServer['answer'];
}

/**
 * A service with a stand-in of the AI providers for the tests of a suite: `take` is given it before the first, and
 * every test finds the stand-in as new.
 */
export function useAi(take: (scene: AiFixture) => unknown, { env, answer }: UseAiOptions): void {
  let scene: AiFixture | undefined;
  before(async () => {
    scene = await startAiFixture(env);
    await take(scene);
  });
  after(() => scene?.stop());
  beforeEach(() => {
    if (!scene) return;
    const { ai } = scene;
    ai.calls.length = 0;
    ai.faults.length = 0;
    ai.faultOf = undefined;
    ai.delayMs = 0;
    ai.holdUntil = undefined;
    ai.midway = undefined;
    ai.answer = answer;
  });
}
