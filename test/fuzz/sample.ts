import type { Chance } from './chance.ts';
import { hostileText } from './hostile.ts';

/** A JSON schema as the OpenAPI document has it. */
export type Schema = Record<string, any>;

export interface Sampler {
  /** A value that fits the schema as far as it can be told from it; `name` is the field that it is for. */
  of(schema: Schema, name?: string): unknown;
}

/** `idFor` gives an id that fits a field's name; optional fields come and go. */
export function createSampler(chance: Chance, document: Schema, idFor: (name: string) => string): Sampler {
  const resolve = (schema: Schema): Schema =>
    typeof schema['$ref'] === 'string'
      ? resolve(
          schema['$ref']
            .slice(2)
            .split('/')
            .reduce<any>((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')], document),
        )
      : schema;

  const sample = (given: Schema, name: string, depth: number): unknown => {
    const schema = resolve(given);
    const choices = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(choices)) return sample(chance.pick(choices), name, depth);
    if (Array.isArray(schema['allOf']))
      return Object.assign({}, ...schema['allOf'].map((part: Schema) => sample(part, name, depth)));
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return chance.pick(schema['enum']);
    const type = Array.isArray(schema['type']) ? chance.pick(schema['type']) : schema['type'];
    if (type === 'object') return objectOf(schema, depth);
    if (type === 'array') {
      const few = Math.max(schema['minItems'] ?? 0, chance.below(3));
      return Array.from({ length: Math.min(few, schema['maxItems'] ?? few) }, () =>
        sample(schema['items'] ?? {}, name.replace(/s$/, ''), depth + 1),
      );
    }
    if (type === 'integer' || type === 'number') {
      const [low, high] = [schema['minimum'] ?? 0, schema['maximum'] ?? 100];
      const found = low + chance.next() * (Math.min(high, low + 1000) - low);
      return type === 'integer' ? Math.round(found) : found;
    }
    if (type === 'boolean') return chance.is(0.5);
    if (type === 'null') return null;
    return type === 'string' ? textOf(schema, name) : chance.pick([1, 'x', true]);
  };

  const objectOf = (schema: Schema, depth: number): Record<string, unknown> => {
    const required: string[] = schema['required'] ?? [];
    const kept = Object.entries<Schema>(schema['properties'] ?? {}).filter(
      ([key]) => required.includes(key) || (depth < 4 && chance.is(0.35)),
    );
    const found = Object.fromEntries(kept.map(([key, property]) => [key, sample(property, key, depth + 1)]));
    const more = schema['additionalProperties'];
    return typeof more === 'object' && more !== null && chance.is(0.5)
      ? { ...found, [chance.pick(['a', 'b', 'source'])]: sample(more, '', depth + 1) }
      : found;
  };

  const textOf = (schema: Schema, name: string): string => {
    if (schema['format'] === 'uuid' || /Ids?$|^id$/.test(name)) return idFor(name);
    if (schema['format'] === 'date-time')
      return new Date(Date.UTC(2026, chance.below(12), 1 + chance.below(28))).toISOString();
    if (schema['format'] === 'date') return `2026-0${1 + chance.below(9)}-1${chance.below(10)}`;
    if (schema['format'] === 'email' || name === 'email') return `person${chance.below(1000)}@example.invalid`;
    // A port without a listener: nothing leaves this machine.
    if (schema['format'] === 'uri' || /url$|endpoint$/i.test(name)) return 'http://127.0.0.1:9/in';
    if (name === 'language' || name === 'languages') return chance.pick(['en', 'de', 'ar']);
    const text = chance.is(0.85)
      ? chance.pick(['Lunch', 'Was it good?', 'yes', 'Zoë', 'a b c', 'A long enough text'])
      : hostileText(chance);
    const padded = text.padEnd(schema['minLength'] ?? 0, 'x');
    return schema['maxLength'] === undefined ? padded : padded.slice(0, schema['maxLength']);
  };

  return { of: (schema, name = '') => sample(schema, name, 0) };
}
