import { expect, test } from 'vitest';
import { withAnswer, type Dashboard, type Json } from './scene.js';

/** What is done with machines, by the only one that there is. */
export function machineStories({ api, open, asked }: Dashboard): void {
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
}
