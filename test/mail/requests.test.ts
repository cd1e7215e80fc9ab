import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { admin, ann, base, MailWorld, owner, toAndCc } from './mail-world.js';

let world: MailWorld;
beforeAll(async () => {
  world = await MailWorld.start();
}, 120_000);
afterAll(() => world.close());

describe('requests', () => {
  test('REQUEST_PAUSED, REQUEST_UNPAUSED, REQUEST_SCALED, REQUEST_REMOVED: what follows, who did it and why', async () => {
    await world.deployed({ id: 'web', requestType: 'SERVICE', owners: [owner, ann], instances: 1 }, 'sleep 100');
    await world.call('POST', `requests/request/web/pause?user=${ann}`, { message: 'a <i>rest</i>', killTasks: false });
    const paused = await world.mail('REQUEST_PAUSED', 'request/web');
    // Who did it is not told.
    expect(toAndCc(paused)).toEqual({ to: [owner], cc: [admin] });
    expect(paused.subject).toBe('[east] Request web was paused – Muster');
    expect(paused.text).toContain('Its tasks run on');
    expect(paused.text).toContain('until it is unpaused by hand');
    expect(paused.text).toContain(`By: ${ann}\nMessage: a <i>rest</i>\n`);
    expect(paused.html).toContain('a &lt;i&gt;rest&lt;/i&gt;');
    expect(paused.html).toContain(`href="${base}/request/web"`);
    await world.call('POST', 'requests/request/web/unpause', { message: 'go on' });
    const unpaused = await world.mail('REQUEST_UNPAUSED', 'request/web');
    expect(toAndCc(unpaused)).toEqual({ to: [owner, ann], cc: [admin] });
    expect(unpaused.text).toContain('Message: go on');

    await world.call('PUT', `requests/request/web/scale?user=${ann}`, { instances: 3, durationMillis: 1_500 });
    const scaled = await world.mail('REQUEST_SCALED', 'request/web');
    expect(toAndCc(scaled)).toEqual({ to: [owner], cc: [] });
    expect(scaled.text).toMatch(/It had 1 instance and has 3 now\.\s+It goes back to 1 instance at /);
    const back = await world.server.until('the way back', ({ text = '' }) =>
      text.includes('It had 3 instances and has 1 now'),
    );
    expect(back.type).toBe('REQUEST_SCALED');

    await world.call('POST', `requests/request/web/pause?user=${ann}`, { durationMillis: 500 });
    const short = await world.server.until('the end of a pause', ({ text = '' }) =>
      /It is unpaused by itself at /.test(text),
    );
    expect(short.text).toContain('Its tasks are killed');
    await waitFor('its unpause', () => world.count('REQUEST_UNPAUSED') === 2);

    await world.call('PUT', `requests/request/web/scale`, { instances: 2, skipEmailNotification: true });
    await world.call('DELETE', 'requests/request/web', { message: 'not needed' });
    const removed = await world.mail('REQUEST_REMOVED', 'request/web');
    expect(removed.subject).toBe('[east] Request web was removed – Muster');
    expect(removed.text).toContain('Message: not needed');
    expect(world.count('REQUEST_SCALED')).toBe(2);
  });

  test('REQUEST_IN_COOLDOWN, after which failures are not told', async () => {
    await world.deployed({ id: 'crashing', requestType: 'WORKER' }, 'sleep 2; exit 1', {
      considerHealthyAfterRunningForSeconds: 1,
    });
    const mail = await world.mail('REQUEST_IN_COOLDOWN', 'crashing');
    expect(toAndCc(mail)).toEqual({ to: [owner], cc: [admin] });
    expect(mail.subject).toBe('[east] Request crashing is in cooldown – Muster');
    expect(mail.text).toMatch(/2 failures of its tasks within .*\n[^]*at least 2 minutes after it was asked for/);
    await world.call('DELETE', 'requests/request/crashing');
  });

  test('what a request says goes before everything else, and an empty list silences it', async () => {
    const overrides = { REQUEST_PAUSED: [], REQUEST_UNPAUSED: ['ACTION_TAKER'] };
    await world.call('POST', 'requests', {
      id: 'quiet',
      requestType: 'SERVICE',
      owners: [owner],
      emailConfigurationOverrides: overrides,
    });
    await world.call('POST', 'requests/request/quiet/pause');
    await world.call('POST', `requests/request/quiet/unpause?user=${ann}`);
    expect(toAndCc(await world.mail('REQUEST_UNPAUSED', 'request/quiet'))).toEqual({ to: [ann], cc: [] });
    expect(world.count('REQUEST_PAUSED', 'quiet')).toBe(0);
  });
});

describe('the service itself', () => {
  test('DISASTER_DETECTED', async () => {
    await world.deployed({ id: 'nowhere', requestType: 'SERVICE', requiredSlaveAttributes: { moon: 'yes' } }, 'true');
    const mail = await world.mail('DISASTER_DETECTED', 'EXCESSIVE_TASK_LAG');
    expect(toAndCc(mail)).toEqual({ to: [admin], cc: [] });
    expect(mail.subject).toBe('[east] Disaster: EXCESSIVE_TASK_LAG – Muster');
    expect(mail.text).toMatch(/EXCESSIVE_TASK_LAG {2}\| {2}yes\n {2}LOST_SLAVES {2}\| {2}no/);
    expect(mail.text).toContain('Recent figures');
  });

  test('SCHEDULER_ABORTING, sent by the next leader', async () => {
    await world.startFollower();
    await world.call('POST', `disasters/failover?user=${ann}`);
    const mail = await world.mail('SCHEDULER_ABORTING', 'MANUAL');
    expect(toAndCc(mail)).toEqual({ to: [admin], cc: [] });
    expect(mail.text).toContain(`Reason: MANUAL: ${ann} requested a failover`);
    expect(mail.text).toContain('Error: there is none');
  });
});
