import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { resources, type Dashboard } from './scene.js';

/** What a page does when the service refuses, is slow, goes away or comes back as another. */
export function faultStories({ api, open, asked, another, heading }: Dashboard): void {
  const mark = (page: Page, state: string) => page.locator('.live', { hasText: state });
  const begins = async (page: Page, name: string) => {
    await page.locator('.head').getByRole('button', { name, exact: true }).click();
    return asked(page, name);
  };

  test('refusals: what is not there, what has changed meanwhile, too many calls, and a call of which nobody knows', async () => {
    await api().post('requests', { id: 'clash', requestType: 'SERVICE', instances: 1 });
    const page = await open('/ui/request/nobody');
    await page.getByText('There is no request of this id').waitFor();
    await page.goto(page.url().replace('nobody', 'clash'));
    const pause = await begins(page, 'Pause');
    await api().post('requests/request/clash/pause', { message: 'somebody was quicker' });
    await pause.getByRole('button', { name: 'Pause' }).click();
    await pause.getByRole('alert').waitFor();
    await pause.getByRole('button', { name: 'Look again' }).click();
    await pause.getByRole('alert').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    const answer = { code: 'TOO_MANY_CALLS', message: 'Too many calls at a time' };
    await page.route('**/api/requests/request/clash/unpause', (route) =>
      route.fulfill({ status: 429, headers: { 'retry-after': '3' }, json: answer }),
    );
    const unpause = await begins(page, 'Unpause');
    await unpause.getByRole('button', { name: 'Unpause' }).click();
    await unpause.getByText('Too many calls at a time').waitFor();
    await unpause.getByText(/^Wait [123] s before you try again/).waitFor();
    await unpause.getByText('You can try again now.').waitFor();
    await page.unroute('**/api/requests/request/clash/unpause');
    // Done, and its answer lost, each time that it is asked.
    await page.route('**/api/requests/request/clash/unpause', async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await unpause.getByRole('button', { name: 'Unpause' }).click();
    await unpause.getByText('Whether the call was done is not known').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.head').getByRole('button', { name: 'Pause', exact: true }).waitFor();
    await page.route('**/api/state', (route) => route.fulfill({ status: 503, json: { message: 'starting' } }));
    await page.getByText('The service is being restarted').waitFor({ timeout: 60_000 });
    await page.unroute('**/api/state');
    await page.getByText('The service is being restarted').waitFor({ state: 'detached', timeout: 60_000 });
    await api().call('DELETE', 'requests/request/clash');
    await page.close();
  }, 180_000);

  const look = (page: Page, hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
       document.dispatchEvent(new Event('visibilitychange'))`,
    );
  /** Another tab is in front of it for longer than it keeps its connection. */
  async function leave(page: Page): Promise<void> {
    await page.clock.install();
    await look(page, true);
    await page.clock.fastForward(31_000);
    await mark(page, 'paused').waitFor();
  }
  async function comeBack(page: Page): Promise<void> {
    await look(page, false);
    await mark(page, 'live').waitFor();
  }

  test('a tab that nobody looks at gives its connection back, and shows what has changed when it is looked at', async () => {
    await api().post('requests', { id: 'unseen', requestType: 'SERVICE', instances: 1 });
    const page = await open('/ui/request/unseen');
    await mark(page, 'live').waitFor();
    await leave(page);
    await api().post('requests/request/unseen/pause', { message: 'while nobody looked' });
    await comeBack(page);
    await page.locator('.mark', { hasText: 'Paused' }).first().waitFor();
    await api().call('DELETE', 'requests/request/unseen');
    await page.close();
  }, 90_000);

  test('another leader under an open page: it stays live, says who leads, and what is done on it is done', async () => {
    const id = 'led';
    await api().post('requests', { id, requestType: 'SERVICE', instances: 1 });
    await api().deploy({ requestId: id, id: '1', command: 'exec sleep 600', resources });
    await api().deployEnded(id, '1');
    const [page, status] = [await open(`/ui/request/${id}`), await open('/ui/status')];
    await mark(page, 'live').waitFor();
    const second = await another();
    const role = (name: string) => status.getByRole('row', { name: new RegExp(name) });
    await role('waits').waitFor({ timeout: 30_000 });
    try {
      await api().post('disasters/failover', {});
      await second.leads(60_000);
      const scale = await begins(page, 'Scale');
      await scale.getByRole('spinbutton', { name: 'Instances' }).fill('2');
      await scale.getByRole('button', { name: 'Scale' }).click();
      await scale.waitFor({ state: 'detached' });
      await page
        .getByRole('region', { name: 'Running tasks' })
        .getByRole('row', { name: /Running/ })
        .nth(1)
        .waitFor();
    } finally {
      await second.kill9();
    }
    await role('leads').waitFor({ timeout: 60_000 });
    await mark(page, 'live').waitFor();
    const pause = await begins(page, 'Pause');
    await pause.getByRole('button', { name: 'Pause' }).click();
    await pause.waitFor({ state: 'detached' });
    await waitFor('the ends, by the leader that was before', async () => (await api().activeTasks(id)).length === 0, {
      timeoutMillis: 60_000,
    });
    await api().call('DELETE', `requests/request/${id}`);
    await Promise.all([page.close(), status.close()]);
  }, 240_000);

  test('an upgrade under an open page: when it is connected again it says that there is another version', async () => {
    const page = await open('/ui/status');
    await mark(page, 'live').waitFor();
    const other = page.getByText('The service has another version of this page');
    await leave(page);
    await comeBack(page);
    const asked = page.waitForResponse((answer) => answer.request().method() === 'HEAD');
    await leave(page);
    await comeBack(page);
    await asked;
    expect(await other.count()).toBe(0);
    await page.route('**/ui', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), etag: '"another"' } });
    });
    await leave(page);
    await comeBack(page);
    await other.waitFor();
    await page.unroute('**/ui');
    await page.getByRole('button', { name: 'Reload' }).click();
    await mark(page, 'live').waitFor();
    expect(await other.count()).toBe(0);
    await page.close();
  }, 240_000);

  test('a part of the page that a changing network broke off is loaded again, and one that never comes is told of', async () => {
    await api().post('requests', { id: 'parts', requestType: 'SERVICE', instances: 1 });
    const page = await open('/ui/requests');
    let brokenOff = 0;
    const breakOff = (route: Route): Promise<void> => {
      brokenOff += 1;
      return route.abort('internetdisconnected');
    };
    await page.route('**/request-page.*.js', breakOff, { times: 1 });
    await page.getByRole('link', { name: 'parts', exact: true }).click();
    await heading(page, 'parts');
    expect(brokenOff).toBe(1);

    await page.route('**/action-dialog.*.js', breakOff);
    const pause = page.locator('.head').getByRole('button', { name: 'Pause', exact: true });
    await pause.click();
    await page.getByText('A part of this page could not be loaded.').waitFor();
    expect(brokenOff).toBe(3);
    await heading(page, 'parts');
    await page.unroute('**/action-dialog.*.js');
    await page.getByRole('button', { name: 'Reload' }).click();
    await asked(page, 'Pause').waitFor({ state: 'detached' });
    await begins(page, 'Pause');
    await asked(page, 'Pause').waitFor();
    await api().call('DELETE', 'requests/request/parts');
    await page.close();
  }, 180_000);
}
