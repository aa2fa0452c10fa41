// The text of docs/settings.md, from the schemas of src/settings. Written by docs-settings.mjs, checked by
// test/unit/docs-settings.test.ts.
import { z } from 'zod';

const head = `# Settings

<!-- Generated from src/settings by \`npm run docs:settings\`: change the schema there, then run the command. -->

Settings come from the environment or from \`.env\` in the project's folder. A wrong value is named and ends the start
with exit code 1; an empty value counts as unset. A flag is \`true\`, \`1\` or \`yes\`, or \`false\`, \`0\` or \`no\`. How
servers of your own must be configured: [operating.md](operating.md#your-own-redis-postgresql-and-clickhouse).
`;

const providerHead = `## AI providers

Each name exists for four providers. Settings entered in-app (\`PUT /ai/settings/{provider}\`) come before these.
`;

/** Renders the page; the arguments are exports of src/settings and src/ai/providers/registry.ts. */
export function renderSettings({ settingSections, providerPrefixes, providerSettings, providerDefaults }) {
  const sections = settingSections.map(
    ({ title, settings }) =>
      `## ${title}\n\n${table(Object.entries(settings).map(([name, schema]) => rowOf([name], schema)))}`,
  );
  return `${[head, ...sections, `${providerHead}\n${providerTable({ providerPrefixes, providerSettings, providerDefaults })}`].join('\n')}`;
}

function table(rows) {
  return ['| setting | meaning | values | default |', '|---|---|---|---|', ...rows].map((line) => `${line}\n`).join('');
}

function rowOf(names, schema, defaultText = defaultOf(schema)) {
  const { description } = schema.meta();
  return `| ${names.map((name) => `\`${name}\``).join('<br>')} | ${description} | ${valuesOf(schema)} | ${defaultText} |`;
}

/** One row a setting, with the names of all providers. */
function providerTable({ providerPrefixes, providerSettings, providerDefaults }) {
  const providers = Object.keys(providerPrefixes);
  const shapes = providers.map((provider) => Object.entries(providerSettings(provider)));
  return table(
    shapes[0].map(([, schema], index) => {
      const description = schema.meta().description;
      const concerned = providers.filter((provider) =>
        description.includes('Azure only')
          ? provider === 'azure'
          : !description.includes('Not for Azure') || provider !== 'azure',
      );
      const names = concerned.map((provider) => shapes[providers.indexOf(provider)][index][0]);
      return rowOf(names, schema, providerDefault(names[0], concerned, providerDefaults) ?? defaultOf(schema));
    }),
  );
}

const defaultFields = { _MODEL_HIGH: 'high', _MODEL_LOW: 'low', _RPM: 'requestsPerMinute', _TPM: 'tokensPerMinute' };

/** The default of each provider, in the order of the names. */
function providerDefault(name, providers, providerDefaults) {
  const field = Object.entries(defaultFields).find(([suffix]) => name.endsWith(suffix))?.[1];
  return field && providers.map((provider) => shown(providerDefaults[provider][field])).join('<br>');
}

function defaultOf(schema) {
  const { unset, unit } = schema.meta();
  const { success, data } = schema.safeParse(undefined);
  return unset ?? (success ? `${shown(data)}${unit === 'bytes' ? ` (${mebibytes(data)} MiB)` : ''}` : 'unset');
}

function shown(value) {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return 'unset';
  return `\`${Array.isArray(value) ? value.join(',') : value}\``;
}

/** What may be given, with its bounds and unit. */
function valuesOf(schema) {
  const { unit, values } = schema.meta();
  if (values) return values;
  const form = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' });
  const given = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  if (form.type === 'array') return `list of${boundsOf(form.items ?? {})} ${unit}`;
  if (form.type === 'number') return `${boundsOf(form).replace(/^ /, '')}${unit ? ` ${unit}` : ''}`;
  if (given.enum?.includes('yes')) return 'flag';
  if (form.enum) return form.enum.map((word) => `\`${word}\``).join(', ');
  const [least, most] = [given.minLength, given.maxLength];
  return unit === 'characters'
    ? most === undefined
      ? `text of at least ${least} ${unit}`
      : least === undefined
        ? `text of at most ${most} ${unit}`
        : `text of ${least} to ${most} ${unit}`
    : 'text';
}

function boundsOf({ minimum, maximum }) {
  if (minimum === undefined) return '';
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? ` ${grouped(minimum)} or more`
    : ` ${grouped(minimum)} to ${grouped(maximum)}`;
}

const mebibytes = (bytes) => bytes / 1024 / 1024;
const grouped = (value) => value.toLocaleString('en-US').replaceAll(',', value < 10_000 ? '' : ',');
