import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);

describe('the anonymiser on coordinates', () => {
  it('hides degrees with decimals and a side', () => {
    for (const text of [
      '51.5074° N, 0.1278° W',
      '52.5200° N, 13.4050° E',
      '33.8688° S 151.2093° E',
      '52,5200°N; 13,4050°O',
      'N 51.5° W 0.12°',
      '51.5074º N, 0.1278º W',
      '51.5074˚ N, 0.1278˚ W',
      '51.5 degrees north and 0.1 degrees west',
      '-33.8688°, 151.2093°',
    ])
      assert.equal(masked(`I live at ${text} now`), 'I live at [ADDRESS_1] now', text);
  });

  it('hides minutes with decimals and a prime, and seconds', () => {
    for (const text of [
      "48° 51.396' N, 2° 21.132' E",
      "N 48° 51.396' E 002° 21.132'",
      '48°51.396′N 2°21.132′E',
      'N 48° 51.396 E 2° 21.132',
      '48°51\'24"N 2°21\'03"E',
      '48° 51′ 23.76″ N, 2° 21′ 7.92″ E',
      "48°51',2°21'",
      "48°51' N and 2°21' E",
      "N48°51.4'E2°21.1'",
    ])
      assert.equal(masked(text).replace(/^\[ADDRESS_1\]$/, ''), '', text);
  });

  it('hides decimals behind or before a side', () => {
    for (const text of [
      'N 51.5074, W 0.1278',
      'N51.507 W0.128',
      '51.5074 N, 0.1278 W',
      '51.5074N 0.1278W',
      '51.5074 N - 0.1278 W',
      'S 33,8688 / E 151,2093',
    ])
      assert.equal(masked(text), '[ADDRESS_1]', text);
  });

  it('hides what is introduced as latitude and longitude', () => {
    for (const text of [
      'lat 51.5074, lon -0.1278',
      'lat: 51.5, lng: -0.1',
      'LAT 51.5 LONG 0.1',
      'latitude is 48.85 and longitude is 2.35',
      'lon -0.1278, lat 51.5074',
      '{"lat": 51.5, "lng": -0.12}',
      'lat=51.5&lon=-0.1',
      "lat 51° 30.4' N, long 0° 7.6' W",
      'lat/lon: 51.5, -0.1',
      'Breitengrad 52,52 Längengrad 13,40',
      'широта 55.75, долгота 37.61',
      '現在地の緯度35.68、経度139.69',
    ])
      assert.doesNotMatch(masked(text).replace('[ADDRESS_1]', ''), /\d/, `${text}: ${masked(text)}`);
  });

  it('leaves temperatures, amounts by region and lengths', () => {
    for (const text of [
      '20.5° and 21.5°',
      'it was 20° 25° 30° outside',
      '22.5° C, 23.5° C',
      "angle 30° 15' and 45° 20'",
      'N 12,345, W 23,456',
      'N 3.50, W 4.50',
      'a flat 51.5 long',
      'przez 1,5 lat 2,5 lat 3,5',
    ])
      assert.equal(masked(text), text);
  });
});
