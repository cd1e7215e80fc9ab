import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';
import { SetupError, failWith } from './say.mjs';
import { root, setUp } from './setup.mjs';

async function bench([name, ...args]) {
  const file = join(root, 'test', 'bench', `${name}.mjs`);
  if (!name || !existsSync(file)) throw new SetupError(`there is no benchmark '${name ?? ''}' in test/bench`);
  await setUp();
  process.exitCode = await run(process.execPath, [file, ...args], { cwd: root });
}

await bench(process.argv.slice(2)).catch(failWith);
