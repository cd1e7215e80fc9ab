import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import type { Dashboard } from './scene.js';

/** What lists show: the columns that a person wants, on a phone too, and times as they are written everywhere. */
export function listStories({ api, open, apart, go, heading }: Dashboard): void {
  test('columns of lists are chosen by keyboard, kept in the browser and in the address; the state is always there', async () => {
    const page = await apart('/ui/requests');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    const shown = async (): Promise<string[]> =>
      (await page.getByRole('columnheader').allInnerTexts()).map((text) => text.replace(/[^\w#]+$/, ''));
    const is = async (columns: string[]) => {
      await expect.poll(async () => (await shown()).filter((text) => text)).toEqual(columns);
    };
    const ofRequests = ['Request', 'Type', 'State', 'Instances', 'Deploy', 'Deployed', 'Group'];
    await is(['Chosen and starred', ...ofRequests, 'Actions']);
    await page.getByRole('button', { name: 'Columns' }).focus();
    await page.keyboard.press('Enter');
    const choice = (name: string) => page.getByRole('menuitemcheckbox', { name, exact: true });
    await choice('Type').waitFor();
    expect(await choice('State').count()).toBe(0);
    await choice('Type').press('Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.keyboard.press('Escape');
    const fewer = ['Chosen and starred', 'Request', 'State', 'Deploy', 'Deployed', 'Group', 'Actions'];
    await is(fewer);
    await page.waitForURL(/cols=deploy/);
    await go(page, '/ui/requests');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    await is(fewer);
    // An address that names columns counts more.
    await go(page, '/ui/requests?cols=type');
    await is(['Chosen and starred', 'Request', 'Type', 'State', 'Actions']);

    await go(page, '/ui/tasks');
    await is(['Task', 'Request', 'Machine', 'Rack', 'Started', 'Log', 'Actions']);
    await page.getByRole('button', { name: 'Columns' }).focus();
    await page.keyboard.press('Enter');
    await choice('Rack').press('Space');
    await page.keyboard.press('Escape');
    await is(['Task', 'Request', 'Machine', 'Started', 'Log', 'Actions']);
    await go(page, '/ui/tasks');
    await is(['Task', 'Request', 'Machine', 'Started', 'Log', 'Actions']);
    await page.getByRole('button', { name: 'Columns' }).click();
    await choice('Rack').click();
    await is(['Task', 'Request', 'Machine', 'Rack', 'Started', 'Log', 'Actions']);
    expect(new URL(page.url()).search).toBe('');
    await page.context().close();
  }, 60_000);

  test('on a phone a request is shown with its whole name, its state and what is wrong, however long', async () => {
    const id = `long-${'and-longer-'.repeat(5)}name`;
    await api().post('requests', { id, requestType: 'SERVICE', instances: 1 });
    const page = await open('/ui/requests');
    await page.setViewportSize({ width: 360, height: 740 });
    const loop = { requestId: id, deployId: '1', type: 'MULTI_INSTANCE_FAILURE', start: 1 };
    await page.route('**/api/requests/crashloops', (route) => route.fulfill({ json: { [id]: [loop] } }));
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: id });
    await row.getByText('Crash loop: multi instance failure').waitFor();
    const cut = () =>
      row.evaluate((element: { querySelectorAll: (selector: string) => Iterable<Cell> }) =>
        [...element.querySelectorAll('.id, .state, .health')].flatMap((cell) => {
          const { left, right } = cell.getBoundingClientRect();
          const isCut = cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.clientHeight;
          return isCut || left < 0 || right > 360 ? [cell.className] : [];
        }),
      );
    expect(await cut()).toEqual([]);
    expect(await row.getByRole('link', { name: id }).isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await waitFor('rows one below the other', async () => {
      const boxes = await Promise.all((await page.locator('.grid-row').all()).map((each) => each.boundingBox()));
      const tops = boxes.flatMap((box) => box ?? []).toSorted((a, b) => a.y - b.y);
      return (
        tops.length > 2 &&
        tops.every(({ y }, index) => index === 0 || y >= tops[index - 1]!.y + tops[index - 1]!.height - 1)
      );
    });
    await api().call('DELETE', `requests/request/${id}`);
    await page.close();
  }, 60_000);

  test('fields of times are written as times everywhere are, in the zone of the page, and say what is no time', async () => {
    const page = await open('/ui/audit?tz=Asia/Tokyo');
    await heading(page, 'Audit');
    const from = page.getByLabel('From (Asia/Tokyo)');
    await from.fill('11/27/2026');
    await page.getByText('11/27/2026 is no time: write it as 2026-01-31 or 2026-01-31T12:00').waitFor();
    expect(await from.getAttribute('aria-invalid')).toBe('true');
    await from.press('Enter');
    expect(new URL(page.url()).searchParams.get('from')).toBe(null);
    await from.fill('2030-01-31 12:00');
    await page.getByText('is no time').waitFor({ state: 'detached' });
    await from.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('from') === String(Date.parse('2030-01-31T12:00:00+09:00')));
    await page.getByText('No call matches').waitFor();
    await from.blur();
    expect(await from.inputValue()).toBe('2030-01-31T12:00:00+09:00');
    await from.fill('');
    await from.blur();
    await page.waitForURL((url) => !url.searchParams.has('from'));

    await go(page, '/ui/task-search?requestId=web&tz=UTC');
    const after = page.getByLabel('started after (UTC)');
    await after.fill('2030-02-30');
    await page.getByText('2030-02-30 is no time').waitFor();
    await after.fill('2030-02-28');
    await after.press('Tab');
    await page.getByText('No task matches').waitFor();
    expect(await after.inputValue()).toBe('2030-02-28T00:00:00Z');
    await page.close();
  }, 60_000);
}

interface Cell {
  className: string;
  scrollWidth: number;
  clientWidth: number;
  scrollHeight: number;
  clientHeight: number;
  getBoundingClientRect: () => { left: number; right: number };
}
