import type { Locator, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { resources, type Dashboard } from './scene.js';

const crowd = 10_000;
/** More than any page has on the way to what is wanted. */
const mostPresses = 150;

/** Goes there by one key alone, as somebody does who has no mouse. */
async function pressTo(page: Page, key: 'Tab' | 'ArrowDown', target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < mostPresses; presses++) {
    if (await target.evaluate((element) => element.matches(':focus'))) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not lead to ${String(target)}`);
}

/** What an operator does when something is red, with the hands on the keys. */
export function incidentStory({ api, stranger, sql, token, heading, asked }: Dashboard): void {
  test('an incident by keyboard alone: signs in, finds what is red among 10,000, reads why, rolls back, sees it heal and who did what', async () => {
    const serve = `sh -c 'echo fine; echo fine >&2; exec sleep 600'`;
    const breaks = `sh -c 'seq -f "step %g" 200 >&2; echo "ERROR: the door is shut" >&2; seq -f "then %g" 200 >&2; echo cannot open the door >&2; exit 3'`;
    await api().deploy({ requestId: 'web', id: 'v1', command: serve, resources });
    onTestFinished(async () => void (await sql(`DELETE FROM request WHERE id LIKE 'crowd-%'`)));
    await sql(
      `INSERT INTO request (id, request_type, state, changed_at, document)
       SELECT id, 'ON_DEMAND', 'ACTIVE', now(), jsonb_build_object('id', id, 'requestType', 'ON_DEMAND')
       FROM (SELECT 'crowd-' || n AS id FROM generate_series(1, ${crowd}) AS n) AS crowd`,
    );
    await api().deployEnded('web', 'v1');
    await api().deploy({ requestId: 'web', id: 'v1b', command: serve, env: { DOOR: 'new' }, resources });
    await api().deployEnded('web', 'v1b');
    await api().deploy({ requestId: 'web', id: 'v2', command: breaks, resources });
    const page = await stranger('/ui/requests');
    const { keyboard } = page;
    const tabTo = (target: Locator) => pressTo(page, 'Tab', target);
    const find = async (typed: string, found: RegExp) => {
      await keyboard.press('/');
      await page.getByRole('combobox', { name: 'Find' }).waitFor();
      await keyboard.type(typed);
      await page.getByRole('option', { name: found }).waitFor();
      await keyboard.press('Enter');
    };

    const signIn = asked(page, 'Sign in');
    await tabTo(signIn.getByLabel('Token'));
    await keyboard.type(token);
    await keyboard.press('Enter');
    await signIn.waitFor({ state: 'detached' });
    await api().deployEnded('web', 'v2');
    await tabTo(page.getByRole('button', { name: 'Failing 1' }));
    await keyboard.press('Enter');
    await page.getByText(/^1 of 100\d\d$/).waitFor();
    await page.getByText(/Deploy v2 failed/).waitFor();
    await tabTo(page.getByRole('link', { name: 'web', exact: true }));
    await keyboard.press('Enter');

    await heading(page, 'web');
    const failed = page.getByRole('region', { name: 'The last deploy failed' });
    await failed.getByText('cannot open the door').waitFor();
    await tabTo(failed.getByRole('link', { name: 'stderr' }));
    await keyboard.press('Enter');

    const log = page.getByRole('log');
    await log.getByText('cannot open the door').waitFor();
    await tabTo(page.getByRole('searchbox', { name: 'Search the whole file' }));
    await keyboard.type('err.r');
    await keyboard.press('Enter');
    await page.getByText('0 lines').waitFor();
    await tabTo(page.getByRole('checkbox', { name: '.*' }));
    await keyboard.press('Space');
    await page.getByRole('checkbox', { name: '.*', checked: true }).waitFor();
    await keyboard.press('Shift+Tab');
    await keyboard.press('Enter');
    await page.getByText('1 lines').waitFor();
    await keyboard.press('Enter');
    await page.getByText('1 of 1 lines').waitFor();
    await log.getByText('step 200', { exact: true }).waitFor();
    await log.getByText('then 1', { exact: true }).waitFor();
    expect(await log.locator('mark').innerText()).toBe('ERROR');
    await tabTo(log.locator('.log-line', { hasText: 'ERROR' }).getByRole('button'));
    await keyboard.press('Enter');
    await page.waitForURL(/#L\d+$/);

    await find('web', /^web request/);
    await heading(page, 'web');
    await tabTo(page.getByRole('button', { name: 'More', exact: true }));
    await keyboard.press('Enter');
    await pressTo(page, 'ArrowDown', page.getByRole('menuitem', { name: 'Roll back' }));
    await keyboard.press('Enter');
    await tabTo(asked(page, 'Roll back').getByLabel('Message'));
    await keyboard.type('the door is shut');
    await keyboard.press('Enter');
    await asked(page, 'Roll back').waitFor({ state: 'detached' });
    await failed.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'v1.rollback1', exact: true }).first().waitFor();
    await api().deployEnded('web', 'v1.rollback1');
    await page.locator('.head .mark', { hasText: 'Active' }).waitFor();

    await find('Audit', /^Audit/);
    await heading(page, 'Audit');
    await tabTo(page.getByRole('textbox', { name: 'Request' }));
    await keyboard.type('web');
    await page.getByRole('row', { name: /admin .*POST deploys\/request\/web\/rollback .*allowed, 200/ }).waitFor();
    await page.context().close();
  }, 120_000);
}
