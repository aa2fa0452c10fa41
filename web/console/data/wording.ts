import { partsOf } from '../../../src/domain/path/placeholders.ts';

/** A wording as it reads where nothing can be inserted: placeholders by what stands in for a missing value. */
export const readable = (text: string): string =>
  partsOf(text)
    .map((part) => (typeof part === 'string' ? part : part.fallback || '…'))
    .join('');
