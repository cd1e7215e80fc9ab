import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import ts from 'typescript';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { tempFolder } from '../support/temp-folder.js';

/** The client as its users get it: packed, installed into empty projects without a network, and run against the product. */
describe('the client as a package', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const require = createRequire(import.meta.url);
  const { path, remove } = tempFolder();
  const temp = realpathSync(path);
  const installation = new Installation({ database: createDatabase });
  const tarballs: string[] = [];
  let url = '';
  beforeAll(async () => {
    // As they are built: the product, which imports them, is made of the same.
    for (const name of ['rest-contract', 'client']) {
      const staging = join(temp, name);
      mkdirSync(staging);
      for (const entry of ['package.json', 'README.md', 'dist'])
        cpSync(join(root, 'packages', name, entry), join(staging, entry), { recursive: true });
      run('npm', ['pack', '--ignore-scripts', '--pack-destination', staging], staging);
      tarballs.push(
        join(
          staging,
          readdirSync(staging).find((file) => file.endsWith('.tgz'))!,
        ),
      );
    }
    const { api } = await installation.start();
    ({ url } = api);
  }, 120_000);
  afterAll(async () => {
    await installation.dispose();
    remove();
  }, 90_000);

  const run = (command: string, args: readonly string[], cwd: string): string =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const runHere = async (file: string, cwd: string): Promise<string> =>
    (await promisify(execFile)(process.execPath, [file], { cwd })).stdout;

  function project(name: string, files: Record<string, string>): string {
    const folder = join(temp, `project-${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
    // A cache of its own: npm looks up even optional peers in the cache of the machine, whatever is in there.
    const cache = `--cache=${join(temp, 'npm-cache')}`;
    run('npm', ['install', '--offline', cache, '--no-audit', '--no-fund', '--loglevel=error', ...tarballs], folder);
    for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
    return folder;
  }

  const program = (prefix: string, types: { view: string; text: string }) => `
    import { connectMuster, MusterError, runAndWait, waitForDeploy${types.view && ', type DeployView, type EndedRun'} } from 'muster-client';
    const muster = connectMuster({ url: '${url}' });
    const requestId = '${prefix}';
    await muster.requests.save({ body: { id: requestId, requestType: 'ON_DEMAND' } });
    await muster.deploys.start({ body: { deploy: { requestId, id: '1', command: 'exit 4', shell: true } } });
    const states${types.view} = [];
    await waitForDeploy(muster, { requestId, deployId: '1' }, { onProgress: (view) => states.push(view) });
    const run${types.text} = await runAndWait(muster, { requestId });
    const refused = await muster.requests.get({ requestId: 'none' }).catch((cause) => cause);
    if (!(refused instanceof MusterError)) throw new Error('not refused');
    console.log(states.at(-1)?.state, run.exitCode, refused.code);
  `;
  const shown = 'SUCCEEDED 4 REQUEST_NOT_FOUND\n';

  test('a JavaScript project runs it, with nothing installed but the two packages', async () => {
    const folder = project('javascript', { 'main.js': program('javascript', { view: '', text: '' }) });
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'muster-client',
      'rest-contract',
    ]);
    expect(await runHere('main.js', folder)).toBe(shown);
  }, 90_000);

  test('a TypeScript project compiles with it, strictly, and is told what is wrong', async () => {
    const wrong = `
      import { connectMuster } from 'muster-client';
      const muster = connectMuster({ url: 'http://127.0.0.1' });
      // @ts-expect-error there is no such type of requests
      void muster.requests.save({ body: { id: 'a', requestType: 'DEMON' } });
      // @ts-expect-error the id is missing
      void muster.requests.get({});
      // @ts-expect-error a misspelt member
      void muster.requests.bounce({ requestId: 'a', body: { incremantal: true } });
      // @ts-expect-error it may be absent
      const rack: string = (await muster.track.run({ requestId: 'a', runId: 'b' })).taskId.rackId;
      export const words: readonly string[] = (await muster.requests.list()).map(({ request }) => request.requestType);
    `;
    const strict = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
    const compilerOptions = { ...strict, module: 'nodenext', target: 'es2022', types: [], outDir: 'out' };
    const folder = project('typescript', {
      'main.ts': program('typescript', { view: ': DeployView[]', text: ': EndedRun' }).replace(
        '(cause) => cause',
        '(cause: unknown) => cause',
      ),
      'wrong.ts': wrong,
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    });
    run(process.execPath, [require.resolve('typescript/bin/tsc')], folder);
    expect(await runHere(join('out', 'main.js'), folder)).toBe(shown);
    expectHover(folder, 'bounce', 'Replaces all tasks of a SERVICE or WORKER by new ones');
    expectHover(folder, 'requests.save', 'Requests: what is to run');
    expectHover(folder, 'requestId', 'Id of the request.');
    expectHover(folder, 'rackId', 'Equal to sanitizedRackId.');
  }, 120_000);

  /** Expects the documentation that an editor shows at the first place of the word in wrong.ts. */
  function expectHover(folder: string, word: string, documentation: string): void {
    const file = join(folder, 'wrong.ts');
    const config = ts.parseJsonConfigFileContent(
      { compilerOptions: { module: 'nodenext', strict: true, types: [] } },
      ts.sys,
      folder,
    );
    const service = ts.createLanguageService({
      getScriptFileNames: () => [file],
      getScriptVersion: () => '1',
      getScriptSnapshot: (name) =>
        ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, 'utf8')) : undefined,
      getCurrentDirectory: () => folder,
      getCompilationSettings: () => config.options,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
      readDirectory: ts.sys.readDirectory,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
    });
    const info = service.getQuickInfoAtPosition(file, readFileSync(file, 'utf8').indexOf(word));
    expect(ts.displayPartsToString(info?.documentation)).toContain(documentation);
  }

  test('a bundle for browsers has no part of Node.js in it, and its size is told', async () => {
    const folder = project('browser', { 'main.js': program('browser', { view: '', text: '' }) });
    const esbuild = require.resolve('esbuild/bin/esbuild');
    const bundle = (entry: string, out: string) =>
      run(esbuild, [entry, '--bundle', '--minify', '--format=esm', '--platform=browser', `--outfile=${out}`], folder);
    bundle('main.js', 'bundle.js');
    const text = readFileSync(join(folder, 'bundle.js'));
    const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} kB`;
    console.log(`browser bundle: ${kilobytes(text.length)}, ${kilobytes(gzipSync(text).length)} gzipped`);
    expect(text.toString()).not.toMatch(/\bfrom\s*["']|\brequire\(|\bimport\s*["']/);
    expect(gzipSync(text).length).toBeLessThan(30_000);
    expect(await runHere('bundle.js', folder)).toBe(shown);
  }, 90_000);

  test('it is loaded in a moment: a command line waits for it at each start', async () => {
    const folder = project('load', {
      'load.js': `
        const [begun, before] = [performance.now(), process.cpuUsage()];
        await import('muster-client');
        const { user, system } = process.cpuUsage(before);
        console.log(performance.now() - begun, (user + system) / 1000);`,
    });
    const loads: number[][] = [];
    for (let count = 0; count < 5; count++) loads.push((await runHere('load.js', folder)).split(' ').map(Number));
    const least = (which: number) => Math.min(...loads.map((load) => load[which]!));
    console.log(`import('muster-client'): ${least(0).toFixed(1)} ms, ${least(1).toFixed(1)} ms of the processor`);
    expect(least(1)).toBeLessThan(40);
  }, 90_000);

  test('the document that it is made of comes with it', () => {
    const file = join(root, 'packages', 'client', 'dist', 'openapi.json');
    const { paths, components } = JSON.parse(readFileSync(file, 'utf8')) as {
      paths: object;
      components: { schemas: Record<string, { properties: object }> };
    };
    expect(Object.keys(paths).length).toBeGreaterThan(170);
    expect(components.schemas['DeployDto']?.properties).toHaveProperty('canaryDeploySettings');
    expect(statSync(file).size).toBeLessThan(1_500_000);
  });

  test('every program of its README runs', async () => {
    const readme = readFileSync(join(root, 'packages', 'client', 'README.md'), 'utf8');
    const programs = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, text = '']) =>
      text.replaceAll('http://127.0.0.1:7099', url),
    );
    const files = Object.fromEntries(programs.map((text, index) => [`${index}.js`, text]));
    const folder = project('readme', files);
    const outputs: string[] = [];
    for (const file of Object.keys(files)) outputs.push(await runHere(file, folder));
    expect(outputs).toEqual([
      'TASK_FINISHED 0\nHello, Ada!\n',
      expect.stringMatching(/^\d+ \d+\n$/),
      "404 REQUEST_NOT_FOUND No request with id 'nothing'\n",
    ]);
    expect(
      programs[0]!
        .trim()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('import')).length,
    ).toBeLessThanOrEqual(10);
  }, 90_000);
});
