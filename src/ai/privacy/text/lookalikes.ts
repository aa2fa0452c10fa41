const others = 'АВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧавекмнорстухіјѕαβεκνορτυχ';
const latin = 'ABEKMHOPCTXYIJSABEZHIKMNOPTYXabekmhopctxyijsabekvoptux';
const known = new Map([...others].map((letter, index) => [letter, latin.charAt(index)]));
const any = new RegExp(`[${others}]`, 'g');

/** Letters of other alphabets that look like Latin ones, as Latin ones: for codes, never for words. The text stays as long. */
export const asLatin = (text: string): string =>
  /[\u0370-\u04ff]/.test(text) ? text.replace(any, (letter) => known.get(letter) ?? letter) : text;
