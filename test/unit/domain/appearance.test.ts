import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  appearanceInput,
  changedAppearance,
  defaultAppearance,
  frameAncestorsOf,
} from '../../../src/domain/appearance.ts';
import { colorIssues, contrastOf, pageColors } from '../../../src/domain/contrast.ts';
import { assetPath } from '../../../src/platform/assets.ts';

const messagesOf = (given: unknown): string[] => {
  const read = appearanceInput.safeParse(given);
  return read.success ? [] : read.error.issues.map(({ message }) => message);
};
const pathsOf = (colors: { primaryColor?: string; backgroundColor?: string }) =>
  colorIssues({ ...defaultAppearance, ...colors }).map(({ path }) => path);

describe('the contrast of two colours', () => {
  it('is that of WCAG: 21 for black and white, 1 for a colour and itself, whatever the order', () => {
    assert.equal(contrastOf('#000000', '#ffffff'), 21);
    assert.equal(contrastOf('#ffffff', '#000000'), 21);
    assert.equal(contrastOf('#1f5fbf', '#1f5fbf'), 1);
    // The grey that is known as the lightest for text on white.
    assert.equal(contrastOf('#767676', '#ffffff').toFixed(2), '4.54');
    assert.ok(contrastOf('#777777', '#ffffff') < 4.5);
  });
});

