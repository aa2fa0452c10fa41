import { z } from 'zod';

/**
 * An object with at most `maxProperties` properties, of which `noun` says what they are. They are counted before any is
 * checked, since checking the thousands that fit a body would hold the event loop.
 */
export function boundedRecord<Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
  { maxProperties, noun }: { maxProperties: number; noun: string },
) {
  return z
    .preprocess(
      (given, context) => {
        if (typeof given !== 'object' || given === null || Object.keys(given).length <= maxProperties) return given;
        context.addIssue({ code: 'custom', message: `must have at most ${maxProperties} ${noun}` });
        return z.NEVER;
      },
      z.record(key, value),
    )
    .meta({ maxProperties });
}
