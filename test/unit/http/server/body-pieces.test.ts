import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BodyBudget, createBodyBudget, createBodyPieces } from '../../../../src/http/server/body-pieces.ts';

const piece = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text)).buffer;
const address = '192.0.2.1';

describe('pieces of a body', () => {
  it('make the whole, however many they are', () => {
    const pieces = createBodyPieces(createBodyBudget(), address);
    for (const letter of 'a text that came letter by letter'.repeat(100))
      assert.equal(pieces.add(piece(letter)), undefined);
    assert.equal(pieces.length, 3300);
    assert.equal(pieces.endWith(piece('.')).toString(), `${'a text that came letter by letter'.repeat(100)}.`);
    assert.equal(createBodyPieces(createBodyBudget(), address).endWith(piece('')).length, 0);
  });

  it('that are single bytes are not copied again for each new one', () => {
    let copied = 0;
    const budget: BodyBudget = {
      take(_address, bytes) {
        copied += bytes;
        return undefined;
      },
      giveBack: () => undefined,
    };
    const pieces = createBodyPieces(budget, address);
    pieces.add(new ArrayBuffer(200_000));
    for (let n = 0; n < 50_000; n += 1) pieces.add(new ArrayBuffer(1));
    assert.ok(copied <= 400_000, String(copied));
  });
});

describe('the budget of bodies under way', () => {
  const limits = { ofAddress: 10_000, ofAll: 25_000 };
  const code = (problem: ReturnType<BodyBudget['take']>) => problem?.code;

  it('refuses an address that has too many, and no other', () => {
    const budget = createBodyBudget(limits);
    const [first, second] = [createBodyPieces(budget, address), createBodyPieces(budget, address)];
    assert.equal(first.add(new ArrayBuffer(8000)), undefined);
    const problem = second.add(new ArrayBuffer(8000));
    assert.deepEqual([code(problem), problem?.retryAfterSeconds], ['RATE_LIMITED', 10]);
    assert.equal(createBodyPieces(budget, '192.0.2.2').add(new ArrayBuffer(8000)), undefined);
    first.discard();
    first.discard();
    assert.equal(second.add(new ArrayBuffer(8000)), undefined);
  });

  it('refuses everybody when all have too many together, until some have ended', () => {
    const budget = createBodyBudget(limits);
    const bodies = [1, 2, 3].map((n) => createBodyPieces(budget, `192.0.2.${n}`));
    for (const body of bodies) assert.equal(body.add(new ArrayBuffer(8000)), undefined);
    const late = createBodyPieces(budget, '192.0.2.4');
    assert.equal(code(late.add(new ArrayBuffer(8000))), 'SERVICE_UNAVAILABLE');
    assert.equal(bodies[0]?.endWith(new ArrayBuffer(1)).length, 8001);
    assert.equal(late.add(new ArrayBuffer(8000)), undefined);
  });
});
