import type { Log } from '../log.ts';
import type { Settings } from '../settings/settings.ts';

/** Warns of budgets below the largest upload: an upload reserves its size, or its question's limit where that is unknown. */
export function warnOfSmallUploadBudgets(
  { uploadMaxBytes, uploadLimits }: Pick<Settings, 'uploadMaxBytes' | 'uploadLimits'>,
  log: Pick<Log, 'warn'>,
): void {
  const budgets = {
    UPLOAD_SURVEY_UNCLAIMED_BYTES: uploadLimits.surveyUnclaimedBytes,
    UPLOAD_ADDRESS_HOURLY_BYTES: uploadLimits.addressHourlyBytes,
  };
  for (const [name, bytes] of Object.entries(budgets))
    if (bytes < uploadMaxBytes)
      log.warn(
        { [name]: bytes, UPLOAD_MAX_BYTES: uploadMaxBytes },
        `larger files than ${name} are refused whenever they are sent, and so are those without a Content-Length where their question takes larger ones`,
      );
}
