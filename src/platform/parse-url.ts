/**
 * A host of more than 255 characters, behind any spelling of `http://` that the parser takes. No name is longer, and
 * reading one that is not ASCII takes time by the square of its length.
 */
const longHost = /^[^/\\?#]*[/\\]*[^/\\?#]{256}/;
/** The parser drops them wherever they stand. In `longHost` they would belong to all its parts, which takes cubic time. */
const dropped = /[\t\n\r]/g;

/** The address that a text is; undefined for one that is none, or has too long a host. */
export function parseUrl(text: string): URL | undefined {
  return longHost.test(text.replace(dropped, '')) || !URL.canParse(text) ? undefined : new URL(text);
}
