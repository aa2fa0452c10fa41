import type { ProviderName } from '../../../settings/ai-settings.ts';
import { type Sql, withPostgres } from '../client.ts';
import { type AdminCaller, holdAdmin } from '../users.ts';

/** A provider as configured by an ADMIN. */
export interface StoredAiProvider {
  provider: ProviderName;
  keySealed: Buffer;
  keyLastFour: string;
  endpoint: string | null;
  deployment: string | null;
  modelHigh: string | null;
  modelLow: string | null;
}

export function createAiSettingsStore(sql: Sql) {
  return {
    find: (provider: ProviderName): Promise<StoredAiProvider | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<StoredAiProvider[]>`
          SELECT provider, key_sealed AS "keySealed", key_last_four AS "keyLastFour", endpoint, deployment,
            model_high AS "modelHigh", model_low AS "modelLow"
          FROM ai_settings WHERE provider = ${provider}`;
        return row;
      }),

    /** Throws UNAUTHORIZED or FORBIDDEN if the caller has lost the right to it. */
    save: (
      { provider, keySealed, keyLastFour, endpoint, deployment, modelHigh, modelLow }: StoredAiProvider,
      caller: AdminCaller,
    ): Promise<void> =>
      withPostgres(async () => {
        const columns = {
          provider,
          key_sealed: keySealed,
          key_last_four: keyLastFour,
          endpoint,
          deployment,
          model_high: modelHigh,
          model_low: modelLow,
          updated_at: new Date(),
        };
        await sql.begin(async (tx) => {
          await holdAdmin(tx, caller);
          await tx`INSERT INTO ai_settings ${tx(columns)} ON CONFLICT (provider) DO UPDATE SET ${tx(columns)}`;
        });
      }),

    /** Returns false if there were no settings. */
    remove: (provider: ProviderName): Promise<boolean> =>
      withPostgres(async () => (await sql`DELETE FROM ai_settings WHERE provider = ${provider}`).count > 0),
  };
}

export type AiSettingsStore = ReturnType<typeof createAiSettingsStore>;

/** Whether AI is enabled for a survey; false for a deleted one. */
export function createSurveyAiSwitch(sql: Sql) {
  return {
    isEnabled: async (surveyId: string): Promise<boolean> => {
      const [row] = await withPostgres(
        () =>
          sql<
            { isOn: boolean }[]
          >`SELECT ai_enabled AS "isOn" FROM surveys WHERE id = ${surveyId} AND deleted_at IS NULL`,
      );
      return row?.isOn ?? false;
    },
  };
}

export type SurveyAiSwitch = ReturnType<typeof createSurveyAiSwitch>;
