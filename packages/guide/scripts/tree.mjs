import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { furtherPages } from '../../../scripts/source-hash.mjs';

/** Files below these are shown as they are where a page leads there. */
const shown = /^(examples|deploy|schemas)\/.*\.(conf|json|service|sh|ya?ml)$|^(docker-compose\.yml|Dockerfile)$/;

export const startPage = 'docs/README.md';

/** The paths of all pages in the tree, the start page first. */
export function pagesOf(root) {
  const below = (folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => path.endsWith('.md'))
      .sort();
  const all = [...below('docs'), ...furtherPages.filter((path) => existsSync(join(root, path))), ...below('examples')];
  return [startPage, ...all.filter((path) => path !== startPage)];
}

export const isShown = (root, path) => shown.test(path) && existsSync(join(root, path));

const pictures = /^docs\/(images\/[^/]+\.webp)$/;

/** Files that pages show among their text. */
export const isPicture = (root, path) => pictures.test(path) && existsSync(join(root, path));

/** Where a page, a picture, or a file that is shown, is found below the root of the guide. */
export function addressOf(path) {
  if (path === startPage) return 'index.html';
  const [, picture] = pictures.exec(path) ?? [];
  if (picture) return picture;
  const inDocs = /^docs\/(.*)\.md$/.exec(path);
  return `${inDocs ? inDocs[1] : `project/${path.replace(/\.md$/, '')}`}.html`;
}

/** From one address to another one, as browsers resolve it. */
export const relativeAddress = (from, to) => posix.relative(posix.dirname(from), to) || posix.basename(to);

/**
 * Whether a link may lead to this path of the tree. The context of an image has neither tests nor manifests (.dockerignore): there only
 * links between pages are looked at.
 */
export const isInTree = (root, path) => !existsSync(join(root, 'test')) || existsSync(join(root, path));

/** A folder stands for its page, where it has one. */
export const fileAt = (root, path) => {
  const page = posix.join(path, 'README.md');
  return existsSync(join(root, page)) ? page : posix.normalize(path);
};
