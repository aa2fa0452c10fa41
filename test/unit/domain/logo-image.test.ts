import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLogoImage } from '../../../src/domain/logo-image.ts';
import { jpeg, png, webPs } from '../../support/pictures.ts';

describe('type and size of a picture', () => {
  it('are read from PNG, JPEG and all three codings of WebP', () => {
    assert.deepEqual(readLogoImage(png), { mediaType: 'image/png', width: 1, height: 1 });
    assert.deepEqual(readLogoImage(jpeg({ width: 300, height: 200 })), {
      mediaType: 'image/jpeg',
      width: 300,
      height: 200,
    });
    const sizes = webPs({ width: 300, height: 200 }).map((bytes) => readLogoImage(bytes));
    assert.deepEqual(sizes, Array(3).fill({ mediaType: 'image/webp', width: 300, height: 200 }));
  });

  it('are not read from anything else, cut pictures among them', () => {
    const others = [
      '',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      '<!doctype html><title>a</title>',
      'GIF89a\u0001\u0000\u0001\u0000',
      'RIFF\u0000\u0000\u0000\u0000WAVEfmt ',
    ];
    for (const text of others) assert.equal(readLogoImage(Buffer.from(text, 'latin1')), undefined, text);
    for (const whole of [png, jpeg({ width: 3, height: 2 }), ...webPs({ width: 3, height: 2 })])
      for (let length = 0; length < 20; length += 1)
        assert.equal(readLogoImage(whole.subarray(0, length)), undefined, `${length} bytes`);
  });

  it('need sides of at least one pixel', () => {
    assert.equal(readLogoImage(jpeg({ width: 0, height: 2 })), undefined);
  });

  it('are looked for in linear time in segments that lead nowhere', () => {
    const segment = Buffer.from([0xff, 0xe0, 0, 2]);
    const bytes = Buffer.concat([Buffer.from([0xff, 0xd8]), ...Array(50_000).fill(segment)]);
    const begun = performance.now();
    assert.equal(readLogoImage(bytes), undefined);
    assert.ok(performance.now() - begun < 1000);
  });
});
