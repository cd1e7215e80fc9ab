// Writes docs/api.md from the declarations and comments of every entry point. With --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, 'docs', 'api.md');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
const sourceOf = (entry) => join(root, 'src', `${entry === '.' ? 'index' : entry.slice(2)}.ts`);

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
  ts.sys,
  root,
);
const program = ts.createProgram(entries.map(sourceOf), options);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true });
const seen = new Set();

/** The declaration as its reader needs it: signatures without bodies, constants by their type. */
function declarationText(declaration) {
  const file = declaration.getSourceFile();
  if (ts.isVariableDeclaration(declaration)) {
    const type = checker.typeToString(
      checker.getTypeAtLocation(declaration),
      declaration,
      ts.TypeFormatFlags.NoTruncation,
    );
    return `const ${declaration.name.getText()}: ${type}`;
  }
  if (ts.isFunctionDeclaration(declaration)) {
    const { name, typeParameters, parameters, type } = declaration;
    return printer.printNode(
      ts.EmitHint.Unspecified,
      ts.factory.createFunctionDeclaration(undefined, undefined, name, typeParameters, parameters, type, undefined),
      file,
    );
  }
  if (ts.isClassDeclaration(declaration)) {
    const heritage = (declaration.heritageClauses ?? []).map((clause) => ` ${clause.getText()}`).join('');
    const members = declaration.members
      .filter((member) => !isPrivate(member))
      .map((member) => `  ${memberText(member, file)}`);
    return `class ${declaration.name?.text}${heritage} {\n${members.join('\n')}\n}`;
  }
  return printer.printNode(ts.EmitHint.Unspecified, declaration, file).replace(/^export (declare )?/, '');
}

const isPrivate = (member) =>
  (ts.getCombinedModifierFlags(member) &
    (ts.ModifierFlags.Private | ts.ModifierFlags.Protected | ts.ModifierFlags.Override)) !==
  0;

function memberText(member, file) {
  const text = printer.printNode(ts.EmitHint.Unspecified, member, file);
  const end = ts.isMethodDeclaration(member) || ts.isConstructorDeclaration(member) ? text.indexOf(' {\n') : -1;
  return end < 0 ? text : `${text.slice(0, end)};`;
}

function section(symbol) {
  const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const declarations = (real.declarations ?? []).filter((one) => one.getSourceFile().fileName.startsWith(root));
  if (declarations.length === 0) return '';
  const comment = ts.displayPartsToString(real.getDocumentationComment(checker)).trim();
  const overloads = declarations.filter(
    (one) => !ts.isFunctionDeclaration(one) || !one.body || declarations.length === 1,
  );
  const where = relative(root, declarations[0].getSourceFile().fileName).replaceAll('\\', '/');
  const code = overloads.map(declarationText).join('\n');
  return `### ${symbol.name}\n\n${comment === '' ? '' : `${comment}\n\n`}\`\`\`ts\n${code}\n\`\`\`\n\n<sub>${where}</sub>\n`;
}

function chapter(entry) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(sourceOf(entry)));
  const sections = [];
  for (const symbol of checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    if (seen.has(real)) continue;
    seen.add(real);
    const text = section(symbol);
    if (text !== '') sections.push(text);
  }
  const name = `rest-contract${entry.slice(1)}`;
  return `## \`${name}\`\n\n${sections.length === 0 ? 'A part of `rest-contract`: contracts and clients without the server.\n' : sections.join('\n')}`;
}

const page = `# API\n\nMade from the sources by \`npm run docs\`; the README teaches, this page is for looking things up.\n\n${entries.map(chapter).join('\n')}`;
// As the formatter of the repository would leave it.
const text = await format(page, { ...(await resolveConfig(target)), parser: 'markdown' });
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('docs/api.md is not what the sources say: run `npm run docs -w packages/rest-contract`');
    process.exitCode = 1;
  }
} else writeFileSync(target, text);
