import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createShards, responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import {
  announceSurvey,
  appendix,
  digestOf,
  type OpenIntake,
  openIntake,
  submittedAt,
} from '../../../support/intake.ts';

describe('the state of a response that an earlier version saved', () => {
  let intake: OpenIntake['intake'];
  let plain: OpenIntake['plain'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, plain, close } = await openIntake(createShards(2)));
  });
  after(() => close?.());

  // Those versions kept a whole digest of the first body, later the beginning that is compared.
  for (const [kept, length] of [
    ['a whole digest', 43],
    ['the beginning of a digest', 12],
  ] as const)
    for (const hadPaths of [true, false])
      it(`with ${kept} of its first body, ${hadPaths ? 'with' : 'without'} paths, answers a repeat of it`, async () => {
        const [said, saidLater] = hadPaths ? ['/', ''] : ['', '/'];
        const [surveyId, responseId] = [await announceSurvey(intake), newId()];
        const save = (observedVersion: number, part: string, ignored: string) =>
          intake.append(
            appendix(surveyId, {
              responseId,
              observedVersion,
              outcome: 'PARTIAL',
              savedState: '{}',
              digest: part,
              ignored,
            }),
          );
        const isRepeated = async (part: string, ignored: string) => {
          const { code, text } = await save(0, part, 'not what is said now');
          assert.deepEqual([code, text], ['REPLAY', `0 ${encodeMoment(submittedAt)}${ignored}`]);
        };
        await save(0, 'first', said);
        await save(1, 'second', said);
        await plain.hset(responseKey(responseId), 'first', digestOf('first').padEnd(length, '_'));
        await isRepeated('first', said);
        await save(2, 'third', saidLater);
        await isRepeated('first', said);
        await isRepeated('third', saidLater);
        await save(3, 'fourth', said);
        await isRepeated('first', said);
      });
});
