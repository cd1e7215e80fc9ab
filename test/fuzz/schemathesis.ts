import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const version = '4.32.5';
const folder = fileURLToPath(new URL(`../../.setup/schemathesis-${version}`, import.meta.url));
const installed = join(folder, 'installed');
const run = promisify(execFile);

/** The program, installed into a folder of ours where it is missing. undefined: it cannot be had here, and a line says why. */
export async function findSchemathesis(): Promise<string | undefined> {
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(installed)) return program;
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await run('python3', ['-m', 'venv', folder], { timeout: 60_000 });
    const options = ['--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '15'];
    await run(join(folder, 'bin', 'pip'), ['install', ...options, `schemathesis==${version}`], { timeout: 240_000 });
    writeFileSync(installed, '');
    return program;
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    const [reason] = String((cause as { stderr?: string }).stderr ?? cause).split('\n');
    console.log(`Fuzzing is left out: schemathesis ${version} cannot be installed with Python and pip (${reason})`);
    return undefined;
  }
}
