import type { SlicedWork } from '../../platform/slices.ts';

/** Items of an array that are written without a pause. */
const itemsAtOnce = 20;
/** Characters that are turned into bytes at once. */
const charactersAtOnce = 65_536;

/**
 * The text of `JSON.stringify` for plain data, in UTF-8, for replies of megabytes: arrays are written some items at a
 * time, and what is written becomes bytes piece by piece.
 */
export function* sliceJson(value: unknown): SlicedWork<Buffer> {
  const text = new SlicedText();
  yield* write(value, text);
  return text.bytes();
}

/** Texts one behind the other. One string of megabytes would have to be put together and converted in one go. */
class SlicedText {
  readonly #done: Buffer[] = [];
  #pieces: string[] = [];
  #length = 0;

  add(...pieces: readonly string[]): void {
    for (const piece of pieces) {
      this.#pieces.push(piece);
      this.#length += piece.length;
    }
    if (this.#length >= charactersAtOnce) this.#convert();
  }

  bytes(): Buffer {
    this.#convert();
    return this.#done.length === 1 && this.#done[0] ? this.#done[0] : Buffer.concat(this.#done);
  }

  #convert(): void {
    this.#done.push(Buffer.from(this.#pieces.join('')));
    this.#pieces = [];
    this.#length = 0;
  }
}

function* write(value: unknown, text: SlicedText): SlicedWork<void> {
  if (Array.isArray(value)) yield* writeArray(value, text);
  else if (isObject(value)) {
    let separator = '{';
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      text.add(separator, JSON.stringify(key), ':');
      yield* write(item, text);
      separator = ',';
    }
    text.add(separator === '{' ? '{}' : '}');
  } else text.add(JSON.stringify(value) ?? 'null');
}

/** Lines of tables, tables of a banner and questions are written one by one; other items are small. */
function* writeArray(items: readonly unknown[], text: SlicedText): SlicedWork<void> {
  if (items.some(holdsItems)) {
    for (const [index, item] of items.entries()) {
      text.add(index === 0 ? '[' : ',');
      yield* write(item, text);
      yield;
    }
    text.add(']');
    return;
  }
  text.add('[');
  for (let at = 0; at < items.length; at += itemsAtOnce) {
    if (at > 0) text.add(',');
    text.add(JSON.stringify(items.slice(at, at + itemsAtOnce)).slice(1, -1));
    yield;
  }
  text.add(']');
}

/** Whether this is an array, or has one of objects or arrays. */
const holdsItems = (item: unknown): boolean =>
  Array.isArray(item) ||
  (isObject(item) && Object.values(item).some((list) => Array.isArray(list) && isObject(list[0])));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