describe('colours of a survey', () => {
  it('are checked against the colours of the page’s style sheet', () => {
    const tokens = readFileSync(assetPath('web/shared/tokens.css'), 'utf8');
    const light = tokens.slice(0, tokens.indexOf('@media'));
    const colorOf = (name: string) => new RegExp(`--color-${name}: (#[0-9a-f]{6});`).exec(light)?.[1];
    assert.deepEqual(
      { ...pageColors },
      {
        background: colorOf('background'),
        accent: colorOf('accent'),
        onAccent: colorOf('on-accent'),
        text: colorOf('text'),
        mutedText: colorOf('text-muted'),
        errorText: colorOf('error'),
      },
    );
    assert.deepEqual(pathsOf({ primaryColor: pageColors.accent, backgroundColor: pageColors.background }), []);
  });

  it('need a contrast of 4.5:1 to the texts on them', () => {
    assert.deepEqual(pathsOf({ primaryColor: '#767676' }), []);
    assert.deepEqual(pathsOf({ primaryColor: '#777777' }), ['appearance.primaryColor']);
    assert.deepEqual(pathsOf({ backgroundColor: '#ffe0d0' }), []);
    assert.deepEqual([...new Set(pathsOf({ backgroundColor: '#808080' }))], ['appearance.backgroundColor']);
  });

  it('that are allowed have a contrast of 3:1 to each other', () => {
    const greys = Array.from({ length: 256 }, (_, level) => `#${level.toString(16).padStart(2, '0').repeat(3)}`);
    const primary = greys.filter((color) => pathsOf({ primaryColor: color }).length === 0).at(-1) ?? '';
    const background = greys.find((color) => pathsOf({ backgroundColor: color }).length === 0) ?? '';
    assert.ok(contrastOf(primary, background) >= 3, `${primary} on ${background}`);
  });

  it('that are refused are named with their contrast', () => {
    assert.throws(() => changedAppearance(undefined, { primaryColor: '#ffcc00' }), {
      message: /appearance\.primaryColor: the text on buttons \(#ffffff\) has a contrast of 1\.5\d?:1 .* 4\.5:1/,
    });
  });
});

describe('fields of an appearance', () => {
  it('keep what is not given, and are in one form', () => {
    const first = changedAppearance(undefined, appearanceInput.parse({ primaryColor: '#0B6E4F' }));
    assert.equal(first.primaryColor, '#0b6e4f');
    const second = changedAppearance(
      first,
      appearanceInput.parse({
        redirectUrl: 'HTTPS://Example.org',
        allowedOrigins: ['https://Example.org:443/', 'https://example.org', 'http://127.0.0.1:8080'],
      }),
    );
    assert.deepEqual(
      [second.primaryColor, second.redirectUrl, second.allowedOrigins],
      ['#0b6e4f', 'https://example.org/', ['https://example.org', 'http://127.0.0.1:8080']],
    );
  });

  it('take only colours #rrggbb', () => {
    for (const color of ['red', '#fff', '#12345g', '1f5fbf', '#1f5fbf80', ' #1f5fbf', '#1f5fbf;', 7])
      assert.equal(messagesOf({ primaryColor: color }).length, 1, String(color));
    assert.deepEqual(messagesOf({ primaryColor: null, backgroundColor: '#ABCDEF' }), []);
  });

  it('take only http(s) addresses to go on to', () => {
    const addresses = [
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,<b>',
      'ftp://example.org/',
      '//example.org/path',
      '/path',
      'example.org',
      'https://user:secret@example.org/',
      'https://',
      `https://example.org/${'a'.repeat(2000)}`,
      // Its normal form is three times as long.
      `https://example.org/${'ä'.repeat(900)}`,
      '',
    ];
    for (const address of addresses) assert.notDeepEqual(messagesOf({ redirectUrl: address }), [], address);
    assert.deepEqual(messagesOf({ redirectUrl: 'http://example.org/thanks?from=survey#top' }), []);
  });

  it('take no address whose host is longer than any name, which takes long to read', () => {
    const letters = String.fromCodePoint(...Array.from({ length: 256 }, (_, n) => 0x4e00 + n));
    for (const address of [
      `https://${letters}`,
      `https:${letters}/a`,
      ` http:\\/\t/${letters}?a`,
      `https://a@${letters}`,
    ])
      for (const given of [{ redirectUrl: address }, { allowedOrigins: [address] }])
        assert.match(messagesOf(given).join(), /must be an (http|origin)/, address);
    assert.deepEqual(messagesOf({ redirectUrl: `https://例え.テスト/${'a'.repeat(500)}?a=${'ü'.repeat(100)}` }), []);
  });

  it('are told of the length of an overlong address alone, which is not read', () => {
    for (const given of [{ redirectUrl: '/'.repeat(2001) }, { allowedOrigins: ['/'.repeat(301)] }])
      assert.equal(messagesOf(given).length, 1);
  });

  it('take only origins that can stand in a header as they are', () => {
    const origins = [
      'https://example.org/path',
      'https://example.org/?a',
      'example.org',
      'null',
      'https:',
      "'self'",
      'https://*.example.org',
      'https://a.org; script-src *',
      'https://a;b.org',
      'https://a,b.org',
      'https://[::1]:8080',
      'https://user@example.org',
      'javascript:alert(1)',
      'https://example.org:99999',
      '',
    ];
    for (const origin of origins) assert.notDeepEqual(messagesOf({ allowedOrigins: [origin] }), [], origin);
    assert.equal(messagesOf({ allowedOrigins: ['*', 'https://example.org'] }).length, 1);
    assert.equal(messagesOf({ allowedOrigins: Array.from({ length: 21 }, (_, n) => `https://a${n}.org`) }).length, 1);
    assert.deepEqual(messagesOf({ allowedOrigins: ['https://bücher.example'] }), []);
  });

  it('do not name the logo, and no unknown field', () => {
    assert.equal(messagesOf({ logo: null }).length, 1);
    assert.equal(messagesOf({ colour: '#000000' }).length, 1);
  });
});

describe('the pages that may show a survey in a frame', () => {
  it('are those of the service and of the allowed origins', () => {
    assert.equal(frameAncestorsOf(), "frame-ancestors 'self'");
    assert.equal(
      frameAncestorsOf(['https://a.org', 'http://b.org:81']),
      "frame-ancestors 'self' https://a.org http://b.org:81",
    );
    assert.equal(frameAncestorsOf(['*']), 'frame-ancestors *');
  });
});
