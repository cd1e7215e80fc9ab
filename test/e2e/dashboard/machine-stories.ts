import { expect, onTestFinished, test } from 'vitest';
import { withAnswer, type Dashboard, type Json } from './scene.js';

/** What is done with machines, by the only one that there is, and the record of one that is gone. */
export function machineStories({ api, sql, open, apart, go, asked }: Dashboard): void {
  test('a machine: frozen for a while and for good; who moves where is told before it is emptied; marked inactive', async () => {
    const [before] = await api().running('web', 1);
    const page = await open('/ui/slaves');
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Actions of localhost' }).click();
      await page.getByRole('menuitem', { name, exact: true }).click();
      return asked(page, name);
    };
    const does = async (name: string) => {
      const dialog = await choose(name);
      await dialog.getByRole('button', { name, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    const is = (section: string) => page.getByRole('heading', { level: 2, name: new RegExp(`^${section}`) }).waitFor();
    const freeze = await choose('Freeze');
    await freeze.getByLabel('Ends after').fill('1h');
    await freeze.getByLabel('State after this time').selectOption('ACTIVE');
    await freeze.getByLabel('Message').fill('new disk');
    await freeze.getByRole('button', { name: 'Freeze' }).click();
    await is('Frozen');
    await page.getByRole('cell', { name: /, then active$/ }).waitFor();
    await does('Make its state permanent');
    await page.getByRole('cell', { name: 'new disk' }).waitFor();
    await does('Activate');
    await is('Active');

    await withAnswer(page, '**/decommission/plan', (plan: { moves: Json[] }) => ({
      ...plan,
      fits: true,
      waiting: 0,
      moving: plan.moves.length,
      moves: plan.moves.map((move) => ({
        ...move,
        outcome: 'MOVES',
        to: { slaveId: 's9', host: 'nine', rackId: 'rack9' },
      })),
    }));
    const first = (await choose('Decommission')).getByRole('region', { name: 'What will happen' });
    await first.getByRole('row', { name: 'web #1 nine, rack rack9' }).waitFor();
    await first.getByText('Fits now').waitFor();
    await page.keyboard.press('Escape');
    await page.unroute('**/decommission/plan');
    const decommission = await choose('Decommission');
    const plan = decommission.getByRole('region', { name: 'What will happen' });
    await plan.getByText(/No room for \d+ of \d+/).waitFor();
    await plan.getByRole('row', { name: /^web #1 Stays until a slave takes its replacement/ }).waitFor();
    const cleaned = await api().get<{ taskId: { requestId: string } }[]>('tasks/cleaning');
    expect(cleaned.filter(({ taskId }) => taskId.requestId === 'web')).toEqual([]);
    await decommission.getByRole('button', { name: 'Decommission' }).click();
    await is('Being decommissioned');
    await does('Activate');
    await is('Active');
    const [after] = await api().running('web', 1);
    expect(after!.taskId).toEqual(before!.taskId);

    await does('Mark as inactive');
    await page.getByText('marked inactive').waitFor();
    await page.getByRole('button', { name: 'Clear inactive marks' }).click();
    await asked(page, 'Clear inactive marks').getByRole('button', { name: 'Clear inactive marks' }).click();
    await page.getByText('marked inactive').waitFor({ state: 'detached' });
    await is('Active');
    const dead = asked(page, 'Remove dead machines');
    await page.getByRole('button', { name: 'Remove dead ones' }).click();
    expect(await dead.getByRole('button', { name: 'Remove dead machines' }).isDisabled()).toBe(true);
    await dead.getByLabel(/^Type dead/).fill('dead');
    await dead.getByRole('button', { name: 'Remove dead machines' }).click();
    await dead.waitFor({ state: 'detached' });
    await api().running('web', 1);
    await page.close();
  }, 90_000);

  test('a machine that is gone is removed once its name is typed; attributes and resources are columns that one chooses', async () => {
    onTestFinished(async () => void (await sql(`DELETE FROM slave WHERE id = 'gone-1'`)));
    await sql(`
      INSERT INTO slave (id, host, rack_id, attributes, resources, agent_id, incarnation, seen_at, first_seen_at, state, state_at)
      SELECT 'gone-1', 'gone.example.com', rack_id, '{"gpu": "a, 2", "disk": "ssd"}', '{"cpus": 12, "mem": 2048, "ports": "[31000-31007]"}',
             agent_id, incarnation, now(), now(), 'DEAD', now()
      FROM slave LIMIT 1`);
    const page = await apart('/ui/slaves');
    const section = page.getByRole('region', { name: 'Dead or missing' });
    const row = section.getByRole('row', { name: 'gone.example.com' });
    await row.waitFor();
    const columns = async () => (await section.getByRole('columnheader').allInnerTexts()).map((text) => text.trim());
    const usual = await columns();
    expect(usual).toEqual(expect.arrayContaining(['State', 'Since', 'By', 'Message', 'Attributes', 'Ends']));
    expect(usual).not.toEqual(expect.arrayContaining(['gpu']));
    await page.getByRole('button', { name: 'Columns' }).focus();
    await page.keyboard.press('Enter');
    for (const name of ['gpu', 'Cores', 'Memory', 'Ports', 'Disk'])
      await page.getByRole('menuitemcheckbox', { name, exact: true }).press('Space');
    await page.keyboard.press('Escape');
    for (const value of ['a, 2', '12', /^2(\.0)? G/, '[31000-31007]', '–'])
      await row.getByRole('cell', { name: value, exact: true }).first().waitFor();
    await go(page, '/ui/slaves');
    await row.getByRole('cell', { name: 'a, 2', exact: true }).waitFor();
    expect(await columns()).toEqual(expect.arrayContaining(['gpu', 'Ports']));
    await section.getByRole('button', { name: 'gpu' }).click();
    await section.getByRole('columnheader', { name: 'gpu' }).and(page.locator('[aria-sort=ascending]')).waitFor();

    await row.getByRole('button', { name: 'Actions of gone.example.com' }).click();
    await expect.poll(() => page.getByRole('menuitem').allInnerTexts()).toEqual(['Remove', 'Mark as inactive']);
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const remove = asked(page, 'Remove').getByRole('button', { name: 'Remove' });
    expect(await remove.isDisabled()).toBe(true);
    await asked(page, 'Remove')
      .getByLabel(/^Type gone-1/)
      .fill('gone-1');
    await remove.click();
    await row.waitFor({ state: 'detached' });
    const slaves = async () => (await api().get<{ id: string }[]>('slaves')).map(({ id }) => id);
    await expect.poll(slaves).toEqual(['slave1']);
    await page.context().close();
  }, 60_000);
}
