import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';
import { Installation, type Instance } from './support/product.js';
import { waitFor } from '../support/wait-for.js';

const readme = fileURLToPath(new URL('../../README.md', import.meta.url));
const text = readFileSync(readme, 'utf8');
const httpTour = readFileSync(new URL('../../docs/http-tour.md', import.meta.url), 'utf8');
const section = (title: string): string => text.split(`\n## ${title}\n`)[1]!.split('\n## ')[0]!;
const blocks = (markdown: string, language: string): string[] =>
  [...markdown.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!);

describe('the README and its tour by HTTP do what they say', () => {
  const installation = new Installation();
  let muster: Instance;
  beforeAll(async () => {
    muster = await installation.start();
  }, 90_000);
  afterAll(() => installation.dispose(), 90_000);

  test('the tour by HTTP, line by line', async () => {
    const tour = blocks(httpTour, 'sh').join('\n');
    const { failed, output } = await new Promise<{ failed: boolean; output: string }>((resolve) => {
      execFile(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', tour],
        { cwd: dirname(readme), timeout: 150_000, env: { ...process.env, MUSTER_PORT: String(muster.port) } },
        (error, stdout, stderr) => resolve({ failed: error !== null, output: stdout + stderr }),
      );
    });
    expect(failed, output).toBe(false);
    expect(output).not.toMatch(/"status":[45]\d\d/);
    for (const shown of [
      'Hello from version 1',
      '"deployState":"SUCCEEDED"',
      '"deployState":"FAILED"',
      'Hello, Ada!\\nHello, Grace!',
    ])
      expect(output).toContain(shown);
    await waitFor('the requests to be gone', async () => (await muster.api.get<string[]>('requests/ids')).length === 0);
  }, 180_000);

  test('the queries', async () => {
    const sql = new pg.Client({ connectionString: installation.databaseUrl() });
    await sql.connect();
    const headers = { Origin: 'https://elsewhere.example' };
    await fetch(`${muster.api.url}/api/disasters/failover`, { method: 'POST', headers });
    try {
      await waitFor('the refusal to be noted', async () => {
        return (await sql.query(`SELECT 1 FROM v_audit WHERE outcome = 'REFUSED'`)).rows.length > 0;
      });
      const queries = blocks(section('History in SQL'), 'sql').flatMap((block) => block.split(/;\s*\n/));
      const meant = queries.map((query) => query.replace(/^--.*$/gm, '').trim()).filter((query) => query !== '');
      expect(meant.length).toBeGreaterThanOrEqual(5);
      for (const query of meant) expect((await sql.query(query)).rows.length, query).toBeGreaterThan(0);
    } finally {
      await sql.end();
    }
  }, 60_000);
});
