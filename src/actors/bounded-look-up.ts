import { unavailable } from '../errors.ts';

/** A look-up that anybody may cause: at most so many are under way at once, others are refused with SERVICE_UNAVAILABLE. */
export function createBoundedLookUp<Key, Found>(lookUp: (key: Key) => Promise<Found>, most: number): (key: Key) => Promise<Found> {
  let underWay = 0;
  return async (key) => {
    if (underWay >= most) throw unavailable('Too many responses are being looked up right now', 1);
    underWay += 1;
    try {
      return await lookUp(key);
    } finally {
      underWay -= 1;
    }
  };
}
