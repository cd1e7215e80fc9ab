import { beforeAll, describe } from 'vitest';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { asAnn, guarded, introduce } from './people.js';
import { saving } from './requests/saving.js';
import { Scene } from './scene.js';

const operations = operationsOf(['Requests'], { ...guarded, headers: asAnn });
beforeAll(() => introduce(operations));
const scene = new Scene(operations);

// Each test has requests of its own.
describe.concurrent('requests are saved and deleted', () => saving(scene));

everyOperationWasCalled(operations);
