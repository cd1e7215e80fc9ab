import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError, nodeProgram } from './run.mjs';

const progressMillis = 5_000;
/** A slow network is given time, a missing one should not take minutes to be noticed. */
const patience = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=8000'];

/** Installs what the lockfile names, development packages included whatever NODE_ENV says: the compiler is one of them. */
export async function install(root, owner) {
  console.log('Installing packages (only needed when package-lock.json or the Node.js version has changed)');
  const begin = performance.now();
  const seconds = () => Math.round((performance.now() - begin) / 1_000);
  const progress = setInterval(() => console.log(`  still installing (${seconds()} s)`), progressMillis);
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...patience];
  try {
    const { code, output } = await nodeProgram([findNpm(), ...args], { cwd: root, owner });
    if (code !== 0) throw new SetupError(explain(output));
  } finally {
    clearInterval(progress);
  }
  console.log(`  installed in ${seconds()} s`);
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
