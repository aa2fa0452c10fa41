import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('docs/guide/embedding.md', () => {
  let service: RunningService;
  useService((served) => {
    ({ service } = served);
  });

  it('its tour gives a survey colours, a closing text and a logo, and is refused what cannot be read', {
    skip: missing('bash', 'curl', 'base64'),
  }, async () => {
    const lines = await pasteInFolder(tourOf('docs/guide/embedding.md', service), (stdout) =>
      stdout.trim().split('\n'),
    );
    const text = lines.join('\n');
    assert.match(text, /primaryColor.*#0b6e4f/);
    assert.match(text, /"path":"appearance\.primaryColor".*contrast of 1\.5/);
    assert.match(text, /cache-control: public, max-age=31536000, immutable/i);
    assert.match(lines.at(-1) ?? '', /^\{\{question:.*\|It\}\} will be back\.$/);
  });
});
