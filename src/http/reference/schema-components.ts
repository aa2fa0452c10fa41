import { z } from 'zod';

/** A JSON Schema (2020-12) as OpenAPI 3.1 takes it. */
export type JsonSchema = Record<string, unknown>;

const componentsPath = '#/components/schemas/';

/**
 * Collects the named schemas of a document. Replies must be added before bodies: if a schema differs as input (because
 * of defaults), the body's schema is called `…Input`.
 */
export function createSchemaComponents() {
  const named = new Map<string, JsonSchema>();
  return {
    /** The schema of a reply. It allows further fields, since later versions may add some. */
    reply(schema: z.ZodType): JsonSchema {
      const { root, defs } = toJsonSchema(schema, 'output');
      for (const [name, definition] of defs) addComponent(named, name, definition);
      return root;
    },
    /** The schema of a request body. */
    body(schema: z.ZodType): JsonSchema {
      const { root, defs } = withoutDefaults(toJsonSchema(schema, 'input'));
      const names = inputNames(defs, named);
      for (const [name, definition] of defs)
        addComponent(named, names.get(name) ?? name, withRenamedRefs(definition, names));
      return withRenamedRefs(root, names);
    },
    /** All named schemas, by name. */
    all: (): Record<string, JsonSchema> => Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

export type SchemaComponents = ReturnType<typeof createSchemaComponents>;

function addComponent(named: Map<string, JsonSchema>, name: string, definition: JsonSchema): void {
  const known = named.get(name);
  if (known && jsonText(known) !== jsonText(definition)) throw new Error(`two different schemas are called ${name}`);
  named.set(name, definition);
}

const jsonText = (value: unknown): string => JSON.stringify(value);

/** Names that differ as input: those whose schema differs, and those that refer to one of them. */
function inputNames(
  defs: ReadonlyMap<string, JsonSchema>,
  named: ReadonlyMap<string, JsonSchema>,
): Map<string, string> {
  const names = new Map<string, string>();
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const [name, definition] of defs) {
      const known = named.get(name);
      if (known && jsonText(known) !== jsonText(withRenamedRefs(definition, names))) names.set(name, `${name}Input`);
    }
  }
  return names;
}

function withRenamedRefs<T>(value: T, names: ReadonlyMap<string, string>): T {
  return mapRefs(
    value,
    (ref) => componentsPath + (names.get(ref.slice(componentsPath.length)) ?? ref.slice(componentsPath.length)),
  );
}

function mapRefs<T>(value: T, change: (ref: string) => string): T {
  if (Array.isArray(value)) return value.map((item: unknown) => mapRefs(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === '$ref' && typeof item === 'string' ? change(item) : mapRefs(item, change),
    ]),
  ) as T;
}

/** What the reference adds to a schema. */
export const schemaOverrides = z.registry<JsonSchema>();

/** The JSON Schema of a zod schema, and the named schemas in it. */
export function toJsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
): { root: JsonSchema; defs: Map<string, JsonSchema> } {
  const {
    $schema: _,
    $defs,
    ...root
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => simplify(Object.assign(jsonSchema, schemaOverrides.get(zodSchema)), io),
  }) as JsonSchema;
  const moved = (value: JsonSchema) => mapRefs(value, (ref) => ref.replace('#/$defs/', componentsPath));
  const defs = Object.entries(($defs ?? {}) as Record<string, JsonSchema>).map(
    ([name, { id: _id, ...definition }]) => [name, moved(definition)] as const,
  );
  return { root: moved(root), defs: new Map(defs) };
}

type SchemaWithDefs = ReturnType<typeof toJsonSchema>;

/**
 * Writes the defaults of a body into the descriptions: code generators take a property with a default for one that is
 * always there, and demand it of the caller.
 */
function withoutDefaults({ root, defs }: SchemaWithDefs): SchemaWithDefs {
  return {
    root: describeDefaults(root) as JsonSchema,
    defs: new Map([...defs].map(([name, definition]) => [name, describeDefaults(definition) as JsonSchema])),
  };
}

function describeDefaults(value: unknown, isNameMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => describeDefaults(item));
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, describeDefaults(item, key === 'properties' && !isNameMap)]),
  );
  if (isNameMap || !('default' in schema)) return schema;
  const { default: byDefault, description, ...rest } = schema;
  const text = `Default: ${JSON.stringify(byDefault)}`;
  return { ...rest, description: description === undefined ? text : `${String(description)}. ${text}` };
}

const formatsWithoutPattern = new Set(['date-time', 'date', 'uuid', 'email', 'uri']);
/** Formats that only zod knows. */
const unknownFormats = new Set(['starts_with', 'ends_with', 'includes', 'regex']);

function simplify(schema: JsonSchema, io: 'input' | 'output'): void {
  if (typeof schema['format'] === 'string' && formatsWithoutPattern.has(schema['format'])) delete schema['pattern'];
  if (typeof schema['format'] === 'string' && unknownFormats.has(schema['format'])) delete schema['format'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties'];
}
