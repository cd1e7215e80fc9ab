import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { tempFolder } from '../support/temp-folder.js';

/* What a client generated from the served document knows, as the compiler sees it. */

const uses = `
import type { components, paths } from './api.js';
type Run = paths['/api/requests/request/{requestId}/run']['post'];
type Pause = paths['/api/requests/request/{requestId}/pause']['post'];
type Scheduled = paths['/api/tasks/scheduled/task/{pendingTaskId}'];
export const refused: Pause['responses'][409]['content']['application/json'] = {} as components['schemas']['ErrorDto'];
export const bad: Run['responses'][400]['content']['application/json']['message'] = 'text';
export const id: Scheduled['delete']['parameters']['path']['pendingTaskId'] = 'x';
export const same: Scheduled['get']['parameters']['path']['pendingTaskId'] = 'x';
// @ts-expect-error a number is no text
export const wrong: Run['responses'][400]['content']['application/json']['message'] = 7;
`;

test('openapi-typescript makes a client of the served document that compiles, with errors by their status', async () => {
  const installation = new Installation({ database: createDatabase });
  const folder = tempFolder();
  try {
    const { api } = await installation.start();
    const made = astToString(await openapiTS(new URL(`${api.url}/docs/openapi.json`)));
    writeFileSync(join(folder.path, 'api.ts'), made);
    writeFileSync(join(folder.path, 'uses.ts'), uses);
    writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}');
    const options: ts.CompilerOptions = {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      types: [],
    };
    const program = ts.createProgram([join(folder.path, 'uses.ts')], options);
    const problems = ts.getPreEmitDiagnostics(program).map(({ messageText, start }) => ({ messageText, start }));
    expect(problems).toEqual([]);
    expect(made.split('\n').length).toBeGreaterThan(5_000);
  } finally {
    folder.remove();
    await installation.dispose();
  }
}, 120_000);
