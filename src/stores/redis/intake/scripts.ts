import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type Outcome, takesSeat } from '../../../domain/outcome.ts';
import { assetPath } from '../../../platform/assets.ts';
import { appendPrelude, encodeMoment } from './append-protocol.ts';
import type { Shard } from './shards.ts';

/** The text of a script of this folder. */
export const intakeScript = (name: string): string =>
  readFileSync(assetPath(`src/stores/redis/intake/${name}.lua`), 'utf8');

/** A survey as it is announced to the intake. */
export interface AnnouncedSurvey {
  surveyId: string;
  revision: number;
  quota: number | null;
  codePositions: number;
  /** Counts of responses; used only if the intake has none. */
  total: number;
  completed: number;
}

/** A response to be deleted, and its tombstone. */
export interface ResponseDeletion {
  surveyId: string;
  responseId: string;
  submittedAtMs: number;
  outcome: Outcome;
  row: string;
}

export interface AppendLimits {
  /** Window of the submission limit. */
  limitWindowMs: number;
  /** How long states of open responses are kept. */
  idempotencyTtlSeconds: number;
  /** How long saved answers of open responses are kept. */
  answersTtlSeconds: number;
  /** Bytes that a survey may have waiting for the response store; undefined: any number. */
  maxPendingBytesPerSurvey: number | undefined;
  /** Bytes that a caller may send in large rows in one window. */
  maxLargeBytesPerCaller: number;
}

type ScriptRedis = Redis & {
  appendBatch(stream: string, ...args: (string | number)[]): Promise<string[]>;
  announceSurvey(key: string, ...args: (string | number)[]): Promise<number>;
  deleteResponse(stream: string, ...args: (string | number)[]): Promise<number>;
  freezeSurvey(key: string, forMs: number, token: string): Promise<string[]>;
  releaseSurvey(key: string, frozen: string): Promise<number>;
};

/**
 * The scripts that accept, announce, freeze and delete, with the order of their arguments. The readers' scripts:
 * stream.ts.
 */
export function createIntakeScripts(plain: Redis) {
  const redis = plain as ScriptRedis;
  redis.defineCommand('appendBatch', { numberOfKeys: 1, lua: appendPrelude + intakeScript('append') });
  redis.defineCommand('announceSurvey', { numberOfKeys: 1, lua: intakeScript('announce-survey') });
  redis.defineCommand('freezeSurvey', { numberOfKeys: 1, lua: intakeScript('freeze-survey') });
  redis.defineCommand('releaseSurvey', { numberOfKeys: 1, lua: intakeScript('release-survey') });
  redis.defineCommand('deleteResponse', { numberOfKeys: 1, lua: intakeScript('delete-response') });
  return {
    /** `fields` and the reply: see `encodeBatch`. */
    append: (
      { stream, prefix }: Shard,
      limits: AppendLimits,
      fields: readonly (string | number)[],
    ): Promise<string[]> =>
      redis.appendBatch(
        stream,
        prefix,
        limits.limitWindowMs,
        limits.idempotencyTtlSeconds,
        limits.answersTtlSeconds,
        Math.floor(limits.maxPendingBytesPerSurvey ?? -1),
        Math.floor(limits.maxLargeBytesPerCaller),
        ...fields,
      ),

    /** False: the intake knows this revision or a newer one. `overruledRevision` is replaced although it is newer. */
    announce: async (key: string, survey: AnnouncedSurvey, overruledRevision?: number): Promise<boolean> => {
      const { revision, quota, codePositions, total, completed } = survey;
      const args = [revision, quota ?? '', codePositions, total, completed, overruledRevision ?? ''];
      return (await redis.announceSurvey(key, ...args)) === 1;
    },

    /** Freezes a survey; undefined while another caller has frozen it. `token` tells callers apart. */
    freeze: async (
      key: string,
      forMs: number,
      token: string,
    ): Promise<{ frozen: string; revision: number | undefined } | undefined> => {
      const [frozen, revision = ''] = await redis.freezeSurvey(key, forMs, token);
      return frozen === undefined ? undefined : { frozen, revision: revision === '' ? undefined : Number(revision) };
    },

    /** Ends the freeze that returned `frozen`, unless it is over. */
    release: async (key: string, frozen: string): Promise<void> => void (await redis.releaseSurvey(key, frozen)),

    /** `blockIdSeconds`: how long nobody may use the id again; 0 where the response store prevents that. */
    deleteResponse: async (
      { stream, prefix }: Shard,
      { surveyId, responseId, submittedAtMs, outcome, row }: ResponseDeletion,
      { tombstoneTtlSeconds, blockIdSeconds }: { tombstoneTtlSeconds: number; blockIdSeconds: number },
    ): Promise<'deleted' | 'deleted before' | 'newer format'> => {
      const code = await redis.deleteResponse(
        stream,
        prefix,
        surveyId,
        responseId,
        takesSeat(outcome) ? '1' : '0',
        row,
        submittedAtMs,
        new Date(submittedAtMs).toISOString(),
        tombstoneTtlSeconds,
        blockIdSeconds,
        encodeMoment(submittedAtMs),
      );
      return code === 1 ? 'deleted' : code === 0 ? 'deleted before' : 'newer format';
    },
  };
}

export type IntakeScripts = ReturnType<typeof createIntakeScripts>;
