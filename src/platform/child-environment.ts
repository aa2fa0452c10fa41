/** What the programs of a store need: where things lie, and languages. */
const programVariables = /^(?:PATH|LANG|LC_ALL|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|SystemRoot)$/;
/** What Node and its libraries read when they are loaded, before a process can be handed anything. */
const nodeVariables =
  /^(?:HOME|TZ|LC_\w+|SSL_CERT_(?:FILE|DIR)|MALLOC_\w+|(?:NODE|UV|UWS)_\w+|AWS_SDK_JS_\w+|SERVICE_PROFILE_DIR)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child process. Settings of the service are secrets, which other programs on the machine may read
 * in /proc/PID/environ, so only known names pass.
 */
export function childEnvironment(env: Environment, kind: 'program' | 'node'): Record<string, string> {
  const isPassed = (name: string): boolean =>
    programVariables.test(name) || (kind === 'node' && nodeVariables.test(name));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && isPassed(name) ? [[name, value]] : [])),
  );
}
