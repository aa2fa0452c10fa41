import { z } from 'zod';
import { rowInput } from '../../domain/questions/option-list.ts';
import { changedSettings, newSettings } from '../../domain/questions/question-definition.ts';
import { registry } from '../../domain/questions/registry.ts';
import { questionTypeNames } from '../../domain/questions/type-names.ts';
import { oneByOne } from '../../platform/slices.ts';
import { matrixRowSchema, questionSettingsSchema } from '../schemas/questions.ts';
import { type JsonSchema, schemaOverrides, toJsonSchema } from './schema-components.ts';

/** Documents the settings of questions: each by its name, with the question types that have it. */
export async function describeSettings(): Promise<void> {
  const settings = await settingProperties();
  schemaOverrides.add(newSettings, {
    properties: { ...settings, rows: rowsOf(rowInput, ['text'], 'Stored value; default: a slug of the text') },
  });
  schemaOverrides.add(changedSettings, {
    properties: {
      ...Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, orNull(schema)])),
      rows: rowsOf(rowInput, ['text'], 'Stored value'),
    },
  });
  schemaOverrides.add(questionSettingsSchema, {
    properties: {
      ...settings,
      rows: rowsOf(matrixRowSchema, ['id', 'text'], 'Stored value; not shown to respondents'),
    },
  });
}

/** The rows of a MATRIX, with the fields of an item; `value`: the description of the field with that name. */
function rowsOf({ shape }: z.ZodObject, required: readonly string[], value: string): JsonSchema {
  const properties = {
    ...(toJsonSchema(z.object(shape), 'input').root['properties'] as Record<string, JsonSchema>),
    id: { type: 'string', description: 'Answers name it as `rowId`' },
    text: { type: 'string' },
    value: { type: 'string', description: value },
  };
  return {
    description: 'MATRIX: its rows, at least one',
    type: 'array',
    items: { type: 'object', required, properties },
  };
}

function orNull({ description, ...schema }: JsonSchema): JsonSchema {
  const forms = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as JsonSchema[]) : [schema];
  return { description, anyOf: [...forms, { type: 'null' }] };
}

async function settingProperties(): Promise<Record<string, JsonSchema>> {
  const schemas = await oneByOne(questionTypeNames, (type) => toJsonSchema(registry[type].settings, 'input').root);
  const found = new Map<string, { forms: Map<string, JsonSchema>; types: string[] }>();
  for (const [type, { properties = {} }] of schemas)
    for (const [name, { default: defaultValue, ...form }] of Object.entries(properties as Record<string, JsonSchema>)) {
      const { forms, types } = found.get(name) ?? { forms: new Map<string, JsonSchema>(), types: [] };
      found.set(name, {
        forms: forms.set(JSON.stringify(form), form),
        types: [...types, defaultValue === undefined ? type : `${type} (${JSON.stringify(defaultValue)})`],
      });
    }
  return Object.fromEntries(
    [...found].map(([name, { forms, types }]) => [name, describeForms([...forms.values()], types.join(', '))]),
  );
}

function describeForms(forms: readonly JsonSchema[], types: string): JsonSchema {
  const only = forms.length === 1 ? forms[0] : undefined;
  if (!only) return { description: types, anyOf: forms };
  const { description, ...form } = only;
  return { description: typeof description === 'string' ? `${types}. ${description}` : types, ...form };
}
