/**
 * A host of more than 255 characters, behind any spelling of `http://` that the parser takes. No name is longer, and
 * reading one that is not ASCII takes time by the square of its length.
 */
const longHost = /^[^/\\?#]*[/\\\t\n\r]*[^/\\?#]{256}/;

/** The address that a text is; undefined for one that is none, or has too long a host. */
export function parseUrl(text: string): URL | undefined {
  return longHost.test(text) || !URL.canParse(text) ? undefined : new URL(text);
}
