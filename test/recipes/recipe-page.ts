import { readFileSync } from 'node:fs';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';

/** A row of a table of wishes, as a reader copies it. */
export interface Recipe {
  wish: string;
  /** Members of the request, and of its deploy. */
  request: Partial<Request>;
  deploy: Partial<Deploy>;
  /** The body of a call. */
  body?: object;
  /** A line for a shell. */
  command?: string;
}

const readPage = (page: string): string => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');

/** Recipes of all tables of the page that begin with a column of wishes. */
export function recipesOf(page: string): Recipe[] {
  const recipes: Recipe[] = [];
  let inTable = false;
  for (const line of readPage(page).split('\n')) {
    const [first, , recipe] = line.startsWith('|') ? line.slice(1).split(' | ') : [];
    if (first === undefined) inTable = false;
    else if (first.trim() === 'wish') inTable = true;
    else if (inTable && !first.startsWith(' --')) recipes.push(readRecipe(first.trim(), recipe ?? ''));
  }
  return recipes;
}

function readRecipe(wish: string, cell: string): Recipe {
  const recipe: Recipe = { wish, request: {}, deploy: {} };
  for (const [, before, code] of cell.matchAll(/([^`]*)`([^`]+)`/g)) {
    if (code!.startsWith('"')) {
      const members = before!.includes('deploy') ? recipe.deploy : recipe.request;
      Object.assign(members, JSON.parse(`{${code}}`));
    } else if (code!.startsWith('{')) recipe.body = JSON.parse(code!) as object;
    else if (code!.startsWith('muster ')) recipe.command = code!;
  }
  return recipe;
}

/** The first file of a page. */
export const yamlOf = (page: string): string => /```yaml\n([\s\S]*?)```/.exec(readPage(page))![1]!;
