import { byPattern, type Finder } from './spans.ts';

/** House number first: "12 Baker Street". */
const findNumberFirst = byPattern(
  'ADDRESS',
  /(?<![\p{L}\d])\d{1,5}[a-z]?,?\s(?:\p{Lu}[\p{L}'-]{0,40}\s){1,3}(?:[Ss]treet|St|[Rr]oad|Rd|[Aa]venue|Ave|[Ll]ane|Ln|[Dd]rive|[Bb]oulevard|Blvd|[Cc]ourt|Way|[Ss]quare|Sq)(?!\p{L})\.?/gu,
);

/** House number last: "Hauptstraße 12a", "rue de la Paix 5". */
const findNumberLast = byPattern(
  'ADDRESS',
  /(?<![\p{L}.-])(?:\p{Lu}[\p{L}.-]{0,60}(?:stra(?:ß|ss)e|str\.|weg|gasse|platz|allee|straat|gatan|vej)|(?:rue|avenue|boulevard|calle|avenida|via|piazza|rua|plaza|ulica|ul\.)\s(?:(?:de|du|des|la|le|del|della|da|do)\s){0,2}\p{L}[\p{L}'-]{1,40})(?:,?\s?(?:n[º°.]?\s?)?\d{1,5}[a-z]?)(?!\p{L})/giu,
);

/** Streets with a house number. */
export const findStreets: Finder = (text) => {
  const first = findNumberFirst(text);
  return [...first, ...findNumberLast(text).filter((span) => !first.some(({ start, end }) => span.start < end && start < span.end))];
};
