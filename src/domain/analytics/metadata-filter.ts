import type { ValidationIssue } from '../../errors.ts';
import { invitationPrefix } from '../path/definition.ts';
import type { ParsedFilter } from '../questions/contract.ts';

/**
 * Parses `metadata:KEY:VALUE` and `invitation:KEY:VALUE`, which select the responses whose metadata has exactly this
 * text at the key; undefined for a filter of another variable. The key ends at the next colon, or stands in quotation
 * marks, which are written twice within it.
 */
export function metadataFilter(text: string): ParsedFilter | ValidationIssue | undefined {
  const kind = ['metadata', 'invitation'].find((name) => text.startsWith(`${name}:`));
  if (kind === undefined) return undefined;
  const pair = text.slice(kind.length + 1);
  const quoted = /^"((?:[^"]|"")+)":/.exec(pair);
  const end = quoted ? quoted[0].length - 1 : pair.indexOf(':');
  if (end <= 0) return { path: '', message: `must be ${kind}:KEY:VALUE` };
  const key = quoted?.[1]?.replaceAll('""', '"') ?? pair.slice(0, end);
  const value = pair.slice(end + 1);
  return {
    dimension: {
      categories: [{ code: 1, value, text: value }],
      source: { kind: 'metadata', key: kind === 'invitation' ? invitationPrefix + key : key, value },
    },
    code: 1,
  };
}
