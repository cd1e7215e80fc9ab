import { afterAll, beforeAll, describe } from 'vitest';
import { startBalancer } from '../support/load-balancer/balancer-server.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { asAnn, guarded, introduce } from './people.js';
import { applying } from './requests/applying.js';
import { pausing } from './requests/pausing.js';
import { reading } from './requests/reading.js';
import { running } from './requests/running.js';
import { saving } from './requests/saving.js';
import { scaling } from './requests/scaling.js';
import { Scene } from './scene.js';

const { balancer, uri, close } = await startBalancer();
afterAll(close);

const settings = {
  ...guarded.settings,
  checkNewTasksEverySeconds: 1,
  checkExpiringUserActionEveryMillis: 500,
  crashLoop: { cooldownFailureThreshold: 2 },
  loadBalancerUri: uri,
  ui: { shellCommands: [{ name: 'look' }] },
};
const local = { allowedRunUsers: ['nobody'] };
const operations = operationsOf(['Requests'], { settings, local, headers: asAnn });
beforeAll(() => introduce(operations));
const scene = new Scene(operations);

// Each test has requests of its own.
describe.concurrent('saving and deleting requests', () => {
  saving(scene);
});
describe.concurrent('applying requests and deploys', () => {
  applying(scene);
});
describe.concurrent('pausing requests', () => {
  pausing(scene);
});
describe.concurrent('scaling and bouncing requests', () => {
  scaling(scene);
});
describe.concurrent('running requests', () => {
  running(scene);
});
describe.concurrent('reading requests', () => {
  reading(scene, balancer);
});

everyOperationWasCalled(operations);
