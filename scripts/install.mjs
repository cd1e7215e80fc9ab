import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { during } from './progress.mjs';
import { SetupError, nodeProgram } from './run.mjs';

/** A slow network is given time, a missing one should not take minutes to be noticed. */
const patience = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=8000'];

/** Installs what the lockfile names, development packages included whatever NODE_ENV says: the compiler is one of them. */
export async function install(root, owner) {
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...patience];
  const what = 'Installing packages (only needed when package-lock.json or the Node.js version has changed)';
  const work = async () => {
    const { code, output } = await nodeProgram([findNpm(), ...args], { cwd: root, owner });
    if (code !== 0) throw new SetupError(explain(output));
  };
  await during(what, work, { still: 'still installing' });
}

/** The npm that runs us, else the one that came with this Node. */
function findNpm() {
  const bin = dirname(process.execPath);
  const candidates = [
    process.env.npm_execpath,
    join(bin, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(bin, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const found = candidates.find((path) => path && path.endsWith('npm-cli.js') && existsSync(path));
  if (!found) throw new SetupError('npm was not found: run this with "npm start" or "npm test"');
  return found;
}

const network = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENETUNREACH',
  'ENOTCACHED',
]);

function explain(output) {
  const code = /npm (?:error|ERR!) code (\S+)/.exec(output)?.[1];
  if (code && network.has(code)) {
    return `Cannot install the packages: the npm registry cannot be reached (${code}). The first start needs it, later ones do not`;
  }
  return `Cannot install the packages:\n${output.trim()}`;
}
