import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tempFolder } from '../../support/temp-folder.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface EarlierBuild {
  commit: string;
  /** Its bin/muster.mjs. */
  program: string;
  remove(): void;
}

async function git(...args: string[]): Promise<string> {
  return (await run('git', args, { cwd: root })).stdout.trim();
}

/** The commit before the one that changed the schema last; undefined: there is no history that reaches so far. */
export async function commitBeforeLastMigration(): Promise<string | undefined> {
  try {
    const last = await git('log', '-1', '--first-parent', '--format=%H', '--', 'migrations');
    return last === '' ? undefined : await git('rev-parse', '--verify', '--quiet', `${last}^`);
  } catch {
    return undefined;
  }
}

/** Compiles the program of a commit, with the packages of the present one, in a folder of its own. */
export async function buildCommit(commit: string): Promise<EarlierBuild> {
  const { path, remove } = tempFolder();
  try {
    const archive = join(path, 'sources.tar');
    const sources = join(path, 'sources');
    mkdirSync(sources);
    await git('archive', `--output=${archive}`, commit);
    await run('tar', ['-xf', archive, '-C', sources]);
    symlinkSync(realpathSync(join(root, 'node_modules')), join(sources, 'node_modules'));
    const compiler = join(sources, 'node_modules', 'typescript', 'bin', 'tsc');
    // Its types were checked when it was the present one.
    await run(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', 'dist'], {
      cwd: sources,
    });
    // Files that the program reads go along.
    const isRead = (source: string) => statSync(source).isDirectory() || !source.endsWith('.ts');
    cpSync(join(sources, 'src'), join(sources, 'dist', 'src'), { recursive: true, filter: isRead });
    // Since commands are one file.
    const commands = join('scripts', 'command-line.mjs');
    if (existsSync(join(sources, commands))) await run(process.execPath, [commands, 'dist'], { cwd: sources });
    return { commit, program: join(sources, 'bin', 'muster.mjs'), remove };
  } catch (cause) {
    remove();
    throw cause;
  }
}
