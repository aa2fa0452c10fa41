import type { SlicedWork } from '../../platform/slices.ts';

/** Items of an array that are written without a pause. */
const itemsAtOnce = 200;

/** The text of `JSON.stringify` for plain data, for replies of megabytes: arrays are written some items at a time. */
export function* sliceJson(value: unknown): SlicedWork<string> {
  const pieces: string[] = [];
  yield* write(value, pieces);
  return pieces.join('');
}

function* write(value: unknown, pieces: string[]): SlicedWork<void> {
  if (Array.isArray(value)) yield* writeArray(value, pieces);
  else if (typeof value === 'object' && value !== null) {
    let separator = '{';
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      pieces.push(separator, JSON.stringify(key), ':');
      yield* write(item, pieces);
      separator = ',';
    }
    pieces.push(separator === '{' ? '{}' : '}');
  } else pieces.push(JSON.stringify(value) ?? 'null');
}

/** Lines of tables, and tables of a banner, are written one by one; other items are small. */
function* writeArray(items: readonly unknown[], pieces: string[]): SlicedWork<void> {
  const [first] = items;
  if (
    Array.isArray(first) ||
    (typeof first === 'object' && first !== null && Object.values(first).some(Array.isArray) && items.length <= 20)
  ) {
    for (const [index, item] of items.entries()) {
      pieces.push(index === 0 ? '[' : ',');
      yield* write(item, pieces);
    }
    pieces.push(']');
    return;
  }
  pieces.push('[');
  for (let at = 0; at < items.length; at += itemsAtOnce) {
    if (at > 0) pieces.push(',');
    pieces.push(JSON.stringify(items.slice(at, at + itemsAtOnce)).slice(1, -1));
    yield;
  }
  pieces.push(']');
}
