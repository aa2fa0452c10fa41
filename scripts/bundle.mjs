// node scripts/bundle.mjs <build folder>: puts each program of the service and all modules that it imports into one
// file, in the place of its first module. Loading hundreds of files takes longer than all else at a start; see
// docs/decisions/045-bundled-programs.md.
import { readFileSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

// What a process starts with and is waited for. Tools and threads load few modules, or seldom.
const programs = ['processes/supervisor', 'pipelines/exports/child-process'];

// Packages of many modules that load nothing else. Others stay where they are: they find files and engines beside them.
const inlined = ['zod', 'jose'];

const source = join(resolve(process.argv[2] ?? 'dist'), 'src');
for (const program of programs) await bundle(program);

async function bundle(program) {
  const build = await rolldown({
    input: join(source, `${program}.js`),
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id) && !inlined.includes(id),
    plugins: [{ name: 'own-modules', load }],
  });
  // All in one folder, from which modules find their neighbours.
  await build.write({
    dir: source,
    format: 'esm',
    entryFileNames: `${program}.js`,
    chunkFileNames: `${program}-[name]-[hash].js`,
    sourcemap: true,
    sourcemapExcludeSources: true,
  });

  /** A module as the compiler made it, which finds its neighbours from the place of the bundle. */
  function load(id) {
    if (!id.startsWith(source)) return undefined;
    const ownPlace = relative(join(source, program, '..'), id);
    const code = readFileSync(id, 'utf8').replaceAll(
      'import.meta.url',
      `new URL(${JSON.stringify(ownPlace.startsWith('.') ? ownPlace : `./${ownPlace}`)}, import.meta.url).href`,
    );
    return { code, map: JSON.parse(readFileSync(`${id}.map`, 'utf8')) };
  }
}
