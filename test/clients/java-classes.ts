import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { impossible } from './published-client.js';

const folderOf = (name: string): string => fileURLToPath(new URL(`${name}/`, import.meta.url));
const pom = join(folderOf('java'), 'pom.xml');

/** Programs of this folder beside the published client of this version, compiled into `work`; or why that cannot be had here. */
export async function compileJava(
  version: string,
  folder: string,
  work: string,
): Promise<{ classPath: string } | { why: string }> {
  const jars = join(work, 'jars');
  const resolve = ['-q', '-B', '-f', pom, `-Dclient.version=${version}`];
  const goal = [`-Dmdep.outputFile=${jars}`, 'dependency:build-classpath'];
  // What was fetched before is there without the network.
  const why =
    (await impossible('javac', ['-version'])) ??
    ((await impossible('mvn', [...resolve, '-o', ...goal])) && (await impossible('mvn', [...resolve, ...goal])));
  if (why !== undefined) return { why };
  const classPath = [work, readFileSync(jars, 'utf8').trim()].join(delimiter);
  const sources = readdirSync(folderOf(folder)).filter((name) => name.endsWith('.java'));
  const files = sources.map((name) => join(folderOf(folder), name));
  const problem = await impossible('javac', ['-nowarn', '-d', work, '-cp', classPath, ...files]);
  if (problem !== undefined) throw new Error(problem);
  return { classPath };
}
