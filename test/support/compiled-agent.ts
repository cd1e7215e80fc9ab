import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const restContract = 'packages/rest-contract';
const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, inlineSourceMap: true };

/** Compiles the agent, or that of a node, into `folder`, so that it starts as fast as it does in the product. Answers its program. */
export function compileAgent(folder: string, program: 'agent' | 'pod-agent' = 'agent'): string {
  const done = new Set<string>();
  for (const source of sourcesIn(join(root, 'src', program))) compileWithImports(source, folder, done);
  compile(join(root, restContract, 'src'), join(folder, restContract, 'dist'));
  cpSync(join(root, restContract, 'package.json'), join(folder, restContract, 'package.json'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // Ours is found first, because it is nearer to the importer.
  mkdirSync(join(folder, 'src/node_modules'));
  symlinkSync(join(folder, restContract), join(folder, 'src/node_modules/rest-contract'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'src', program, 'main.js');
}

/** What of ours the agent imports from elsewhere comes along. */
function compileWithImports(source: string, folder: string, done: Set<string>): void {
  if (done.has(source)) return;
  done.add(source);
  const outputText = compileFile(source, join(folder, relative(root, source)));
  for (const [, path = ''] of outputText.matchAll(/(?:from |import\()'(\.{1,2}\/[^']+)\.js'/g))
    compileWithImports(`${join(dirname(source), path)}.ts`, folder, done);
}

function compile(from: string, to: string): void {
  for (const file of sourcesIn(from)) compileFile(file, join(to, relative(from, file)));
}

function compileFile(file: string, to: string): string {
  const target = to.replace(/\.ts$/, '.js');
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions, fileName: file });
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, outputText);
  return outputText;
}

const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name));
