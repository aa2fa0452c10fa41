import { Problem } from '../../errors.ts';

/** Bounds the memory of bodies whose end has not come yet; those that come in one piece are not counted. */
export interface BodyBudget {
  /** Counts bytes of a client, or says why it may not have them. */
  take(address: string, bytes: number): Problem | undefined;
  giveBack(address: string, bytes: number): void;
}

export interface BodyBudgetLimits {
  /** Bytes of all bodies under way from one address. */
  ofAddress: number;
  ofAll: number;
}

const mebibyte = 1024 * 1024;
/** A body has 256 KiB at most, so an address may have more than a hundred of the largest under way. */
const defaultLimits: BodyBudgetLimits = { ofAddress: 32 * mebibyte, ofAll: 256 * mebibyte };
/** By then a body that makes no progress has been broken off. */
const retryAfterSeconds = 10;

export function createBodyBudget(limits: BodyBudgetLimits = defaultLimits): BodyBudget {
  const byAddress = new Map<string, number>();
  let all = 0;
  return {
    take(address, bytes) {
      const held = byAddress.get(address) ?? 0;
      if (held + bytes > limits.ofAddress)
        return new Problem('RATE_LIMITED', 'Too many bodies of this address have not been sent to their end', {
          retryAfterSeconds,
        });
      if (all + bytes > limits.ofAll)
        return new Problem('SERVICE_UNAVAILABLE', 'Too many bodies have not been sent to their end', {
          retryAfterSeconds,
        });
      byAddress.set(address, held + bytes);
      all += bytes;
      return undefined;
    },
    giveBack(address, bytes) {
      const held = (byAddress.get(address) ?? 0) - bytes;
      if (held > 0) byAddress.set(address, held);
      else byAddress.delete(address);
      all -= bytes;
    },
  };
}

/** The pieces of a body that has not ended. */
export interface BodyPieces {
  readonly length: number;
  /** Copies a piece, whose memory the engine takes back. Keeps nothing more where the budget is used up. */
  add(piece: ArrayBuffer): Problem | undefined;
  /** The whole body, which the budget does not count any more. */
  endWith(last: ArrayBuffer): Buffer;
  /** Forgets them; may be called at any time, and again. */
  discard(): void;
}

const leastCapacity = 1024;

/**
 * Gathers pieces in a buffer that doubles when it is full: copying all of them again for each new one would take a
 * client that sends single bytes some milliseconds of the service each.
 */
export function createBodyPieces(budget: BodyBudget, address: string): BodyPieces {
  let bytes = Buffer.alloc(0);
  let length = 0;
  const discard = (): void => {
    if (bytes.length > 0) budget.giveBack(address, bytes.length);
    bytes = Buffer.alloc(0);
    length = 0;
  };
  const grow = (needed: number): Problem | undefined => {
    const capacity = Math.max(needed, 2 * bytes.length, leastCapacity);
    const problem = budget.take(address, capacity - bytes.length);
    if (problem) return problem;
    const larger = Buffer.allocUnsafeSlow(capacity);
    bytes.copy(larger, 0, 0, length);
    bytes = larger;
    return undefined;
  };
  return {
    get length() {
      return length;
    },
    add(piece) {
      const problem = length + piece.byteLength > bytes.length ? grow(length + piece.byteLength) : undefined;
      if (problem) discard();
      else {
        bytes.set(new Uint8Array(piece), length);
        length += piece.byteLength;
      }
      return problem;
    },
    endWith(last) {
      const whole = Buffer.concat([bytes.subarray(0, length), new Uint8Array(last)]);
      discard();
      return whole;
    },
    discard,
  };
}
