import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { turnTimeoutMs } from '../../src/http/routes/ai-conversations.ts';
import { assetPath } from '../../src/platform/assets.ts';
import { everyRoute } from '../support/every-route.ts';

const root = dirname(assetPath('README.md'));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
].sort();
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');
const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };

const groups = ['unit', 'integration', 'e2e', 'fuzz', 'chaos'];
const testFiles = groups.flatMap((group) =>
  readdirSync(join(root, 'test', group), { recursive: true })
    .map((name) => `test/${group}/${String(name)}`)
    .filter((name) => name.endsWith('.test.ts')),
);

/** Anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

const anchorsOf = (page: string): string[] =>
  [...withoutCode(textOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

describe('README.md, CONTRIBUTING.md and docs/', () => {
  it('link to pages and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
        if (/^[a-z]+:/.test(target)) return [];
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : relative(root, join(root, dirname(page), path));
        if (!existsSync(join(root, file))) return [`${page}: ${target}`];
        return anchor !== undefined && !anchorsOf(file).includes(anchor)
          ? [`${page}: ${target} (no such heading)`]
          : [];
      }),
    );
    assert.deepEqual(broken, []);
  });

  it('name files and functions that exist', () => {
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/`((?:src|test|scripts|bench|docs)\/[\w./-]*)(?::(\w+))?`/g)].map(
        ([, path = '', name]) => ({ page, path, name }),
      ),
    );
    assert.ok(named.length > 80, String(named.length));
    const wrong = named.filter(({ path, name }) => {
      const file = join(root, path);
      return (
        !existsSync(file) ||
        (name !== undefined &&
          !new RegExp(`\\b(?:function\\*?|const|class|interface)\\s+${name}\\b`).test(readFileSync(file, 'utf8')))
      );
    });
    assert.deepEqual(
      wrong.map(({ page, path, name }) => `${page}: ${path}${name === undefined ? '' : `:${name}`}`),
      [],
    );
  });

  it('name tests that exist as what shows a security property', () => {
    const files = readdirSync(join(root, 'test'), { recursive: true }).map(String);
    const named = [...textOf('docs/security.md').matchAll(/`((?:unit|integration|e2e|chaos|fuzz)(?:\/[^`]*)?)`/g)];
    assert.ok(named.length > 60, String(named.length));
    assert.deepEqual(
      [...new Set(named.map(([, name = '']) => name))].filter((name) => !files.some((file) => file.startsWith(name))),
      [],
    );
  });

  it('list every key that the scripts of Redis use', () => {
    const section = textOf('docs/architecture.md').split('## Redis keys and fields')[1] ?? '';
    const listed = [...section.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, key = '']) => key.replace(/:(?:[A-Z]|…).*$/, '')),
    );
    const folder = 'src/stores/redis';
    const scripts = readdirSync(join(root, folder), { recursive: true })
      .map(String)
      .filter((name) => /\.(?:lua|ts)$/.test(name));
    const used = scripts.flatMap((name) => {
      const script = textOf(join(folder, name));
      const ofShards = /(?:(?:prefix|ARGV\[1\]) \.\. '|\$\{(?:shard\.)?prefix\})([a-z-]+)/g;
      const ofAll = /['`]((?:idem|intake|response|answers|erasure|live|ai)(?::[a-z]+)+|(?:response|answers)(?=:))/g;
      return [
        ...[...script.matchAll(ofShards)].map(([, key]) => `{sN}:${key}`),
        ...[...script.matchAll(ofAll)].map(([, key]) => String(key)),
      ];
    });
    assert.ok(used.length > 60, String(used.length));
    assert.deepEqual(
      [...new Set(used)].filter((key) => !listed.some((known) => known === key)),
      [],
    );
  });

  it('name npm commands that exist, and tests that match a file', () => {
    const commands = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\bnpm (start|test|run [\w:-]+)((?: --(?: [\w:./-]+)+)?)/g)].map(
        ([text = '', command = '', words = '']) => ({ page, text, command, words }),
      ),
    );
    assert.ok(commands.length > 40, String(commands.length));
    const unknown = commands.filter(({ command }) => scripts[command.replace('run ', '')] === undefined);
    assert.deepEqual(
      unknown.map(({ page, text }) => `${page}: ${text}`),
      [],
    );
    const empty = commands.filter(({ command, words }) => {
      const asked = words.split(' ').filter((word) => word !== '' && word !== '--');
      if (command !== 'test' || asked.length === 0) return false;
      const [among, filters] = [
        asked.filter((word) => groups.includes(word)),
        asked.filter((word) => !groups.includes(word)),
      ];
      const inGroups = testFiles.filter(
        (file) => among.length === 0 || among.some((group) => file.startsWith(`test/${group}/`)),
      );
      return !filters.every((filter) => inGroups.some((file) => file.includes(filter)));
    });
    assert.deepEqual(
      empty.map(({ page, text }) => `${page}: ${text}`),
      [],
    );
  });

  it('name every setting as it is', () => {
    const known = textOf('docs/settings.md') + textOf('docker-compose.yml');
    const settings =
      /\b(?:RATE_LIMIT|INTAKE|UPLOAD|WEBHOOK|AI|CLICKHOUSE|ADMIN|RETENTION|DRAIN|METRICS|CORS|TRUSTED)_[A-Z0-9_]*[A-Z0-9]\b/g;
    const codes = textOf('src/errors.ts') + textOf('src/http/routes/health.ts');
    const unknown = pages.flatMap((page) =>
      [...textOf(page).matchAll(settings)]
        .map(([name]) => name)
        .filter((name) => !known.includes(name) && !codes.includes(name))
        .map((name) => `${page}: ${name}`),
    );
    assert.deepEqual(unknown, []);
  });

  it('wrap prose at 120 characters', () => {
    const long = pages.flatMap((page) =>
      withoutCode(textOf(page))
        .split('\n')
        .flatMap((line, index) =>
          line.length > 120 && !/^(?:\||#|<!--)/.test(line) && /\s/.test(line.trim().replace(/^[-*] /, ''))
            ? [`${page}:${index + 1}`]
            : [],
        ),
    );
    assert.deepEqual(long, []);
  });

  it('name tests that exist in test/FAULTS.md', () => {
    const rows = textOf('test/FAULTS.md')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2);
    const unknown = rows.flatMap((row) =>
      (row.replace(/ \|$/, '').split(' | ').at(-1) ?? '').split(' · ').flatMap((reference) => {
        const [, path = '', phrases = ''] = /^`([^`]+)`(?: (.*))?$/.exec(reference) ?? [];
        if (path.startsWith('npm ')) return [];
        const file = join(root, `test/${path}.test.ts`);
        if (!existsSync(file)) return [reference];
        const names = [...readFileSync(file, 'utf8').matchAll(/\b(?:describe|it|test)\(\s*(['`])(.*)\1/g)].map(
          ([, , name = '']) => name,
        );
        return phrases
          .split('…')
          .map((phrase) => phrase.replace(/^[\s,]+|[\s,]+$/g, ''))
          .filter((phrase) => !names.some((name) => name.includes(phrase)))
          .map((phrase) => `${path} ${phrase}`);
      }),
    );
    assert.ok(rows.length > 90, String(rows.length));
    assert.deepEqual(unknown, []);
  });

  it('say to an operator that the public address is https', () => {
    for (const [path, start, end] of [
      ['docs/operating.md', '## Behind a proxy', '```nginx'],
      ['docker-compose.yml', '# One host', 'name:'],
    ] as const) {
      const part = textOf(path).split(start)[1]?.split(end)[0] ?? '';
      assert.match(part, /PUBLIC_URL[^.]*https/, path);
    }
  });

  it('say how to find the time of the commit that one comes from, before the paragraphs that are named by it', () => {
    const [, beforeThose = ''] =
      /^## Upgrade\n([\s\S]*?)^\*\*From code of before/m.exec(textOf('docs/operating.md')) ?? [];
    assert.match(beforeThose, /`TZ=UTC git log -1 [^`]*%cd`/);
  });

  it('say to an operator of containers where the first password stays', () => {
    const [, containers = ''] = /^\*\*Containers\.\*\*([\s\S]*?)\n\n/m.exec(textOf('docs/operating.md')) ?? [];
    assert.match(containers, /ADMIN_PASSWORD[\s\S]*docker compose logs http[\s\S]*change it/);
    const [, left = ''] = /^## V6 [\s\S]*?^Left: ([\s\S]*?)^##/m.exec(textOf('docs/security.md')) ?? [];
    assert.match(left, /log of a container/);
  });

  it('name the rights of every call to a bucket, and that it keeps no versions', () => {
    const calls = [...textOf('src/stores/uploads/s3.ts').matchAll(/\b(?:new |paginate)([A-Z]\w+?)(?:Command)?\(/g)].map(
      ([, name = '']) => name,
    );
    const rightOf: Readonly<Record<string, string>> = {
      GetObject: 's3:GetObject',
      Upload: 's3:PutObject',
      DeleteObject: 's3:DeleteObject',
      ListObjectsV2: 's3:ListBucket',
      ListMultipartUploads: 's3:ListBucketMultipartUploads',
      AbortMultipartUpload: 's3:AbortMultipartUpload',
    };
    const others = ['S3Client', 'Error'];
    assert.deepEqual(new Set(calls.filter((name) => !others.includes(name))), new Set(Object.keys(rightOf)));
    const [, section = ''] = /^### Move uploads to a bucket\n([\s\S]*?)^###/m.exec(textOf('docs/operating.md')) ?? [];
    assert.deepEqual(
      Object.values(rightOf).filter((right) => !section.includes(`\`${right}\``)),
      [],
    );
    assert.match(section, /versioning/);
  });

  it('print limits of a proxy that are beyond those of the service', async () => {
    const [, nginx = ''] = /```nginx\n(.*?)```/s.exec(textOf('docs/operating.md')) ?? [];
    const { api } = await everyRoute();
    const largestBody = Math.max(...api.map(({ maxBodyBytes = 0 }) => maxBodyBytes));
    assert.ok(Number(/client_max_body_size (\d+)m;/.exec(nginx)?.[1]) * 2 ** 20 > largestBody, String(largestBody));
    assert.ok(Number(/proxy_read_timeout (\d+)s;/.exec(nginx)?.[1]) * 1000 > turnTimeoutMs, String(turnTimeoutMs));
  });

  it('keep the README short', () => {
    assert.ok(textOf('README.md').split('\n').length <= 150);
  });
});
