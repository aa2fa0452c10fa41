import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';

export interface AskedQuestion {
  id: string;
  type: string;
  text: string;
  options: { id: string; text: string; value: string }[];
  settings: { rows?: { id: string; text: string; value: string }[] };
}

/** A published survey with these questions. */
export async function publishedSurvey(
  admin: Client,
  fields: Record<string, unknown>,
  questions: readonly Record<string, unknown>[],
): Promise<{ id: string; questions: AskedQuestion[] }> {
  const { id } = await admin.create('/surveys', fields);
  const asked: AskedQuestion[] = [];
  for (const question of questions) asked.push(await admin.create(`/surveys/${id}/questions`, question));
  await admin.post(`/surveys/${id}/publish`);
  return { id, questions: asked };
}

interface StoredResponse {
  id: string;
  isComplete: boolean;
  outcome: string;
  answers: Record<string, unknown>[];
  language: string;
  metadata: Record<string, string>;
}

/** The stored responses of a survey, once there are as many. */
export async function storedResponses(admin: Client, surveyId: string, count: number): Promise<StoredResponse[]> {
  return eventually(async () => {
    const found: StoredResponse[] = await admin.get(`/responses/surveys/${surveyId}`);
    assert.equal(found.length, count, JSON.stringify(found).slice(0, 500));
    return found;
  });
}

/** The group or field of a question, by its text. */
export const questionAt = (page: Page, text: string) => page.locator('.question', { hasText: text });

/** Waits for the page after a response that was received. */
export const thanked = (page: Page) => page.locator('[data-notice="thanks"]').waitFor();
