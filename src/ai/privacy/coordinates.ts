const any = (names: readonly string[]): string => `(?:${names.join('|')})`;

const northOrSouth = '(?:N(?:o?rd|orth|orte)?|S(?:outh|üd|u[dr])?)(?!\\p{L})';
const eastOrWest = '(?:E(?:ast|ste?)?|W(?:est)?|O(?:st|uest|este|vest)?)(?!\\p{L})';
const side = any([northOrSouth, eastOrWest]);
/** Folding makes "o" of "º", and a space and a combining ring of "˚". */
const degree = '\\s?(?:°|\\u030a|o|deg(?:rees?)?)';
const fraction = '[.,]\\d{1,17}';
/** No end of a word before it. */
const sideBefore = `(?:(?<!\\p{L})${side}\\s?)?`;
const between = '\\s{0,2}[,;/|&-]?\\s{0,2}(?:and\\s)?';
const prime = "['′’]";
const minutes = `\\s?\\d{1,2}(?:[.,]\\d{1,8})?(?![\\d°])\\s?(?:${prime}\\s?(?:\\d{1,2}(?:[.,]\\d{1,6})?\\s?(?:["″”]|${prime}{2})?)?)?`;
const withMinutes = `\\d{1,3}\\s?°${minutes}`;
const withDegree = `\\d{1,3}${fraction}${degree}`;
/** Fewer decimals, or a comma before three of them, are rather amounts by region ("N 12,345, W 23,456"). */
const exact = '\\d{1,3}(?:\\.\\d{3,17}|,\\d{4,17})';

const latitude = any(['lat(?:itude?|itudine)?', 'breitengrad', 'breedtegraad', 'широта', '[纬緯]度', '위도', 'enlem']);
const longitude = any([
  'lo?ng(?:itude?|itudine)?',
  'lon',
  'längengrad',
  'lengtegraad',
  'долгота',
  '[经経]度',
  '경도',
  'boylam',
]);
const apart = '(?<![\\p{Script=Latin}\\p{Script=Cyrillic}])';
const is = '\\.?["\']?\\s?(?:is|ist|est|es|è|é|:|=)?\\s{0,2}["\']?';
const angle = `${sideBefore}[-+]?\\s?${any([withMinutes, `\\d{1,3}${fraction}(?:${degree})?`, '\\d{1,3}\\s?°'])}(?:\\s?${side})?["']?`;

/** Pairs of coordinates. Each expression has the coordinates in its first group. */
export const coordinates: readonly RegExp[] = [
  // "37.7749, -122.4194"
  /(-?\d{1,3}\.\d{4,17}\s?°?\s?[,;/ ]\s?-?\d{1,3}\.\d{4,17}(?!\d)(?:\s?°)?)/g,
  // "48° 51.396' N, 2° 21.132' E", "37°46′29″N 122°25′9″W"
  new RegExp(
    `(?<!\\d)(${sideBefore}${withMinutes}(?:\\s?${side})?\\s{0,2}[,;/|&]?\\s{0,2}(?:(?<=\\p{L}\\s)and\\s)?${sideBefore}${withMinutes}(?:\\s?${side})?)`,
    'giu',
  ),
  // "51.5074° N, 0.1278° W", "N 51.5074° W 0.1278°"
  new RegExp(`(?<!\\d)(${withDegree}\\s?${side}${between}${withDegree}\\s?${side})`, 'giu'),
  new RegExp(`(?<!\\p{L})(${side}\\s?${withDegree}${between}${side}\\s?${withDegree})`, 'giu'),
  // "51.5074 N, 0.1278 W", "N 51.5074, W 0.1278"
  new RegExp(`(?<![\\d.,])(${exact}\\s?${northOrSouth}${between}${exact}\\s?${eastOrWest})`, 'gu'),
  new RegExp(`(?<!\\p{L})(${northOrSouth}\\s?${exact}${between}${eastOrWest}\\s?${exact})(?!\\d)`, 'gu'),
  // "lat 51.5074, lon -0.1278", "lat/lon: 51.5, -0.1"
  new RegExp(`${apart}${latitude}${is}(${angle}${between}["']?${longitude}${is}${angle})(?!\\d)`, 'giu'),
  new RegExp(`${apart}${longitude}${is}(${angle}${between}["']?${latitude}${is}${angle})(?!\\d)`, 'giu'),
  new RegExp(`${apart}${latitude}\\s?[/,&]?\\s?${longitude}${is}(${angle}${between}${angle})(?!\\d)`, 'giu'),
];
